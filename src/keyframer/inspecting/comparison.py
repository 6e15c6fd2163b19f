"""The comparison of two files, of their content and their motion, as rows and as a JSON record.

Files of different formats are compared by the parts of their scenes, which are paired by name. glTF files
are compared by the values of their JSON and the bytes of their views.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.exchange import Importer
from keyframer.exchange.gltf.read.container import Container, open_container
from keyframer.exchange.gltf.read.json_text import Findings
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.document import Document
from keyframer.formats.kit.summary_tables import Cell
from keyframer.inspecting.motion_diff import SCALE_TOLERANCE, MotionDiff, NodeMotion, diff_motion
from keyframer.inspecting.record_diff import Change, Changes, FieldChange, diff_documents
from keyframer.limits import DEFAULT_LIMITS
from keyframer.scene import Camera, Light, Material, Mesh, Node, Scene
from keyframer.text import safe_text

Summary = Mapping[str, object]

_CLOSE = 1e-5
"""relative difference below which numbers are treated as equal: formats store float32 or other units of angles"""


def diff_scenes(a: Scene, b: Scene) -> Changes:
    """Compare nodes, meshes, materials, cameras, lights and the tracks of the first clip by name."""
    changes = Changes()
    for kind in ("nodes", "meshes", "materials", "cameras", "lights", "tracks"):
        before, after = _parts(a, kind), _parts(b, kind)
        for name in dict.fromkeys([*before, *after]):
            path = f"/{kind}/{name}"
            part_a, part_b = before.get(name), after.get(name)
            if part_a is None or part_b is None:
                added = part_a is None
                changes.add(
                    Change("added" if added else "removed", kind, None if added else path, path if added else None)
                )
                continue
            fields = tuple(
                FieldChange(field, part_a[field], part_b[field])
                for field in part_a
                if not _are_close(part_a[field], part_b[field])
            )
            if fields:
                changes.add(Change("changed", kind, path, path, fields))
    return changes


def _parts(scene: Scene, kind: str) -> dict[str, Summary]:
    if kind == "tracks":
        return _tracks(scene)
    summaries: dict[str, Summary] = {}
    for part in getattr(scene, kind):
        name, number = part.name, 2
        while name in summaries:
            name, number = f"{part.name}[{number}]", number + 1
        summaries[name] = _summary(scene, part)
    return summaries


def _summary(scene: Scene, part: Node | Mesh | Material | Camera | Light) -> Summary:
    """Return the properties of a part that can be compared across formats."""
    if isinstance(part, Node):
        return {
            "kind": part.kind.value,
            "parent": None if part.parent is None else scene.nodes[part.parent].name,
            "hidden": part.hidden,
            "has mesh": part.mesh is not None,
        }
    if isinstance(part, Mesh):
        return {"vertices": len(part.positions), "faces": len(part.corners), "textured": part.uv is not None}
    if isinstance(part, Material):
        maps = ", ".join(f"{slot}: {texture.file_name}" for slot, texture in sorted(part.maps.items()))
        return {"diffuse": part.diffuse, "transparency": part.transparency, "two-sided": part.two_sided, "maps": maps}
    if isinstance(part, Camera):
        return {"fov": part.fov_degrees, "roll": part.roll_degrees}
    return {"type": part.type.value, "colour": part.color, "multiplier": part.multiplier, "on": part.on}


def _tracks(scene: Scene) -> dict[str, Summary]:
    summaries: dict[str, Summary] = {}
    for clip in scene.clips[:1]:
        for channel in clip.channels:
            track = channel.track
            summaries[f"{scene.nodes[channel.node].name}/{track.kind}"] = {
                "keys": len(track.times),
                "interpolation": track.interpolation.value,
                "wrap": track.wrap.value,
                "span": _seconds(track.times, clip.rate),
            }
    return summaries


def _seconds(times: Floats, rate: float) -> tuple[float, ...] | None:
    good = times[np.isfinite(times)]
    return (float(good.min()) / rate, float(good.max()) / rate) if len(good) and rate else None


def _are_close(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_are_close(value_a, value_b) for value_a, value_b in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b), 1.0)
    return a == b


SCHEMA = "keyframer.diff"
SCHEMA_VERSION = 1
COLUMNS = ("section", "kind", "path", "field", "a", "b", "largest", "mean")
MOST_NODES = 10_000
_PART_OF_SIZE, _DEGREES = 1e-5, 0.01
"""default tolerances of motion: a fraction of the size of the scene, and degrees"""


@dataclass(eq=False)
class Comparison:
    """The differences between two files. ``structure`` or ``motion`` is None if it was not requested or could not be
    compared."""

    formats: tuple[str, str]
    level: str = "records"
    """what ``structure`` compares: ``records`` of one format, ``values`` of the JSON of two glTF files, or parts of the
    ``scene`` for different formats"""
    structure: Changes | None = None
    motion: MotionDiff | None = None
    tolerance: float = 0.0
    degrees: float = _DEGREES

    @property
    def nodes_with_different_motion(self) -> list[NodeMotion]:
        """Nodes that move differently, the largest difference of position first."""
        return [] if self.motion is None else self.motion.changed(self.tolerance, self.degrees)

    @property
    def same(self) -> bool:
        """Whether no difference was found."""
        unpaired = self.motion is not None and bool(self.motion.only_a or self.motion.only_b)
        restructured = self.structure is not None and bool(self.structure.total)
        return not (restructured or self.nodes_with_different_motion or unpaired)

    def record(self) -> dict[str, Any]:
        """Return the comparison as JSON values; names are made safe."""
        return {
            "formats": list(self.formats),
            "same": self.same,
            "structure": None if self.structure is None else _structure(self.level, self.structure),
            "motion": None if self.motion is None else self._motion(self.motion),
        }

    def _motion(self, motion: MotionDiff) -> dict[str, Any]:
        return {
            "unit": motion.unit,
            "first": _number(motion.times[0]),
            "last": _number(motion.times[-1]),
            "times": len(motion.times),
            "space": motion.space,
            "size": _number(motion.size),
            "tolerance": _number(self.tolerance),
            "tolerance_degrees": _number(self.degrees),
            "different": len(self.nodes_with_different_motion),
            "only_a": [_name(name) for name in motion.only_a[:MOST_NODES]],
            "only_b": [_name(name) for name in motion.only_b[:MOST_NODES]],
            "notes": motion.notes,
            "nodes": [self._node(node, motion.times) for node in motion.nodes[:MOST_NODES]],
        }

    def _node(self, node: NodeMotion, times: Floats) -> dict[str, Any]:
        return {
            "name": _name(node.name),
            "different": not node.within(self.tolerance, self.degrees),
            "position": _over_time(node.position, times),
            "rotation_degrees": _over_time(node.rotation, times),
            "scale": _over_time(node.scale, times),
            "vertices": None if node.vertices is None else _over_time(node.vertices, times),
            "visible_differs": node.visibility_differences,
        }

    def rows(self) -> Iterator[list[Cell]]:
        """Yield one row for each difference, with the columns `COLUMNS`."""
        for change in self.structure.listed if self.structure is not None else ():
            is_scene_part = change.path.startswith(f"/{change.record}/")  # whose path contains the kind
            where = change.path if is_scene_part else f"{change.path} {change.record}"
            head: list[Cell] = ["structure", change.kind, where]
            if not change.fields:
                new_path = change.path_b if change.kind == "moved" else None
                yield [*head, None, None, new_path, None, None]
            for field in change.fields:
                yield [*head, field.field, _cell(field.a), _cell(field.b), field.largest, None]
        if self.motion is None:
            return
        for side, names in (("a", self.motion.only_a), ("b", self.motion.only_b)):
            for name in names:
                yield ["motion", f"only in {side}", name, None, None, None, None, None]
        for node in self.nodes_with_different_motion:
            limits = {
                "position": self.tolerance,
                "rotation": self.degrees,
                "scale": SCALE_TOLERANCE,
                "vertices": self.tolerance,
            }
            for quantity, limit in limits.items():
                values = getattr(node, quantity)
                if values is not None and values.max(initial=0.0) > limit:
                    largest, mean = float(values.max()), float(values.mean())
                    yield ["motion", "different", node.name, quantity, None, None, largest, mean]
            times = node.visibility_differences
            if times:
                yield ["motion", "different", node.name, "visible", None, None, float(times), None]


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file of an exchange format, which has no document."""

    importer: Importer
    data: bytes


Side = Document | ImportedFile


def side_of(opened: OpenedFile) -> Side:
    """Return an opened file as one side of a comparison."""
    if opened.importer is None:
        return opened.document
    return ImportedFile(opened.importer, opened.data)


def format_name(side: Side) -> str:
    return side.importer.name if isinstance(side, ImportedFile) else side.format.name


def compare(
    sides: tuple[Side, Side],
    scenes: tuple[Scene, Scene] | None,
    *,
    structure: bool = True,
    tolerance: float | None = None,
    degrees: float | None = None,
) -> Comparison:
    """Return the differences between two files and, if ``scenes`` are given, between their motion.

    Documents of one format are compared record by record, glTF files value by value, and others by their scenes.
    """
    a, b = sides
    comparison = Comparison((format_name(a), format_name(b)), degrees=_DEGREES if degrees is None else degrees)
    json_files = [side.data for side in sides if isinstance(side, ImportedFile) and side.importer.holds_json]
    if len(json_files) == 2:
        comparison.level = "values"
    elif comparison.formats[0] != comparison.formats[1] or isinstance(a, ImportedFile):
        comparison.level = "scene"
    if structure and comparison.level == "values":
        comparison.structure = diff_gltf(*json_files)
    elif structure and comparison.level == "records" and isinstance(a, Document) and isinstance(b, Document):
        comparison.structure = diff_documents(a, b)
    elif structure and scenes is not None:
        comparison.structure = diff_scenes(*scenes)
    if scenes is not None:
        comparison.motion = diff_motion(*scenes)
        comparison.tolerance = comparison.motion.size * _PART_OF_SIZE if tolerance is None else tolerance
    return comparison


def _structure(level: str, changes: Changes) -> dict[str, Any]:
    return {
        "level": level,
        "counts": {kind: changes.counts[kind] for kind in ("added", "removed", "changed", "moved")},
        "truncated": changes.truncated,
        "changes": [
            {
                "kind": change.kind,
                "record": change.record,
                "path_a": None if change.path_a is None else _name(change.path_a),
                "path_b": None if change.path_b is None else _name(change.path_b),
                "fields": [
                    {"field": f.field, "a": _value(f.a), "b": _value(f.b), "entries": f.entries, "largest": f.largest}
                    for f in change.fields
                ],
            }
            for change in changes.listed
        ],
    }


def _over_time(values: Floats, times: Floats) -> dict[str, Any]:
    worst = int(np.argmax(values)) if len(values) else 0
    return {"largest": _number(values[worst]), "mean": _number(values.mean()), "at": _number(times[worst])}


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _name(text: str) -> str:
    return safe_text(text)[:1_000]


def _value(value: object) -> object:
    if isinstance(value, tuple):
        return [_value(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return _name(value) if isinstance(value, str) else value


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return " ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else str(value)


_LONGEST = 16
"""longest list of numbers that is shown as one value: a matrix"""
_LARGEST_INTEGER = 2**63
_TIMES = 16
"""maximum number of times that the bytes of a file are compared: views may overlap"""


def diff_gltf(a: bytes, b: bytes) -> Changes:
    """Return all differences. Lists are compared by index, because parts of glTF refer to each other by index."""
    changes = Changes()
    file_a, file_b = (open_container(data, DEFAULT_LIMITS, Findings(DEFAULT_LIMITS, salvage=True)) for data in (a, b))
    todo: list[tuple[str, Any, Any]] = [("", file_a.root.value, file_b.root.value)]
    while todo:
        path, before, after = todo.pop()
        if type(before) is dict and type(after) is dict:
            keys = dict.fromkeys([*before, *after])
            pairs = [(f"{path}/{key}", before.get(key, _MISSING), after.get(key, _MISSING)) for key in keys]
        elif type(before) is list and type(after) is list and not (_is_short(before) and _is_short(after)):
            most = max(len(before), len(after))
            pairs = [(f"{path}[{at}]", _entry(before, at), _entry(after, at)) for at in range(most)]
        else:
            _compare(changes, path or "/", before, after)
            continue
        todo += reversed([pair for pair in pairs if pair[1] is not pair[2]])
    _compare_views(changes, file_a, file_b)
    return changes


_MISSING = object()


def _entry(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else _MISSING


def _is_short(values: list[Any]) -> bool:
    return len(values) <= _LONGEST and all(type(value) in (int, float) for value in values)


def _compare(changes: Changes, path: str, before: Any, after: Any) -> None:
    if before is _MISSING or after is _MISSING:
        added = before is _MISSING
        kind, value = ("added", after) if added else ("removed", before)
        changes.add(Change(kind, _kind(value), None if added else path, path if added else None))
    elif before != after or (type(before) is not type(after) and bool in (type(before), type(after))):
        field = FieldChange("value", _shown(before), _shown(after), largest=_largest(before, after))
        changes.add(Change("changed", _kind(before), path, path, (field,)))


def _kind(value: Any) -> str:
    return {dict: "object", list: "list", str: "text", bool: "flag", type(None): "null"}.get(type(value), "number")


def _shown(value: Any) -> object:
    if type(value) is list and _is_short(value):
        return tuple(map(_float, value))
    if type(value) is int and abs(value) > _LARGEST_INTEGER:
        return _float(value)
    return f"({_kind(value)})" if type(value) in (list, dict) else value


def _float(number: float) -> float:
    """Convert to float; integers that are too large become infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _largest(before: Any, after: Any) -> float | None:
    pairs = zip(before, after, strict=False) if type(before) is type(after) is list else ((before, after),)
    differences = [abs(_float(a) - _float(b)) for a, b in pairs if {type(a), type(b)} <= {int, float}]
    return max(filter(math.isfinite, differences), default=None)


def _compare_views(changes: Changes, file_a: Container, file_b: Container) -> None:
    """Compare the bytes of the binary chunk, for each buffer view that is declared the same in both files.

    Other views are already listed as differences of the JSON. Bytes outside the binary chunk are not compared.
    """
    before, after = file_a.root.value.get("bufferViews"), file_b.root.value.get("bufferViews")
    if file_a.binary is None or file_b.binary is None or type(before) is not list or type(after) is not list:
        return
    bytes_left = _TIMES * len(file_a.binary)
    for number, (a, b) in enumerate(zip(before, after, strict=False)):
        span = _byte_range(a)
        if a != b or span is None or bytes_left < 0:
            continue
        bytes_left -= span.stop - span.start
        x, y = (np.frombuffer(binary, np.uint8)[span] for binary in (file_a.binary, file_b.binary))
        common = min(len(x), len(y))
        differ = int(np.count_nonzero(x[:common] != y[:common])) + max(len(x), len(y)) - common
        if differ:
            path = f"/bufferViews[{number}]"
            changes.add(Change("changed", "bytes", path, path, (FieldChange("bytes", None, None, entries=differ),)))


def _byte_range(view: Any) -> slice | None:
    if type(view) is not dict or view.get("buffer") != 0:
        return None
    begin, size = view.get("byteOffset", 0), view.get("byteLength")
    return slice(begin, begin + size) if type(begin) is int and type(size) is int and begin >= 0 and size > 0 else None
