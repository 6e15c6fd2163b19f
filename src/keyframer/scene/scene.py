"""The scene itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyframer.issues import IssueLog
from keyframer.scene._arrays import Extras
from keyframer.scene.camera import Camera
from keyframer.scene.clip import Channel, Clip
from keyframer.scene.environment import Environment
from keyframer.scene.light import Light
from keyframer.scene.material import Material
from keyframer.scene.mesh import Mesh
from keyframer.scene.node import Node
from keyframer.scene.origin import Origin
from keyframer.scene.skin import Skin
from keyframer.scene.space import Space


@dataclass(eq=False)
class Scene:
    """Everything a file means. Parts refer to each other by their number in these lists.

    ``Scene(nodes=[Node("Box")])`` is a scene; see the examples in ``docs/scenes.md`` for one with keys.
    """

    nodes: list[Node] = field(default_factory=list)
    meshes: list[Mesh] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)
    cameras: list[Camera] = field(default_factory=list)
    lights: list[Light] = field(default_factory=list)
    skins: list[Skin] = field(default_factory=list)
    clips: list[Clip] = field(default_factory=list)
    environment: Environment = field(default_factory=Environment)
    space: Space = field(default_factory=Space)
    title: str = ""
    author: str = ""
    copyright: str = ""
    source_format: str | None = None
    extras: Extras = field(default_factory=dict)
    issues: IssueLog = field(default_factory=IssueLog)
    """what was odd on the way from the file to the scene"""
    folder: Path | None = None
    """where files lie that belong to it, for scenes of files that have no document"""
    sources: Any = None
    """for those, which parts of the file the parts of the scene were made of when it was read"""
    origin: Origin | None = None
    """the document that the scene was made from: saved in the same format, it is patched instead of written anew"""

    def node(self, name: str) -> Node:
        """The node with this shown name; LookupError if there is none."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise LookupError(f"no node is called {name!r}")

    def channels_of(self, node: int, clip: int = 0) -> Iterator[Channel]:
        """The channels that move a node, in file order."""
        if self.clips:
            yield from (channel for channel in self.clips[clip].channels if channel.node == node)

    @property
    def stored_bytes(self) -> int:
        """How large it is: the bytes of the file it came from, or else of its vertices, faces and keys."""
        if self.origin is not None:
            return int(self.origin.document.size)
        parts = [array for mesh in self.meshes for array in (mesh.positions, mesh.corners)]
        tracks = [channel.track for clip in self.clips for channel in clip.channels]
        return sum(part.nbytes for part in parts) + sum(each.times.nbytes + each.values.nbytes for each in tracks)

    def __repr__(self) -> str:
        keys = sum(len(channel.track.times) for clip in self.clips for channel in clip.channels)
        parts = [
            f"{len(self.nodes)} nodes",
            f"{len(self.meshes)} meshes",
            f"{len(self.materials)} materials",
            f"{keys} keys",
        ]
        return f"<Scene: {', '.join(parts)}; {self.space}>"
