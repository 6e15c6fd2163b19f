"""The faces of a mesh changed in place: corners, edges, materials, smoothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.scene import Mesh
from keyframer.wire.record import Record

Ints = npt.NDArray[np.int64]

_EDGES = 7


def patch_faces(body: r.Mesh, mesh: Mesh, names: set[str], materials: list[bytes]) -> None:
    """Change what ``names`` say. ``materials`` are the names of the scene's, as stored.

    Faces that point at no vertex are not in the scene: where corners change, they are gone from the file, too.
    """
    faces = child(body, r.FaceArray)
    if faces is None:
        faces = r.FaceArray(np.empty((0, 4), "<u2"))
        place = next((i for i, each in enumerate(body.children) if isinstance(each, r.PointArray)), -1) + 1
        body.children.insert(place, faces)
    count = len(faces.faces)
    if "corners" in names or count != len(mesh.corners):
        _corners(faces, mesh)
    elif "edges" in names:
        faces.faces = _table(np.asarray(faces.faces), mesh)
    another = len(faces.faces) != count
    if another or "face_materials" in names:
        _materials(body, faces, mesh, materials)
    if another or "smoothing" in names:
        _smoothing(body, faces, mesh)


def _table(rows: npt.NDArray[np.uint16], mesh: Mesh) -> npt.NDArray[np.uint16]:
    """Rows with the mesh's edges (all visible where it does not say); other bits stay."""
    edges = np.full(len(rows), _EDGES, np.uint16) if mesh.edges is None else np.asarray(mesh.edges, np.uint16)
    made = np.array(rows)
    stored = (edges >> 2 & 1) | (edges >> 1 & 1) << 1 | (edges & 1) << 2  # CA, BC, AB
    made[:, 3] = made[:, 3] & ~np.uint16(_EDGES) | stored
    return made.astype("<u2")


def _corners(faces: r.FaceArray, mesh: Mesh) -> None:
    """Faces that stay keep the bits that only the file knows."""
    old = np.asarray(faces.faces)
    made = np.zeros((len(mesh.corners), 4), "<u2")
    made[:, :3] = np.asarray(mesh.corners).reshape(-1, 3)
    common = min(len(old), len(made))
    same = (made[:common, :3] == old[:common, :3]).all(axis=1)
    made[:common, 3][same] = old[:common, 3][same]
    faces.faces = _table(made, mesh)


def _materials(body: r.Mesh, faces: r.FaceArray, mesh: Mesh, names: list[bytes]) -> None:
    """Groups of materials that changed are rewritten where they stand; those of materials that do not exist stay."""
    count = len(faces.faces)
    owners = np.full(count, -1) if mesh.face_materials is None else np.asarray(mesh.face_materials, np.int64)
    wanted = {names[place].lower(): place for place in reversed(np.unique(owners[owners >= 0]).tolist())}
    known = {name.lower() for name in names}
    for home in (faces, body):
        kept: list[Record] = []
        for each in home.children:
            if isinstance(each, r.MaterialGroup):
                word = each.material.lower()
                place = wanted.pop(word, None)
                if place is None and word in known:
                    continue
                _set_group(each, count, None if place is None else np.flatnonzero(owners == place))
            kept.append(each)
        home.children = kept
    groups = [
        r.MaterialGroup(names[place], np.flatnonzero(owners == place).astype("<u2"))
        for place in sorted(wanted.values())
    ]
    last = max((i for i, each in enumerate(faces.children) if isinstance(each, r.MaterialGroup)), default=-1)
    faces.children[last + 1 : last + 1] = groups


def _set_group(group: r.MaterialGroup, count: int, members: Ints | None) -> None:
    """The faces of a group; of one whose material is missing, those that there still are."""
    stored = np.asarray(group.faces, np.int64)
    made = stored[stored < count] if members is None else members
    if not np.array_equal(np.sort(made), np.sort(stored)):
        group.faces = made.astype("<u2")


def _smoothing(body: r.Mesh, faces: r.FaceArray, mesh: Mesh) -> None:
    found = child(faces, r.SmoothGroups) or child(body, r.SmoothGroups)
    if mesh.smoothing is None:
        for home in (body, faces):
            home.children = [each for each in home.children if each is not found]
        return
    masks = np.asarray(mesh.smoothing).astype("<u4")
    if found is None:
        faces.children.append(r.SmoothGroups(masks))
    else:
        found.groups = masks
