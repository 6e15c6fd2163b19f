"""The scene: lists of nodes and other parts, and the document that they were read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from keyframer.fields import dataclass, documented
from keyframer.issues import IssueLog
from keyframer.scene._arrays import Extras, invalid_field
from keyframer.scene.camera import Camera
from keyframer.scene.clip import Channel, Clip
from keyframer.scene.environment import Environment
from keyframer.scene.light import Light
from keyframer.scene.material import Material
from keyframer.scene.mesh import Mesh, Skin
from keyframer.scene.node import Node
from keyframer.scene.space import Space
from keyframer.text import counted, did_you_mean


@dataclass(eq=False, repr=False, frozen=True)
class Origin:
    """The document that a scene was made from, and the options that it was read with."""

    document: Any
    options: Mapping[str, object]
    folder: Path | None = None
    """folder of the file, if it was loaded from one"""

    def __repr__(self) -> str:
        return f"<Origin: {self.document!r}>"


@documented
@dataclass(eq=False, repr=False)
class Scene:
    """The content of a file, interpreted. Parts refer to each other by their index in these lists.

    ``Scene(nodes=[Node("Box")])`` is a scene; see the examples in ``docs/scenes.md`` for one with keys.
    """

    nodes: list[Node] = field(default_factory=list)
    """nodes; each has the index of its parent, mesh, camera, light and skin"""
    meshes: list[Mesh] = field(default_factory=list)
    """triangle meshes, used by nodes"""
    materials: list[Material] = field(default_factory=list)
    """materials of the faces of meshes"""
    cameras: list[Camera] = field(default_factory=list)
    """used by nodes"""
    lights: list[Light] = field(default_factory=list)
    """used by nodes"""
    skins: list[Skin] = field(default_factory=list)
    """skins: bones and weights of meshes"""
    clips: list[Clip] = field(default_factory=list)
    """animations; the first one is played unless another is chosen"""
    environment: Environment = field(default_factory=Environment)
    """background, fog, ambient light"""
    space: Space = field(default_factory=Space)
    """axes, handedness, unit"""
    title: str = ""
    """title stored in the file"""
    author: str = ""
    """author"""
    copyright: str = ""
    """copyright"""
    source_format: str | None = None
    """id of the source format"""
    extras: Extras = field(default_factory=dict)
    """further data of the file, under the id of its format"""
    issues: IssueLog = field(default_factory=IssueLog)
    """issues found while reading the file and building the scene"""
    folder: Path | None = None
    """folder of files that belong to the scene, for formats without documents"""
    sources: Any = None
    """for formats without documents: which parts of the file each part of the scene was made from"""
    origin: Origin | None = None
    """the document that the scene was made from; saving in the same format merges the edits into it"""

    def __post_init__(self) -> None:
        for name, kind in _PARTS.items():
            parts = getattr(self, name)
            if not isinstance(parts, Sequence) or isinstance(parts, str):
                raise invalid_field(self, name, f"a list of {kind.__name__}", repr(parts))
            for part in parts if type(parts) is list else ():
                if not isinstance(part, kind):
                    raise invalid_field(self, name, f"a list of {kind.__name__}", f"a list with {part!r}")
        loop = parent_loop(self.nodes)
        if loop:
            names = " below ".join(repr(self.nodes[number].name) for number in loop[:8])
            raise ValueError(f"Scene: a node is its own ancestor: {names}")

    def node(self, name: str) -> Node:
        """Return the node with this name, the first of several; raises LookupError if there is none."""
        return self.nodes[self.find(name)]

    def find(self, name: str) -> int:
        """Return the index of the node with this name, the first of several; raises LookupError if there is none.

        Parents, targets, channels and poses use this index, as in ``pose.world[:, scene.find("Rotor")]``.
        """
        for number, node in enumerate(self.nodes):
            if node.name == name:
                return number
        raise self._no_node(name)

    def find_all(self, pattern: str) -> list[int]:
        """Return the indices of all nodes with this name, which may have the wildcards ``*``, ``?`` and ``[...]``.

        Raises LookupError if there are none.
        """
        numbers = [
            number for number, node in enumerate(self.nodes) if node.name == pattern or fnmatchcase(node.name, pattern)
        ]
        if not numbers:
            raise self._no_node(pattern)
        return numbers

    def _no_node(self, name: str) -> LookupError:
        return LookupError(f"no node is named {name!r}{did_you_mean(name, (node.name for node in self.nodes))}")

    def channels_of(self, node: int, clip: int = 0) -> Iterator[Channel]:
        """Iterate over the channels of a node in one clip; there are none if the scene has no clips."""
        if self.clips:
            yield from (channel for channel in self.clips[clip].channels if channel.node == node)

    @property
    def stored_bytes(self) -> int:
        """The size of the source file in bytes, or else the size of nodes, vertices, faces and keys in memory."""
        if self.origin is not None:
            return int(self.origin.document.size)
        parts = [array for mesh in self.meshes for array in (mesh.positions, mesh.corners)]
        tracks = [channel.track for clip in self.clips for channel in clip.channels]
        keys = sum(track.times.nbytes + track.values.nbytes for track in tracks)
        return _NODE_BYTES * len(self.nodes) + sum(part.nbytes for part in parts) + keys

    def __repr__(self) -> str:
        keys = sum(len(channel.track.times) for clip in self.clips for channel in clip.channels)
        parts = [
            counted(len(self.nodes), "node"),
            counted(len(self.meshes), "mesh"),
            counted(len(self.materials), "material"),
            counted(keys, "key"),
        ]
        return f"<Scene: {', '.join(parts)}; {self.space}>"


_NODE_BYTES = 80
"""position, rotation and scale of a node"""
_PARTS: dict[str, type[Any]] = {
    "nodes": Node,
    "meshes": Mesh,
    "materials": Material,
    "cameras": Camera,
    "lights": Light,
    "skins": Skin,
    "clips": Clip,
}


def parent_loop(nodes: Sequence[Node]) -> list[int]:
    """Return a cycle of parents, each node followed by its parent, with the first node repeated at the end; empty if
    there is none.
    """
    parents = [-1 if node.parent is None else node.parent for node in nodes]
    if all(parent < number for number, parent in enumerate(parents)):
        return []
    checked = [False] * len(parents)
    for start in range(len(parents)):
        path: dict[int, None] = {}
        number = start
        while 0 <= number < len(parents) and not checked[number]:
            if number in path:
                nodes_on_path = list(path)
                return [*nodes_on_path[nodes_on_path.index(number) :], number]
            path[number] = None
            number = parents[number]
        for step in path:
            checked[step] = True
    return []
