"""What the page is given about one file: made when first asked for, and kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from keyframer.checking import Report, check_opened, unreadable
from keyframer.checking.check_report import in_order
from keyframer.errors import FormatError
from keyframer.exchange import Importer
from keyframer.exchange.gltf.write.asset import glb_parts
from keyframer.exchange.gltf.write.exporting import export
from keyframer.exchange.gltf.write.images import no_images
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.gltf.write.scene_extent import written_span
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.document import Document
from keyframer.limits import Budget
from keyframer.scene import Channel, RawChannel, Scene
from keyframer.textures import TextureSource
from keyframer.viewer.file_description import describe
from keyframer.viewer.gltf_locations import GltfPlaces
from keyframer.viewer.json_data import shown, to_json
from keyframer.viewer.page_images import images_from
from keyframer.viewer.record_bytes import NoRecords, Records
from keyframer.viewer.source_locations import Finder, Places
from keyframer.viewer.track_bytes import rows_json
from keyframer.viewer.track_curves import ClipCurves, raw_curve

BLOCK = 1 << 16
"""bytes of the file that are sent at once"""


@dataclass(eq=False)
class Material:
    """A file that was opened, and as much meaning as it has."""

    opened: OpenedFile
    scene: Scene | None = None
    failure: FormatError | None = None
    """why there is no document, or no scene"""
    textures: TextureSource | None = None

    @property
    def data(self) -> bytes:
        return self.opened.data

    @cached_property
    def importer(self) -> Importer | None:
        """Who makes a scene of the bytes at once; None if there are documents, or nobody reads the file."""
        with suppress(FormatError):
            return self.opened.importer
        return None

    @cached_property
    def document(self) -> Document | None:
        """None if none can be made."""
        with suppress(FormatError):
            return self.opened.document
        return None


class ViewedFile:
    """One file of the page. ``load`` is called once, in whichever thread needs it first."""

    def __init__(self, name: str, load: Callable[[], Material], budget: Budget | None = None) -> None:
        self.name = shown(name, 300)
        self._load = load
        self._lock = threading.RLock()
        self._budget = budget or Budget()
        """of all that is made once; a track is made whenever it is asked for, of `curves.MOST_SAMPLES` at most"""

    @cached_property
    def material(self) -> Material:
        with self._budget.opened():
            return self._load()

    @cached_property
    def places(self) -> Finder | None:
        """None where nobody can say what lies where."""
        material = self.material
        if material.document is not None:
            return Places(material.document, material.data, material.scene)
        if material.importer is None or not material.importer.holds_json:
            return None
        try:
            return GltfPlaces(material.data, material.scene, material.opened.folder)
        except FormatError:
            return None

    @cached_property
    def report(self) -> Report:
        material = self.material
        if material.document is None and material.importer is None:
            if material.scene is not None:  # made by hand
                return Report(material.scene.issues.selected(lambda code: True, in_order), None, 0)
            assert material.failure is not None
            return unreadable(material.failure, material.opened.known_reader, len(material.data))
        return check_opened(material.opened)

    def scene(self) -> bytes:
        """Tree, tracks, times, issues."""
        with self._lock, self._budget.opened():
            return self._described

    @cached_property
    def _described(self) -> bytes:
        return to_json(describe(self.name, self.material, self.report, self.places))

    def model(self) -> bytes | None:
        """The GLB; None where no scene could be made."""
        with self._lock, self._budget.opened():
            return self._glb

    @cached_property
    def _glb(self) -> bytes | None:
        material = self.material
        if material.scene is None:
            return None
        source = {"name": self.name, "sha256": hashlib.sha256(material.data).hexdigest()}
        images = no_images if material.textures is None else images_from(material.textures)
        # cubic keys are what three.js plays exactly; the page asks for authored keys track by track
        options = GltfOptions(source=source, images=images, keys="cubic", authored_keys=False)
        asset, _ = export(material.scene, options)
        return b"".join(glb_parts(asset))

    @property
    def track_count(self) -> int:
        """Tracks of nodes, then channels that nobody knows the meaning of."""
        scene = self.material.scene
        if scene is None or not scene.clips:
            return 0
        return len(scene.clips[0].channels) + len(scene.clips[0].raw_channels)

    def track(self, number: int) -> bytes | None:
        """Keys, curve and bytes of one track."""
        with self._lock:
            scene = self.material.scene
            if scene is None or not 0 <= number < self.track_count:
                return None
            clip = scene.clips[0]
            if number >= len(clip.channels):
                raw = clip.raw_channels[number - len(clip.channels)]
                return to_json({**raw_curve(raw), **self._key_places(raw)})
            return to_json({**self._curves.curve(number), **self._key_places(clip.channels[number])})

    @cached_property
    def _curves(self) -> ClipCurves:
        scene = self.material.scene
        assert scene is not None
        span = written_span(scene.clips[0], None)
        return ClipCurves(scene.clips[0], span.begin, span.end)

    def _key_places(self, channel: Channel | RawChannel) -> dict[str, object]:
        if self.places is None:
            return {"places": None, "missing": ""}
        rows = self.places.key_places(channel)
        return {"places": rows_json(rows), "missing": self.places.why_no_key(channel)}

    @property
    def _records(self) -> Records:
        return NoRecords() if self.places is None else self.places.records

    @property
    def page_count(self) -> int:
        """Pages of records."""
        return self._records.page_count

    def records(self) -> bytes:
        """How many records there are, and where."""
        with self._lock:
            return to_json(self._records.overview())

    def record_page(self, number: int) -> bytes | None:
        """Which bytes belong to which record, for some thousands of them."""
        with self._lock:
            found = self._records.page(number)
            return None if found is None else to_json(found)

    @property
    def block_count(self) -> int:
        return -(-len(self.material.data) // BLOCK)

    def block(self, number: int) -> bytes | None:
        """Some bytes of the file, for the hex view."""
        with self._lock:
            data = self.material.data
        return data[number * BLOCK : (number + 1) * BLOCK] or None
