"""Nodes: the tree, and what hangs in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.scene._arrays import Extras, Floats


class NodeKind(Enum):
    OBJECT = "object"
    DUMMY = "dummy"
    BONE = "bone"
    CAMERA = "camera"
    LIGHT = "light"
    TARGET = "target"
    AMBIENT = "ambient"


@dataclass(eq=False)
class Morph:
    """Shapes that a node's mesh takes: the clip's ``morph`` channel holds the weights of these."""

    names: list[str]
    """name of each shape"""
    positions: Sequence[Floats]
    """(V, 3) for each shape, with as many vertices as the node's mesh and in the same space"""

    def __repr__(self) -> str:
        return f"<Morph of {len(self.names)} shapes>"


@dataclass(eq=False, slots=True)
class Node(LazyFields):
    """A place in the tree. What is not animated is at rest: ``T(position) . R . S`` under the parent."""

    name: str
    """shown name, unique in the scene"""
    kind: NodeKind = NodeKind.OBJECT
    parent: int | None = None
    """number into the scene's nodes"""
    position: Floats = lazy(lambda: np.zeros(3))
    rotation_xyzw: Floats = lazy(lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    scale: Floats = lazy(lambda: np.ones(3))
    scale_axes_xyzw: Floats | None = None
    """orientation Q of the scale axes: the scale is ``Q . diag(scale) . Q^-1``"""
    pivot: Floats = lazy(lambda: np.zeros(3))
    """taken off the node's own geometry; children do not see it"""
    mesh: int | None = None
    camera: int | None = None
    light: int | None = None
    skin: int | None = None
    target: int | None = None
    """the node it looks at (cameras, spot lights)"""
    morph: Morph | None = None
    hidden: bool = False
    """not shown, unless a ``visible`` channel says otherwise; children are not affected"""
    bounding_box: tuple[Floats, Floats] | None = None
    file_id: int | None = None
    """the number the file knows it by"""
    raw_name: bytes | None = None
    """the name as it stands in the file"""
    extras: Extras = lazy(dict)

    def __repr__(self) -> str:
        return f"<Node {self.name!r} ({self.kind.value})>"
