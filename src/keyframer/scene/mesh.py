"""Triangle meshes with the data of their corners, faces and object; skins, which bind their vertices to nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from keyframer.curves.lazy_fields import LazyFields, lazy
from keyframer.fields import documented
from keyframer.scene._arrays import Extras, Floats, Ints, Shape, check_arrays, out_of_range, refuse, wrong_shape
from keyframer.text import counted


@documented
@dataclass(eq=False, repr=False, slots=True)
class Mesh(LazyFields):
    """A triangle mesh: V vertices, F faces, U texture vertices, C colours, N normals."""

    name: str
    """name, made safe to show"""
    positions: Floats
    """(V, 3) vertex positions in the space of the node, before the pivot is subtracted"""
    corners: Ints
    """(F, 3) indices of vertices, counter-clockwise seen from outside"""
    uv: Floats | None = None
    """(U, 2) texture coordinates"""
    uv_corners: Ints | None = None
    """(F, 3) indices into ``uv``; None: the same as ``corners``"""
    colors: Floats | None = None
    """(C, 3) red, green, blue, 0 to 1"""
    color_corners: Ints | None = None
    """(F, 3) indices into ``colors``; None: the same as ``corners``"""
    color_alpha: Floats | None = None
    """(C,) opacity of each of the ``colors``, 0 to 1; None: opaque"""
    uv2: Floats | None = None
    """(U2, 2) a second set of texture coordinates"""
    uv2_corners: Ints | None = None
    """(F, 3) indices into ``uv2``; None: the same as ``corners``"""
    normals: Floats | None = None
    """(N, 3) unit normals that the file states, in the space of ``positions``; None: they follow from ``smoothing``.
    They are used as they are: after moving vertices, set None"""
    normal_corners: Ints | None = None
    """(F, 3) indices into ``normals``; None: the same as ``corners``"""
    smoothing: Ints | None = None
    """(F,) bit masks of smoothing groups; 0 is flat; None: the file has none"""
    edges: Ints | None = None
    """(F,) visible edges: bit 0: corners 0-1, bit 1: 1-2, bit 2: 2-0"""
    face_materials: Ints | None = None
    """(F,) indices into the materials of the scene, -1 for none"""
    axes: Floats | None = None
    """(4, 4) the coordinate system of the object as stored, in scene space"""
    bounding_sphere: tuple[Floats, float] | None = None
    """centre and radius, if stored"""
    casts_shadows: bool = True
    """whether it casts shadows"""
    receives_shadows: bool = True
    """whether it receives shadows"""
    dynamic: bool = False
    """the file declares that a program will change the mesh"""
    extras: Extras = lazy(dict)
    """further data of the file, under the id of its format"""
    raw_name: bytes | None = None
    """the name as stored in the file"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, positions: ArrayLike, corners: ArrayLike, uv: ArrayLike | None = None,
            uv_corners: ArrayLike | None = None, colors: ArrayLike | None = None,
            color_corners: ArrayLike | None = None, color_alpha: ArrayLike | None = None,
            uv2: ArrayLike | None = None, uv2_corners: ArrayLike | None = None, normals: ArrayLike | None = None,
            normal_corners: ArrayLike | None = None, smoothing: ArrayLike | None = None, edges: ArrayLike | None = None,
            face_materials: ArrayLike | None = None, axes: ArrayLike | None = None,
            bounding_sphere: tuple[ArrayLike, float] | None = None, casts_shadows: bool = True,
            receives_shadows: bool = True, dynamic: bool = False, extras: Extras = ..., raw_name: bytes | None = None,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        check_arrays(self, _FLOAT_SHAPES)
        check_arrays(self, _INTEGER_SHAPES, integers=True)
        if self.bounding_sphere is not None:
            centre, radius = self.bounding_sphere
            self.bounding_sphere = np.asarray(centre, np.float64), radius
        LazyFields.__post_init__(self)
        refuse(self, mesh_faults(self, complete=False))  # uv_corners may still be assigned

    def __repr__(self) -> str:
        return f"<Mesh {self.name!r}: {counted(len(self.positions), 'vertex')}, {counted(len(self.corners), 'face')}>"


CORNER_TABLES = {"uv": "uv_corners", "uv2": "uv2_corners", "colors": "color_corners", "normals": "normal_corners"}
"""the tables of values of corners, and the fields with the indices into them"""
_WIDTHS = {"uv": 2, "uv2": 2, "colors": 3, "normals": 3}
_FLOAT_SHAPES: dict[str, Shape] = {
    "positions": (None, 3),
    "color_alpha": (None,),
    "axes": (4, 4),
    **{name: (None, width) for name, width in _WIDTHS.items()},
}
_INTEGER_SHAPES: dict[str, Shape] = {
    "corners": (None, 3),
    **dict.fromkeys(CORNER_TABLES.values(), (None, 3)),
    "smoothing": (None,),
    "edges": (None,),
    "face_materials": (None,),
}


@documented
@dataclass(eq=False, repr=False)
class Skin:
    """Which joints move which vertices: a vertex becomes the sum of ``weight . joint_world . inverse_bind . position``.

    Each influence belongs to one vertex; a rigid skin has one influence of weight 1 for each vertex. Weights are kept
    as authored and normalised only for evaluation.
    """

    name: str
    """name, made safe to show"""
    joints: list[int]
    """indices of nodes in the scene"""
    inverse_bind: Floats
    """(J, 4, 4) from the space of the mesh to the space of each joint"""
    vertex_indices: Ints
    """(I,) the vertex of each influence"""
    joint_indices: Ints
    """(I,) the joint of each influence: indices into ``joints``"""
    weights: Floats
    """(I,) weight of each influence"""
    positions: Floats | None = None
    """(I, 3) a position for each influence in the space of its joint, as MD5 stores them (``inverse_bind`` is then only
    for formats that need one); None: the positions of the mesh are used"""
    rigid: bool = False
    """whether each vertex follows only one joint"""
    extras: Extras = field(default_factory=dict)
    """further data of the file, under the id of its format"""

    if TYPE_CHECKING:

        def __init__(
            self, name: str, joints: Sequence[int], inverse_bind: ArrayLike, vertex_indices: ArrayLike,
            joint_indices: ArrayLike, weights: ArrayLike, positions: ArrayLike | None = None, rigid: bool = False,
            extras: Extras = ...,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        self.joints = list(self.joints)
        check_arrays(self, {"inverse_bind": (None, 4, 4), "weights": (None,), "positions": (None, 3)})
        check_arrays(self, {"vertex_indices": (None,), "joint_indices": (None,)}, integers=True)
        refuse(self, skin_faults(self))

    def __repr__(self) -> str:
        joints, influences = counted(len(self.joints), "joint"), counted(len(self.vertex_indices), "influence")
        return f"<Skin {self.name!r}: {joints}, {influences}>"


def mesh_faults(mesh: Mesh, *, complete: bool = True) -> Iterator[str]:
    """Yield what is wrong with the shapes and indices of a mesh. Unless it is ``complete``, the indices into
    values of corners may be missing."""
    faces = np.shape(mesh.corners)[0] if np.ndim(mesh.corners) else 0
    yield from wrong_shape("positions", mesh.positions, (None, 3))
    yield from wrong_shape("corners", mesh.corners, (faces, 3))
    yield from out_of_range("corners", mesh.corners, len(mesh.positions), "vertices")
    for name, corners_name in CORNER_TABLES.items():
        values = getattr(mesh, name)
        if values is not None:
            yield from wrong_shape(name, values, (None, _WIDTHS[name]))
            corners = getattr(mesh, corners_name)
            if corners is None and not complete:
                continue
            indices = mesh.corners if corners is None else corners
            source = f"corners (used as {corners_name})" if corners is None else corners_name
            yield from wrong_shape(source, indices, (faces, 3))
            yield from out_of_range(source, indices, len(values), f"entries of {name}")
    if mesh.color_alpha is not None and mesh.colors is not None:
        yield from wrong_shape("color_alpha", mesh.color_alpha, (len(mesh.colors),))
    for name in ("smoothing", "edges", "face_materials"):
        column = getattr(mesh, name)
        if column is not None:
            yield from wrong_shape(name, column, (faces,))


def skin_faults(skin: Skin) -> Iterator[str]:
    """Yield what is wrong with the shapes and indices of a skin."""
    joints, influences = len(skin.joints), len(skin.vertex_indices)
    yield from wrong_shape("inverse_bind", skin.inverse_bind, (joints, 4, 4))
    yield from wrong_shape("joint indices", skin.joint_indices, (influences,))
    yield from wrong_shape("weights", skin.weights, (influences,))
    yield from out_of_range("joint indices", skin.joint_indices, joints, "joints")
    if skin.positions is not None:
        yield from wrong_shape("positions", skin.positions, (influences, 3))
