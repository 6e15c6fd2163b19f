"""What the page is given about one file: made when first asked for, and kept."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from keyframer.checking import Report, check_document, unreadable
from keyframer.errors import FormatError
from keyframer.exchange.gltf.container import glb_parts
from keyframer.exchange.gltf.exporting import export
from keyframer.exchange.gltf.options import GltfOptions
from keyframer.exchange.gltf.span import clip_span
from keyframer.formats._document import Document
from keyframer.scene import Scene
from keyframer.textures import TextureSource
from keyframer.viewer.curves import track_curve
from keyframer.viewer.describing import describe
from keyframer.viewer.images import images_from
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
        if material.document is None:
            assert material.failure is not None
            return unreadable(material.failure)
        return check_document(material.document, len(material.data))

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
        scene = self.material.scene
        return len(scene.clips[0].channels) if scene is not None and scene.clips else 0

    def track(self, number: int) -> bytes | None:
        """Keys, curve and bytes of one track."""
        with self._lock:
            scene, places = self.material.scene, self.places
            if scene is None or places is None or not 0 <= number < self.track_count:
                return None
            clip = scene.clips[0]
            track, span = clip.channels[number].track, clip_span(clip, None)
            found = track_curve(track, span.begin, span.end, clip.units_per_frame or 1.0)
            return to_json({**found, "places": places.key_spans(number, len(track.times))})

    def records(self) -> bytes | None:
        """Which bytes belong to which record."""
        with self._lock:
            return None if self.places is None else to_json(self.places.extents.table())

    @property
    def block_count(self) -> int:
        return -(-len(self.material.data) // BLOCK)

    def block(self, number: int) -> bytes | None:
        """Some bytes of the file, for the hex view."""
        with self._lock:
            data = self.material.data
        return data[number * BLOCK : (number + 1) * BLOCK] or None
