"""What the page is given about one file: made when first asked for, and kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from keyframer.checking import Report, check_document, unreadable
from keyframer.errors import FormatError
from keyframer.exchange import Importer
from keyframer.exchange.gltf.container import glb_parts
from keyframer.exchange.gltf.exporting import export
from keyframer.exchange.gltf.options import GltfOptions
from keyframer.exchange.gltf.span import clip_span
from keyframer.formats._document import Document
from keyframer.scene import RawChannel, Scene
from keyframer.textures import TextureSource
from keyframer.viewer.curves import raw_curve, track_curve
from keyframer.viewer.describing import describe
from keyframer.viewer.extents import NO_RECORDS
from keyframer.viewer.images import images_from
from keyframer.viewer.keyrows import Strided
from keyframer.viewer.places import Places
from keyframer.viewer.plain import shown, to_json

BLOCK = 1 << 16
"""bytes of the file that are sent at once"""


@dataclass(eq=False)
class Material:
    """What whoever opens files has to give: the bytes, and as much meaning as they have."""

    data: bytes
    document: Document | None = None
    scene: Scene | None = None
    failure: FormatError | None = None
    """why there is no document, or no scene"""
    textures: TextureSource | None = None
    importer: Importer | None = None
    """who makes a scene of the bytes at once, where there are no documents"""


class ViewedFile:
    """One file of the page. ``load`` is called once, in whichever thread needs it first."""

    def __init__(self, name: str, load: Callable[[], Material]) -> None:
        self.name = shown(name, 300)
        self._load = load
        self._lock = threading.RLock()

    @cached_property
    def material(self) -> Material:
        return self._load()

    @cached_property
    def places(self) -> Places | None:
        material = self.material
        return None if material.document is None else Places(material.document, material.data, material.scene)

    @cached_property
    def report(self) -> Report:
        material = self.material
        importer = material.importer
        if material.document is not None:
            return check_document(material.document, len(material.data))
        if material.scene is not None:
            return Report(material.scene.issues, importer, len(material.data))
        assert material.failure is not None
        return unreadable(material.failure, None if importer is None else importer.name, len(material.data))

    def scene(self) -> bytes:
        """Tree, tracks, times, issues."""
        with self._lock:
            return self._described

    @cached_property
    def _described(self) -> bytes:
        return to_json(describe(self.name, self.material, self.report, self.places))

    def model(self) -> bytes | None:
        """The GLB; None where no scene could be made."""
        with self._lock:
            return self._glb

    @cached_property
    def _glb(self) -> bytes | None:
        material = self.material
        if material.scene is None:
            return None
        source = {"name": self.name, "sha256": hashlib.sha256(material.data).hexdigest()}
        if material.textures is None:
            options = GltfOptions(source=source)
        else:
            options = GltfOptions(source=source, images=images_from(material.textures))
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
                return self._raw_track(clip.raw_channels[number - len(clip.channels)])
            channel, span = clip.channels[number], clip_span(clip, None)
            found = track_curve(channel.track, span.begin, span.end, clip.units_per_frame or 1.0)
            rows = None if self.places is None else self.places.key_places(channel)
            return to_json({**found, "places": rows.each() if isinstance(rows, Strided) else rows})

    def _raw_track(self, channel: RawChannel) -> bytes:
        rows = None if self.places is None else self.places.raw_places(channel)
        return to_json({**raw_curve(channel), "places": None if rows is None else rows.each()})

    def records(self) -> bytes:
        """Which bytes belong to which record; none where there is no document."""
        with self._lock:
            return to_json(NO_RECORDS if self.places is None else self.places.extents.table())

    @property
    def block_count(self) -> int:
        return -(-len(self.material.data) // BLOCK)

    def block(self, number: int) -> bytes | None:
        """Some bytes of the file, for the hex view."""
        with self._lock:
            data = self.material.data
        return data[number * BLOCK : (number + 1) * BLOCK] or None
