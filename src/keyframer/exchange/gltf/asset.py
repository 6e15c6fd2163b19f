"""A glTF asset on its way: the lists of its JSON, its buffers, its extensions."""

from __future__ import annotations

from typing import Any

from keyframer._version import __version__
from keyframer.exchange.gltf.buffers import Buffers

Json = dict[str, Any]

_LISTS = ("nodes", "meshes", "materials", "textures", "images", "samplers", "cameras", "skins", "animations")


class Asset:
    """Parts refer to each other by number, so each list only grows."""

    def __init__(self) -> None:
        self.buffers = Buffers()
        self.nodes: list[Json] = []
        self.meshes: list[Json] = []
        self.materials: list[Json] = []
        self.textures: list[Json] = []
        self.images: list[Json] = []
        self.samplers: list[Json] = []
        self.cameras: list[Json] = []
        self.skins: list[Json] = []
        self.animations: list[Json] = []
        self.lights: list[Json] = []
        """of KHR_lights_punctual"""
        self.extensions: set[str] = set()
        """those in use; none is ever required"""
        self.roots: list[int] = []
        """the nodes of the scene"""
        self.about: Json = {"version": "2.0", "generator": f"keyframer {__version__}"}
        self.scene: Json = {}
        """name and extras of the scene"""
        self._finished: tuple[list[Json], int] | None = None

    def add_node(self, node: Json, parent: int | None = None) -> int:
        """Append a node below a parent, or to the scene; returns its number."""
        number = len(self.nodes)
        self.nodes.append(node)
        if parent is None:
            self.roots.append(number)
        else:
            self.nodes[parent].setdefault("children", []).append(number)
        return number

    def _finish(self) -> tuple[list[Json], int]:
        if self._finished is None:
            self._finished = self.buffers.finish()
            for image in self.images:
                image["bufferView"] = self.buffers.blob_view(image["bufferView"])
        return self._finished

    @property
    def buffer_size(self) -> int:
        return self._finish()[1]

    def root(self, buffers: list[Json]) -> Json:
        """The whole JSON; empty lists are left out, as glTF wants."""
        views, _ = self._finish()
        plain: Json = {"asset": self.about}
        if self.extensions:
            plain["extensionsUsed"] = sorted(self.extensions)
        if self.lights:
            plain["extensions"] = {"KHR_lights_punctual": {"lights": self.lights}}
        plain["scene"] = 0
        plain["scenes"] = [{**self.scene, "nodes": self.roots} if self.roots else self.scene]
        for name in _LISTS:
            if getattr(self, name):
                plain[name] = getattr(self, name)
        if self.buffers.accessors:
            plain["accessors"] = self.buffers.accessors
        if views:
            plain["bufferViews"] = views
        if buffers:
            plain["buffers"] = buffers
        return plain
