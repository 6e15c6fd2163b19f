"""Locations of nodes, tracks and keys in a glTF file, from the paths recorded while reading.

A node is an object of the JSON text. The times and values of a track are in the binary chunk of a ``.glb``, in the text
as a data URI, or in a separate file; raw channels are lists in the text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keyframer.curves import Track
from keyframer.exchange.gltf.read.accessors import Layout, StoredElements
from keyframer.exchange.gltf.read.json_text import Item, Sources, TrackSource
from keyframer.scene import Channel, Node, RawChannel, Scene
from keyframer.viewer.json_data import shown
from keyframer.viewer.record_bytes import KeyRows, LocationGroup, Part, Place, Records, Rows, Span, Strided
from keyframer.viewer.source_locations import NO_RECORD

_NESTED = {"animations": ("samplers", "channels")}
"""nested lists of the text that tracks are made from"""

Row = tuple[int, int, str, str]
"""first byte, end, path and name"""


class GltfRecords(Records):
    """The parts of one file as records: chunks, values of the JSON text and elements of its lists, views and accessors.

    ``numbers`` are the indices of records by path, such as ``/nodes[3]``.
    """

    def __init__(self, layout: Layout, size: int) -> None:
        super().__init__()
        self._names: list[str] = []
        self.numbers: dict[str, int] = {}
        rows = [*_chunks(layout, size), *_text(layout), *_views_and_accessors(layout)]
        rows.sort(key=lambda row: (row[0], -row[1]))
        self._nest(rows)

    def name(self, number: int) -> str:
        return self._names[number]

    def _nest(self, rows: list[Row]) -> None:
        self.ends = array("q", [row[1] for row in rows])
        open_records: list[int] = []
        for number, (start, end, path, name) in enumerate(rows):
            # views may overlap: the parent of a record contains all of it
            while open_records and self.ends[open_records[-1]] < end:
                open_records.pop()
            self.starts.append(start)
            self.parents.append(open_records[-1] if open_records else -1)
            self._names.append(name)
            self.numbers.setdefault(path, number)
            open_records.append(number)


def _chunks(layout: Layout, size: int) -> Iterator[Row]:
    if not layout.is_binary:
        yield 0, size, "", "glTF text"
        return
    yield 0, 12, "", "GLB header"
    yield 12, layout.text_end, "", "JSON chunk"
    if layout.binary is not None:
        yield layout.binary[0] - 8, layout.binary[1], "", "BIN chunk"


def _text(layout: Layout) -> Iterator[Row]:
    for name, span in layout.places.entries("/").items():
        yield *span, f"/{name}", shown(str(name))
        value = layout.root.value.get(str(name))
        is_path = name and "/" not in str(name)  # an empty name or one with a slash would give an ambiguous path
        if is_path and type(value) is list and value and type(value[0]) is dict:
            yield from _elements(layout, "", str(name))


def _elements(layout: Layout, parent_path: str, name: str) -> Iterator[Row]:
    path = f"{parent_path}/{name}"
    for number, span in layout.places.entries(path).items():
        if type(number) is not int:  # an object instead of a list
            return
        element = f"{path}[{number}]"
        yield *span, element, _title_of(layout.root, name, number) if not parent_path else f"{name}[{number}]"
        for nested in _NESTED.get(name, ()):
            yield from _elements(layout, element, nested)
        if name == "nodes":
            yield from _elements(layout, f"{element}/extras/keyframer", "tracks")


def _title_of(root: Item, name: str, number: int) -> str:
    """Return the title of an element, with its name if it has one."""
    item = root.value[name][number]
    stated_name = item.get("name") if type(item) is dict else None
    return f"{name}[{number}] {shown(stated_name)}" if type(stated_name) is str and stated_name else f"{name}[{number}]"


def _views_and_accessors(layout: Layout) -> Iterator[Row]:
    """Yield bytes of views and contiguous accessors in the binary chunk; only paths in the text begin with ``/``."""
    for number in range(len(layout.root.entries("bufferViews"))):
        view = layout.view(number)
        if view is not None:
            yield *view, f"bufferViews[{number}]", f"bytes of bufferViews[{number}]"
    for number, item in enumerate(layout.root.children("accessors")):
        accessor_range = layout.contiguous_range(number)
        if accessor_range is not None:
            kind, count = shown(str(item.value.get("type"))), item.value.get("count")
            yield *accessor_range, f"accessors[{number}]", f"numbers of accessors[{number}], {count} {kind}"


PACKED = "The keys are packed in the text (zlib, base64), so a single key has no bytes of its own: all keys are shown."
ZEROS = "The file does not store this key: omitted numbers are zeros. The bytes of its track are shown."
_MOST_RUNS = 12
"""maximum number of runs of a track with keys in several places; more runs are shown as one range"""
_TANGENTS = ("in-tangent", "value", "out-tangent")


class GltfLocations:
    """Locations in one file; without a scene, only its records."""

    def __init__(self, data: bytes, scene: Scene | None, folder: Path | None) -> None:
        self._layout = Layout(data, folder)
        self._records = GltfRecords(self._layout, len(data))
        self._nodes = self._layout.root.children("nodes")
        sources = Sources() if scene is None else scene.sources
        if not isinstance(sources, Sources):  # the scene of an embedded source file
            scene, sources = None, Sources()
        self._sources, self._tracks = sources, sources.tracks
        self._node_numbers = dict(zip([] if scene is None else scene.nodes, sources.nodes, strict=True))
        self._node_of_record: dict[int, int] = {}
        if scene is not None:
            self._assign(scene)

    @property
    def records(self) -> Records:
        return self._records

    def node_places(self, node: Node) -> list[tuple[Span, str]]:
        places = []
        for path in self._paths_of(node):
            span = self._layout.places.span(path)
            if span is not None:
                places.append((span, path.removeprefix("/")))
        return places

    def track_place(self, channel: Channel | RawChannel) -> Place | None:
        part = _part_of(channel)
        source = self._tracks.get(part)
        if source is None:
            return None
        if source.sampler is None:
            return self._layout.places.span(source.path)
        parts = [
            *(run for stored_part in self._sampled(part, source.sampler) for run in _runs(stored_part)),
            *self._object("sampler", source.sampler),
            *self._object("channel", source.path),
        ]
        return LocationGroup(tuple(parts)) if parts else None

    def key_places(self, channel: Channel | RawChannel) -> KeyRows | None:
        part = _part_of(channel)
        source = self._tracks.get(part)
        if source is None:
            return None
        places = tuple(self._sampled(part, source.sampler) if source.sampler else self._keys_in_text(part, source))
        return LocationGroup(places) if places else None

    def reason_without_location(self, part: Node | Channel | RawChannel) -> str:
        return NO_RECORD

    def reason_without_key_location(self, channel: Channel | RawChannel) -> str:
        source = self._tracks.get(_part_of(channel))
        if source is None:
            return NO_RECORD
        return PACKED if source.sampler is None else ZEROS

    def node_at(self, offset: int) -> int | None:
        nodes = (self._node_of_record.get(number) for number in self._records.at(offset))
        return next((node for node in nodes if node is not None), None)

    def _object(self, what: str, path: str) -> Iterator[Part]:
        span = self._layout.places.span(path)
        if span is not None:
            yield Part(what, span)

    def _paths_of(self, node: Node) -> list[str]:
        """Return the paths of a node, its helper nodes, and their meshes, skins, cameras and lights."""
        number = self._node_numbers.get(node)
        if number is None:
            return []
        numbers = [number, *self._sources.helpers.get(number, {}).values()]
        nodes = [f"/nodes[{number}]" for number in numbers]
        return [*nodes, *dict.fromkeys(path for number in numbers for path in _referenced_paths(self._nodes[number]))]

    def _sampled(self, part: Track | RawChannel, sampler: str) -> Iterator[Part]:
        """Yield the locations of the values of a track, then those of its times."""
        item = self._sampler(sampler)
        times = self._layout.elements(item.value.get("input"))
        if not isinstance(part, Track) or not len(part.times) or not times:
            return
        keys, stored_keys = len(part.times), len(times[0].starts)
        cubic = item.value.get("interpolation") == "CUBICSPLINE"
        for stored in self._layout.elements(item.value.get("output")):
            yield from _parts(stored, keys, len(stored.starts) // stored_keys, "value", cubic=cubic)
        for stored in times:
            yield from _parts(stored, keys, 1, "time", cubic=False)

    def _sampler(self, path: str) -> Item:
        """Return the sampler at a path such as ``/animations[1]/samplers[2]``."""
        first, second = (int(step.split("]")[0]) for step in path.split("[")[1:])
        animations = self._layout.root.entries("animations")
        return Item(animations[first]["samplers"][second], path)

    def _keys_in_text(self, part: Track | RawChannel, source: TrackSource) -> Iterator[Part]:
        """Yield the locations of keys that are in the text: rows of a list, or one list of rest weights."""
        places = self._layout.places
        if not isinstance(part, RawChannel):  # a rest value: the whole list is one key
            span = places.span(source.path)
            yield from () if span is None else (Part("value", [span]),)
            return
        rows: list[Span | None] = [span for key, span in places.entries(source.path).items() if type(key) is int]
        if rows and len(rows) == len(part.values):
            yield Part("value", rows)

    def _assign(self, scene: Scene) -> None:
        """Assign the records of nodes and tracks to nodes; a record used by several nodes belongs to the first."""
        for index, node in enumerate(scene.nodes):
            for path in self._paths_of(node):
                self._set_owner(path, index)
        for clip in scene.clips:
            for channel in clip.channels:
                source = self._tracks.get(channel.track)
                if source is None:
                    continue
                self._set_owner(source.path, channel.node)
                if source.sampler is not None:
                    item = self._sampler(source.sampler)
                    self._set_owner(source.sampler, channel.node)
                    for name in ("output", "input"):
                        self._set_owner(f"/accessors[{item.value.get(name)}]", channel.node)
                        self._set_owner(f"accessors[{item.value.get(name)}]", channel.node)

    def _set_owner(self, path: str, node: int) -> None:
        number = self._records.numbers.get(path)
        if number is not None:
            self._node_of_record.setdefault(number, node)


def _part_of(channel: Channel | RawChannel) -> Track | RawChannel:
    return channel.track if isinstance(channel, Channel) else channel


def _referenced_paths(item: Item) -> Iterator[str]:
    """Yield the paths of the parts that a node of the file refers to by index."""
    value = item.value
    for name, path in (("mesh", "/meshes"), ("skin", "/skins"), ("camera", "/cameras")):
        if type(value.get(name)) is int:
            yield f"{path}[{value[name]}]"
    extensions = value.get("extensions")
    light = extensions.get("KHR_lights_punctual") if type(extensions) is dict else None
    if type(light) is dict and type(light.get("light")) is int:
        yield f"/extensions/KHR_lights_punctual/lights[{light['light']}]"


def _parts(stored: StoredElements, keys: int, per_key: int, what: str, *, cubic: bool) -> Iterator[Part]:
    """Yield the locations of keys with several elements: one per key if these are adjacent, else one per element."""
    if not per_key or len(stored.starts) < keys * per_key or not (stored.starts >= 0).any():
        return
    starts, ends = (column[: keys * per_key].reshape(keys, per_key) for column in (stored.starts, stored.ends))
    file = None if stored.file is None else shown(stored.file)
    label = f"{what} (data URI)" if stored.in_data_uri else what
    if per_key == 1 or stored.in_data_uri or (ends[:, :-1] == starts[:, 1:]).all():
        yield Part(f"{label} and tangents" if cubic else label, _rows(starts[:, 0], ends[:, -1]), file)
        return
    for number in range(per_key):
        name = _TANGENTS[number * 3 // per_key] if cubic else f"{label} {number}"
        yield Part(name, _rows(starts[:, number], ends[:, number]), file)


def _rows(starts: np.ndarray[tuple[int], np.dtype[np.int64]], ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Rows:
    """Return rows as `Strided` if they are evenly spaced, otherwise as a list."""
    sizes, steps = ends - starts, np.diff(starts)
    if (starts >= 0).all() and (sizes == sizes[0]).all() and (steps == (steps[0] if len(steps) else 0)).all():
        size = int(sizes[0])
        step = int(steps[0]) if len(steps) else size
        if step >= size:
            return Strided(int(starts[0]), size, step, len(starts))
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return [None if start < 0 else (start, end) for start, end in pairs]


def _runs(part: Part) -> list[Part]:
    """Return the locations of all keys together; adjacent keys are joined."""
    if not isinstance(part.place, list):
        return [part]
    runs: list[list[int]] = []
    for start, end in sorted(span for span in part.place if span is not None):
        if runs and start <= runs[-1][1]:
            runs[-1][1] = max(runs[-1][1], end)
        else:
            runs.append([start, end])
    if len(runs) > _MOST_RUNS:
        runs = [[runs[0][0], runs[-1][1]]]
    return [Part(part.what, (run[0], run[1]), part.file) for run in runs]
