"""The data of one file for the page, computed on first use and kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice

from keyframer.checking import Report, check_opened, sort_key, unreadable
from keyframer.errors import FormatError
from keyframer.exchange import Importer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.kit.images import Image, ImageSource, Missing, Pictures, no_images
from keyframer.exchange.kit.spans import written_span
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.contract import Format
from keyframer.formats.document import Document
from keyframer.limits import Budget
from keyframer.salvaging import salvage_opened
from keyframer.salvaging.byte_map import Span
from keyframer.scene import Channel, Clip, Material, RawChannel, Scene, TextureMap
from keyframer.scene.loss_report import LossReport
from keyframer.text import shortened
from keyframer.textures import ImageRefused, TextureSource
from keyframer.textures.image_files import decode_texture
from keyframer.textures.texture_usage import scene_textures
from keyframer.viewer.file_description import (
    describe,
    describe_clip,
    describe_lights,
    describe_losses,
    describe_saved,
    glb_node_index,
)
from keyframer.viewer.json_data import to_json
from keyframer.viewer.saving import SAVE_CHOICES, SavedFile
from keyframer.viewer.source_locations import NoRecords, Records, SourceLocations, rows_json
from keyframer.viewer.track_curves import ClipCurves, raw_curve

MOST_PARTS = 10_000
"""maximum number of parts of the map of a damaged file"""
BLOCK = 1 << 16
"""bytes of the file that are sent at once"""


@dataclass(eq=False)
class LoadedFile:
    """An opened file, with its document and scene if they can be made."""

    opened: OpenedFile
    scene: Scene | None = None
    failure: FormatError | None = None
    """why there is no document or no scene"""
    textures: TextureSource | None = None
    report: Report | None = None
    """of its check, if it was made before"""
    exported: tuple[bytes, LossReport] | None = None
    """GLB and losses, if they were made before"""
    beside: tuple[object, ...] = ()
    """keeps the files in memory that were dropped with it"""

    @property
    def data(self) -> bytes:
        return self.opened.data

    @cached_property
    def importer(self) -> Importer | None:
        """The importer, for files without documents; None if the format has documents or is unknown."""
        with suppress(FormatError):
            return self.opened.importer
        return None

    @cached_property
    def document(self) -> Document | None:
        """The document; None if the file has none or cannot be read."""
        with suppress(FormatError):
            return self.opened.document
        return None


class ViewedFile:
    """One file of the page. ``load`` is called once, when the file is first needed."""

    def __init__(self, name: str, load: Callable[[], LoadedFile], budget: Budget | None = None) -> None:
        self.name = shortened(name, 300)
        self._load = load
        self._lock = threading.RLock()
        self._compiled: dict[int, ClipCurves] = {}
        """by index of the clip"""
        self._saved: tuple[int, SavedFile] | None = None
        """index of the last choice, and its result"""
        self._budget = budget or Budget()
        """budget of everything that is computed once; tracks are computed on request, and `track_curves` limits their
        points
        """

    @cached_property
    def loaded(self) -> LoadedFile:
        with self._budget.opened():
            return self._load()

    @cached_property
    def places(self) -> SourceLocations | None:
        """The locations in the file; None if it has no document."""
        loaded = self.loaded
        return None if loaded.document is None else SourceLocations(loaded.document, loaded.data, loaded.scene)

    @cached_property
    def report(self) -> Report:
        loaded = self.loaded
        if loaded.report is not None:
            return loaded.report
        if loaded.document is None and loaded.importer is None:
            if loaded.scene is not None:  # a scene built by hand
                return Report(loaded.scene.issues.sorted_by(sort_key), None, 0)
            assert loaded.failure is not None
            return unreadable(loaded.failure, loaded.opened.known_reader, len(loaded.data))
        return check_opened(loaded.opened)

    def scene(self) -> bytes:
        """Return tree, names of clips and issues."""
        with self._lock, self._budget.opened():
            return self._described

    @cached_property
    def _described(self) -> bytes:
        description = describe(self.name, self.loaded, self.report, self.places)
        return to_json({**description, "map": self._byte_map()})

    def _byte_map(self) -> list[tuple[int, int, str]]:
        """Return what salvage makes of the bytes of a damaged file: start, end and state of each part, or nothing."""
        spans: tuple[Span, ...] = ()
        opened, known = self.loaded.opened, self.report.format
        if self.report.damaged and isinstance(known, Format):
            with suppress(FormatError), Budget(opened.limits, len(opened.data)).opened():
                # opened again: salvage changes the document
                spans = salvage_opened(OpenedFile(opened.data, format=known.name, limits=opened.limits)).spans
        parts = groupby(spans, key=lambda span: span.state)
        listed = [(state, list(part)) for state, part in islice(parts, MOST_PARTS)]
        return [(part[0].start, part[-1].end, state) for state, part in listed]

    @property
    def _clips(self) -> list[Clip]:
        scene = self.loaded.scene
        return [] if scene is None else scene.clips

    @property
    def clip_count(self) -> int:
        return len(self._clips)

    def clip(self, number: int) -> bytes | None:
        """Return times and tracks of a clip; None if there is no such clip."""
        with self._lock, self._budget.opened():
            if not 0 <= number < self.clip_count:
                return None
            clip, first = self._clips[number], sum(map(_track_count_of, self._clips[:number]))
            return to_json(describe_clip(clip, first, self._curves(number), self.places))

    def model(self) -> bytes | None:
        """Return the GLB; None if no scene could be made."""
        with self._lock, self._budget.opened():
            return None if self._exported is None else self._exported[0]

    def recovered(self) -> ViewedFile:
        """Return the same file without its unsafe parts; raises `FormatError` if nothing can be shown."""
        loaded = self.loaded
        with self._lock, self._budget.opened():
            scene = loaded.opened.scene(salvage=True)
        recovered = replace(loaded, scene=scene, failure=None, exported=None)
        return ViewedFile(f"{self.name} (recovered)", lambda: recovered, self._new_budget())

    @property
    def loaded_or_none(self) -> LoadedFile | None:
        """The loaded file; None if it was not needed yet."""
        return vars(self).get("loaded")

    def loaded_as(self, loaded: LoadedFile) -> ViewedFile:
        """Return the same file with something else that belongs to it."""
        return ViewedFile(self.name, lambda: loaded, self._new_budget())

    def _new_budget(self) -> Budget:
        """Return a budget for work that can be requested again and again."""
        return Budget(self._budget.limits, self._budget.size)

    def _save(self, number: int) -> SavedFile | None:
        """Save the file in another format; the last result is kept, because report and content are requested one
        after the other."""
        if number >= len(SAVE_CHOICES) or not SAVE_CHOICES[number].is_possible(self.loaded):
            return None
        if self._saved is None or self._saved[0] != number:
            with self._new_budget().opened():
                self._saved = number, SAVE_CHOICES[number].save(self.loaded, self.name)
        return self._saved[1]

    def save_report(self, number: int) -> bytes | None:
        """Return name, size and losses of the saved file; None if the file cannot be saved so."""
        with self._lock:
            saved = self._save(number)
            return None if saved is None else to_json(describe_saved(saved))

    def save(self, number: int) -> bytes | None:
        """Return the content of the saved file."""
        with self._lock:
            saved = self._save(number)
            return None if saved is None else saved.data

    def losses(self) -> bytes | None:
        """Return the losses of the GLB, and the images that have a problem; None if no scene could be made."""
        with self._lock, self._budget.opened():
            scene, textures = self.loaded.scene, self.loaded.textures
            if scene is None or self._exported is None:
                return None
            images = [] if textures is None else scene_textures(scene, textures.finder)
            return to_json(describe_losses(self._exported[1], images))

    def lights(self, number: int) -> bytes | None:
        """Return the lights in one of the clips; for a file without clips the number is 0."""
        with self._lock, self._budget.opened():
            scene = self.loaded.scene
            if scene is None or not (0 <= number < self.clip_count or number == 0):
                return None
            curves = self._curves(number) if self.clip_count else None
            gltf_nodes = [glb_node_index(scene, index) for index in range(len(scene.nodes))]
            return to_json(describe_lights(scene, number, curves, self.loaded.textures, gltf_nodes))

    @property
    def lights_resource_count(self) -> int:
        """Number of requests for `lights`: one for each clip, one for a file without clips; 0 without lights."""
        scene = self.loaded.scene
        return max(1, self.clip_count) if scene is not None and scene.lights else 0

    @cached_property
    def _exported(self) -> tuple[bytes, LossReport] | None:
        """The GLB, and its loss report."""
        loaded = self.loaded
        if loaded.scene is None or loaded.exported is not None:
            return loaded.exported
        source = {"name": self.name, "sha256": hashlib.sha256(loaded.data).hexdigest()}
        images = no_images if loaded.textures is None else images_from(loaded.textures)
        # three.js plays cubic keys exactly; the page requests authored keys track by track
        options = GltfOptions(source=source, images=images, keys="cubic")
        asset, report = export(loaded.scene, options)
        return b"".join(glb_parts(asset)), report

    @property
    def track_count(self) -> int:
        """Number of tracks in all clips, clip by clip: those of nodes, then raw channels."""
        return sum(map(_track_count_of, self._clips))

    def track(self, number: int) -> bytes | None:
        """Return keys and curve of one track, and the locations of its keys; None if there is no such track."""
        with self._lock:
            if not 0 <= number < self.track_count:
                return None
            clip_index = 0
            while number >= _track_count_of(self._clips[clip_index]):
                number -= _track_count_of(self._clips[clip_index])
                clip_index += 1
            clip = self._clips[clip_index]
            if number >= len(clip.channels):
                raw = clip.raw_channels[number - len(clip.channels)]
                return to_json({**raw_curve(raw), **self._key_places(raw)})
            return to_json({**self._curves(clip_index).curve(number), **self._key_places(clip.channels[number])})

    def _curves(self, number: int) -> ClipCurves:
        """Return the compiled tracks of a clip."""
        if number not in self._compiled:
            clip = self._clips[number]
            span = written_span(clip, None)
            self._compiled[number] = ClipCurves(clip, span.begin, span.end)
        return self._compiled[number]

    def _key_places(self, channel: Channel | RawChannel) -> dict[str, object]:
        if self.places is None:
            return {"places": None, "missing": ""}
        rows = self.places.key_places(channel)
        return {"places": rows_json(rows), "missing": self.places.reason_without_key_location(channel)}

    @property
    def _records(self) -> Records:
        return NoRecords() if self.places is None else self.places.records

    @property
    def page_count(self) -> int:
        """Number of pages of records."""
        return self._records.page_count

    def records(self) -> bytes:
        """Return the number of records, and the first byte of each page."""
        with self._lock:
            return to_json(self._records.overview())

    def record_page(self, number: int) -> bytes | None:
        """Return one page of records: ranges, parents and names."""
        with self._lock:
            page = self._records.page(number)
            return None if page is None else to_json(page)

    @property
    def block_count(self) -> int:
        return -(-len(self.loaded.data) // BLOCK)

    def block(self, number: int) -> bytes | None:
        """Return some bytes of the file, for the hex view."""
        with self._lock:
            data = self.loaded.data
        return data[number * BLOCK : (number + 1) * BLOCK] or None


def _track_count_of(clip: Clip) -> int:
    return len(clip.channels) + len(clip.raw_channels)


def images_from(source: TextureSource) -> ImageSource:
    """Return the image source for the exporter. The model never contains bytes of an image file, only its pixels
    as a new PNG.
    """
    pictures = Pictures(source)
    encoded: dict[bytes, bytes | Missing] = {}
    """results by the bytes of the exported image: many materials may use the same image"""

    def image(material: Material, slot: str, map: TextureMap) -> Image | Missing | None:
        picture = pictures(material, slot, map)
        if not isinstance(picture, Image):
            return picture
        if picture.data not in encoded:
            encoded[picture.data] = _reencoded(picture)
        data = encoded[picture.data]
        if isinstance(data, Missing):
            return data
        return replace(picture, name=shortened(picture.name), data=data, mime_type="image/png")

    return image


def _reencoded(picture: Image) -> bytes | Missing:
    try:
        return decode_texture(picture.data, picture.name).png()
    except ImageRefused as refused:
        return Missing(str(refused))
