"""The scene: lists of nodes and other parts, and the document that they were read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from copy import copy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyframer.errors import wrong_type
from keyframer.fields import documented
from keyframer.issues import IssueLog
from keyframer.limits import is_budget_open
from keyframer.scene import moving
from keyframer.scene._arrays import Extras, describe_shape, invalid_field, out_of_range
from keyframer.scene.cameras_lights import Camera, Light
from keyframer.scene.clip import Channel, Clip
from keyframer.scene.environment import Environment, Space
from keyframer.scene.material import Material
from keyframer.scene.mesh import Mesh, Skin, mesh_faults, skin_faults
from keyframer.scene.node import Node
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
    loaded_rest: moving.LoadedRest | None = None
    """rest values as they were loaded; `pose` and `save` warn if one was changed that a track overrides"""

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
        if not is_budget_open():  # scenes made in the work on a file may contain whatever the file contains
            for fault in _faults(self, unfinished=True):
                raise ValueError(f"Scene: {fault}")
            for fault in _dangling_references(self) if self.nodes and self.source_format is None else ():
                raise ValueError(f"Scene: {fault}")

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

    def move(self, node: Node | int | str, by: ArrayLike) -> None:
        """Move a node with all of its motion: ``scene.move("Rotor", by=(0, 0, 10))``.

        Its position at rest and every key of its position tracks, in all clips, move by ``by``, in the coordinates of
        its parent. Cameras and lights stay aimed at their targets. Raises ValueError for a skinned mesh, which follows
        its bones.
        """
        moving.move(self, self.node_index(node), by)

    def turn(self, node: Node | int | str, axis: ArrayLike, degrees: float) -> None:
        """Rotate a node with all of its motion about its position: ``scene.turn("Rotor", axis=(0, 0, 1), degrees=90)``.

        The axis is in the coordinates of its parent; a positive angle about z turns x towards y. Its path stays. Raises
        ValueError for a node that is aimed at a target, and for a skinned mesh.
        """
        moving.turn(self, self.node_index(node), axis, degrees)

    def resize(self, node: Node | int | str, factor: float) -> None:
        """Multiply the size of a node and its descendants, with all of its motion: ``scene.resize("Rotor", 1.5)``.

        Its position stays. Raises ValueError for a node that is aimed at a target, and for a skinned mesh.
        """
        moving.resize(self, self.node_index(node), factor)

    def node_index(self, node: Node | int | str) -> int:
        """Return the index of a node that is given by itself, its index or its name; raises LookupError without one."""
        if isinstance(node, Node):
            for number, known in enumerate(self.nodes):
                if known is node:
                    return number
            raise LookupError(f"the node {node.name!r} is not in this scene")
        if isinstance(node, str):
            return self.find(node)
        if not isinstance(node, (int, np.integer)):
            raise wrong_type(node, "a node, its index or its name")
        if not 0 <= node < len(self.nodes):
            raise IndexError(f"node {node} does not exist: the scene has {counted(len(self.nodes), 'node')}")
        return node

    def clip_index(self, clip: int | str) -> int:
        """Return the index of a clip that is given by its index or name; raises LookupError if there is none.

        A scene without clips stands still: its index 0 is valid.
        """
        names = [known.name for known in self.clips]
        if isinstance(clip, str):
            if clip not in names:
                listed = ", ".join(map(repr, names[:8])) or "none"
                raise LookupError(f"no clip is named {clip!r} (available: {listed}){did_you_mean(clip, names)}")
            return names.index(clip)
        if not 0 <= clip < max(len(names), 1):
            raise IndexError(f"clip {clip} does not exist: the scene has {counted(len(names), 'clip')}")
        return clip

    def channels_of(self, node: int | str, clip: int | str = 0) -> Iterator[Channel]:
        """Iterate over the channels of a node in one clip, both given by index or name; there are none if the scene has
        no clips."""
        number = self.node_index(node) if isinstance(node, str) else node
        if self.clips:
            chosen = self.clips[self.clip_index(clip)]
            yield from (channel for channel in chosen.channels if channel.node == number)

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


def with_clip(scene: Scene, clip: int | str) -> Scene:
    """Return the scene with only this clip; the same scene if it is the first."""
    index = scene.clip_index(clip)
    if index == 0:
        return scene
    chosen = copy(scene)
    chosen.clips = [scene.clips[index]]
    return chosen


def check_consistency(scene: Scene) -> None:
    """Raise ValueError for the first mesh, skin or node with an invalid index or an array of the wrong shape.

    Parents, targets and channels may refer to nodes that do not exist, as in damaged files: poses ignore such
    references. Only the constructor of a scene refuses them.
    """
    for fault in _faults(scene):
        raise ValueError(f"the scene is inconsistent: {fault}")


def _faults(scene: Scene, *, unfinished: bool = False) -> Iterator[str]:
    """Yield what is inconsistent. In an ``unfinished`` scene, empty lists may be filled later."""
    for mesh in scene.meshes:
        yield from (f"mesh {mesh.name!r}: {fault}" for fault in mesh_faults(mesh))
        if mesh.face_materials is not None and (scene.materials or not unfinished):
            name = f"mesh {mesh.name!r}: face_materials"
            yield from out_of_range(name, mesh.face_materials, len(scene.materials), "materials", lowest=-1)
    for skin in scene.skins:
        yield from (f"skin {skin.name!r}: {fault}" for fault in skin_faults(skin))
        if scene.nodes or not unfinished:
            yield from out_of_range(f"skin {skin.name!r}: joints", skin.joints, len(scene.nodes), "nodes")
    lists: dict[str, Sized] = {
        "mesh": scene.meshes,
        "camera": scene.cameras,
        "light": scene.lights,
        "skin": scene.skins,
    }
    lists = {name: parts for name, parts in lists.items() if len(parts) or not unfinished}
    for node in scene.nodes:
        yield from (f"node {node.name!r}: {fault}" for fault in _node_faults(node, scene, lists))


def _dangling_references(scene: Scene) -> Iterator[str]:
    """Yield the references to nodes that do not exist."""
    for name in ("parent", "target"):
        for node in scene.nodes:
            index = getattr(node, name)
            if index is not None and not 0 <= index < len(scene.nodes):
                count = counted(len(scene.nodes), "node")
                yield f"node {node.name!r}: {name} {index} does not exist: the scene has {count} (indices start at 0)"
    for clip in scene.clips:
        nodes = [channel.node for channel in clip.channels]
        yield from out_of_range(f"clip {clip.name!r}: channels", nodes, len(scene.nodes), "nodes")


def _node_faults(node: Node, scene: Scene, lists: dict[str, Sized]) -> Iterator[str]:
    for name, parts in lists.items():
        index = getattr(node, name)
        if index is not None and not 0 <= index < len(parts):
            yield f"{name} {index} does not exist: the scene has {counted(len(parts), name)} (indices start at 0)"
    if node.mesh is None or not 0 <= node.mesh < len(scene.meshes):
        return
    shape = np.shape(scene.meshes[node.mesh].positions)
    if node.morph is not None:
        if len(node.morph.names) != len(node.morph.positions):
            yield f"{counted(len(node.morph.positions), 'morph shape')}, but {counted(len(node.morph.names), 'name')}"
        for name, positions in zip(node.morph.names, node.morph.positions, strict=False):
            if np.shape(positions) != shape:
                actual = describe_shape(np.shape(positions))
                yield f"morph shape {name!r} is {actual}, its mesh is {describe_shape(shape)}"
    if node.skin is not None and 0 <= node.skin < len(scene.skins):
        vertex_indices = scene.skins[node.skin].vertex_indices
        yield from out_of_range("vertex indices of the skin", vertex_indices, shape[0], "vertices")
