"""Nodes: the tree, and what hangs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from keyframer.curves.lazy_fields import Lazy, LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, Floats, Shape, check_arrays, check_choice, check_links


class NodeKind(Enum):
    OBJECT = "object"
    DUMMY = "dummy"
    BONE = "bone"
    CAMERA = "camera"
    LIGHT = "light"
    TARGET = "target"
    AMBIENT = "ambient"


@documented
@dataclass(eq=False, repr=False)
class Morph:
    """Shapes that a node's mesh takes: the clip's ``morph`` channel holds the weights of these."""

    names: list[str]
    """name of each shape"""
    positions: Sequence[Floats]
    """(V, 3) for each shape, with as many vertices as the node's mesh and in the same space"""

    def __repr__(self) -> str:
        return f"<Morph of {len(self.names)} shapes>"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Node(LazyFields):
    """A place in the tree. What is not animated is at rest: ``T(position) . R . S`` under the parent."""

    name: str
    """shown name, unique in the scene"""
    kind: NodeKind = NodeKind.OBJECT
    """what it is: an object with a mesh, a dummy, a bone, a camera …"""
    parent: int | None = None
    """number into the scene's nodes; None stands in the scene itself"""
    position: Floats = lazy(lambda: np.zeros(3))
    """(3,) under the parent, at rest"""
    rotation_xyzw: Floats = lazy(lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    """(4,) quaternion x, y, z, w, at rest"""
    scale: Floats = lazy(lambda: np.ones(3))
    """(3,) along its own axes, at rest"""
    scale_axes_xyzw: Floats | None = None
    """orientation Q of the scale axes: the scale is ``Q . diag(scale) . Q^-1``"""
    pivot: Floats = lazy(lambda: np.zeros(3))
    """(3,) taken off the node's own geometry; children do not see it"""
    mesh: int | None = None
    """number into the scene's meshes"""
    camera: int | None = None
    """number into the scene's cameras"""
    light: int | None = None
    """number into the scene's lights"""
    skin: int | None = None
    """number into the scene's skins: its mesh follows bones"""
    target: int | None = None
    """the node it looks at (cameras, spot lights)"""
    morph: Morph | None = None
    """shapes that its mesh takes"""
    hidden: bool = False
    """not shown, unless a ``visible`` channel says otherwise; children are not affected"""
    bounding_box: tuple[Floats, Floats] | None = None
    """lower and upper corner, where the file states them"""
    file_id: int | None = None
    """the number the file knows it by"""
    raw_name: bytes | None = None
    """the name as it stands in the file"""
    extras: Extras = lazy(dict)
    """what else the file says, under the id of its format"""

    def __post_init__(self) -> None:
        if type(self.kind) is not NodeKind:
            check_choice(self, "kind", NodeKind)
        given: tuple[Any, ...] = (self.position, self.rotation_xyzw, self.scale)
        if not (type(given[0]) is type(given[1]) is type(given[2]) is Lazy):
            check_arrays(self, _PLACE)
        pivot: Any = self.pivot
        if type(pivot) is not Lazy or self.scale_axes_xyzw is not None:
            check_arrays(self, _MORE)
        if not (type(self.parent) in _NUMBER and type(self.mesh) in _NUMBER and type(self.target) in _NUMBER):
            check_links(self, _LINKS)
        if not (type(self.camera) in _NUMBER and type(self.light) in _NUMBER and type(self.skin) in _NUMBER):
            check_links(self, _LINKS)
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Node {self.name!r} ({self.kind.value})>"


_PLACE: dict[str, Shape] = {"position": (3,), "rotation_xyzw": (4,), "scale": (3,)}
_MORE: dict[str, Shape] = {"scale_axes_xyzw": (4,), "pivot": (3,)}
_NUMBER = (int, type(None))
_LINKS = {
    "parent": "a node (scene.find gives it)",
    "mesh": "a mesh",
    "camera": "a camera",
    "light": "a light",
    "skin": "a skin",
    "target": "a node (scene.find gives it)",
}
