"""Nodes: the hierarchy of a scene."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import Lazy, LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, Floats, Shape, check_arrays, check_choice, check_links, invalid_field
from keyframer.text import counted


class NodeKind(Enum):
    """The kind of a node."""

    OBJECT = "object"
    DUMMY = "dummy"
    BONE = "bone"
    CAMERA = "camera"
    LIGHT = "light"
    TARGET = "target"
    AMBIENT = "ambient"

    @property
    def noun(self) -> str:
        """The name of the kind in messages."""
        return "ambient light" if self is NodeKind.AMBIENT else self.value


@documented
@dataclass(eq=False, repr=False)
class Morph:
    """Morph shapes of the mesh of a node; the ``morph`` channel of a clip has their weights."""

    names: list[str]
    """name of each shape"""
    positions: Sequence[Floats]
    """(V, 3) vertex positions of each shape, in the order and the space of the mesh"""

    if TYPE_CHECKING:

        def __init__(self, names: Sequence[str], positions: Sequence[ArrayLike] | ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        if type(self.positions) is not list or any(type(shape) is not np.ndarray for shape in self.positions):
            self.positions = [np.asarray(shape, np.float64) for shape in self.positions]

    def __repr__(self) -> str:
        return f"<Morph of {counted(len(self.names), 'shape')}>"


@documented
@dataclass(eq=False, repr=False, slots=True)
class Node(LazyFields):
    """A node of the hierarchy. At rest its matrix relative to the parent is ``T(position) . R . S``."""

    name: str
    """name, made safe to show; loaded scenes have unique names"""
    kind: NodeKind = NodeKind.OBJECT
    """what it is: an object with a mesh, a dummy, a bone, a camera …"""
    parent: int | None = None
    """index of the parent node; None for a root"""
    position: Floats = lazy(lambda: np.zeros(3))
    """(3,) position relative to the parent, at rest; a ``position`` track of the node overrides it, so use `Scene.move`
    (and `Scene.turn`, `Scene.resize` for rotation and scale)"""
    rotation_xyzw: Floats = lazy(lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    """(4,) quaternion x, y, z, w, at rest"""
    scale: Floats = lazy(lambda: np.ones(3))
    """(3,) scale, at rest"""
    scale_axes_xyzw: Floats | None = None
    """orientation Q of the scale axes: the scale is ``Q . diag(scale) . Q^-1``"""
    pivot: Floats = lazy(lambda: np.zeros(3))
    """(3,) subtracted from the vertices of the node; children are not affected"""
    mesh: int | None = None
    """index of its mesh in the scene"""
    camera: int | None = None
    """index of its camera in the scene"""
    light: int | None = None
    """index of its light in the scene"""
    skin: int | None = None
    """index of its skin in the scene"""
    target: int | None = None
    """index of its target node (cameras, spot and directional lights)"""
    morph: Morph | None = None
    """morph shapes of its mesh"""
    hidden: bool = False
    """hidden, unless a ``visible`` channel overrides it; children are not affected"""
    bounding_box: tuple[Floats, Floats] | None = None
    """lower and upper corner, if stored"""
    file_id: int | None = None
    """id of the node in the file"""
    raw_name: bytes | None = None
    """the name as stored in the file"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, kind: NodeKind = NodeKind.OBJECT, parent: int | None = None, position: ArrayLike = ...,
            rotation_xyzw: ArrayLike = ..., scale: ArrayLike = ..., scale_axes_xyzw: ArrayLike | None = None,
            pivot: ArrayLike = ..., mesh: int | None = None, camera: int | None = None, light: int | None = None,
            skin: int | None = None, target: int | None = None, morph: Morph | None = None, hidden: bool = False,
            bounding_box: tuple[ArrayLike, ArrayLike] | None = None, file_id: int | None = None,
            raw_name: bytes | None = None, extras: Extras = ...,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        if type(self.kind) is not NodeKind:
            check_choice(self, "kind", NodeKind)
        transform: tuple[Any, ...] = (self.position, self.rotation_xyzw, self.scale)
        if not (type(transform[0]) is type(transform[1]) is type(transform[2]) is Lazy):
            check_arrays(self, _TRANSFORM_SHAPES)
        pivot: Any = self.pivot
        if type(pivot) is not Lazy or self.scale_axes_xyzw is not None:
            check_arrays(self, _OTHER_SHAPES)
        if not (type(self.parent) in _INDEX and type(self.mesh) in _INDEX and type(self.target) in _INDEX):
            check_links(self, _LINKS)
        if not (type(self.camera) in _INDEX and type(self.light) in _INDEX and type(self.skin) in _INDEX):
            check_links(self, _LINKS)
        LazyFields.__post_init__(self)

    def __repr__(self) -> str:
        return f"<Node {self.name!r} ({self.kind.value})>"


_TRANSFORM_SHAPES: dict[str, Shape] = {"position": (3,), "rotation_xyzw": (4,), "scale": (3,)}


def check_transforms(nodes: Iterable[Node]) -> None:
    """Raise ValueError for the first position, rotation or scale that is not three or four numbers."""
    for node in nodes:
        for name, (count,) in _TRANSFORM_SHAPES.items():
            if getattr(node, name) is None:
                raise invalid_field(node, name, f"{count} numbers", "None")
        check_arrays(node, _TRANSFORM_SHAPES)


_OTHER_SHAPES: dict[str, Shape] = {"scale_axes_xyzw": (4,), "pivot": (3,)}
_INDEX = (int, type(None))
_LINKS = {
    "parent": "a node (scene.find returns it)",
    "mesh": "a mesh",
    "camera": "a camera",
    "light": "a light",
    "skin": "a skin",
    "target": "a node (scene.find returns it)",
}
