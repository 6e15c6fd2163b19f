"""Read a scene from a Blitz3D document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.arrays import Array, Floats, Indices
from keyframer.catalogue import DATA_RATE_INVALID, LINK_INDEX_OUT_OF_RANGE
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.b3d import document as d
from keyframer.formats.b3d.bridge.surfaces import Surfaces
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames, check_weights, finite_rows, valid_faces
from keyframer.formats.kit.scene_writing import rest_world
from keyframer.maths import affine, quat
from keyframer.scene import Channel, Clip, Handedness, Mesh, Node, NodeKind, Scene, Skin, Space
from keyframer.text import decode_name

SPACE = Space("y", Handedness.LEFT, v_up=False)
RATE = 60.0
"""frames per second if the file states 0 or nothing"""
TURNED = np.array([-1.0, -1.0, -1.0, 1.0])
"""factors of a quaternion x y z w: those of Blitz3D turn the other way round"""
KINDS = {"position": d.POSITION, "scale": d.SCALE, "rotation": d.ROTATION}
"""the bit of each kind of keys, which is also the name of its column"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading."""

    encoding: str = "cp1252"


@dataclass(eq=False, slots=True)
class Links:
    """The records of the parts of a scene."""

    nodes: list[d.Node]
    brushes: list[d.Brush]


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a document, in the left-handed space of the file."""
    return read_scene(document, options)[0]


def read_scene(document: Document, options: Options) -> tuple[Scene, Links]:
    """Return the scene of a document, and the records of its parts."""
    scene = Scene(source_format="b3d", space=SPACE)
    reader = _Reader(document, options, scene)
    reader.read()
    return scene, Links(reader.records, reader.surfaces.brushes)


def nodes_of(document: Document) -> Iterator[tuple[d.Node, int | None]]:
    """Yield every node with the number of its parent, parents before children, in file order."""
    main = document.first(d.Main)
    waiting: list[tuple[d.Node, int | None]] = [
        (child, None) for child in reversed([] if main is None else main.children) if isinstance(child, d.Node)
    ]
    number = 0
    while waiting:
        record, parent = waiting.pop()
        yield record, parent
        below = [child for child in reversed(record.children) if isinstance(child, d.Node)]
        waiting += [(child, number) for child in below]
        number += 1


def child_of(record: d.Node | d.Mesh, kind: type[Any]) -> Any:
    """Return the first sub-chunk of a kind, or None."""
    return next((child for child in record.children if isinstance(child, kind)), None)


class _Reader:
    """Reads the scene of one document."""

    def __init__(self, document: Document, options: Options, scene: Scene) -> None:
        self.document = document
        self.encoding = options.encoding
        self.scene = scene
        self.reporter = Reporter(document, scene.issues)
        self.records: list[d.Node] = []
        """the record of each node"""
        self.surfaces = Surfaces(self.reporter, document, options.encoding)

    def read(self) -> None:
        scene = self.scene
        scene.materials = self.surfaces.materials()
        self._nodes()
        self._skins()
        self._clip()
        main = self.document.first(d.Main)
        if main is not None:
            scene.extras["b3d"] = {"version": main.version}

    def _nodes(self) -> None:
        names = UniqueNames()
        for record, parent in nodes_of(self.document):
            node = Node(names.claim(decode_name(record.name, self.encoding)), NodeKind.DUMMY, parent)
            node.raw_name = record.name
            mesh, bone = child_of(record, d.Mesh), child_of(record, d.Bone)
            place = np.array([record.position, record.scale], np.float64)
            node.position, node.scale = finite_rows(self.reporter, record, "position", place)
            node.rotation_xyzw = rotations(np.array([record.rotation]))[0]
            self.reporter.mark(node, "b3d", record)
            if mesh is not None:
                node.kind, node.mesh = NodeKind.OBJECT, len(self.scene.meshes)
                self.scene.meshes.append(self._mesh(mesh, node.name))
            elif bone is not None:
                node.kind = NodeKind.BONE
            self.scene.nodes.append(node)
            self.records.append(record)

    def _mesh(self, record: d.Mesh, name: str) -> Mesh:
        vertices = child_of(record, d.Vertices)
        mesh = Mesh(name, np.empty((0, 3)), np.empty((0, 3), np.int32))
        self.reporter.mark(mesh, "b3d", record, {"brush": record.brush})
        if vertices is None:
            return mesh
        table = vertices.vertices

        def column(column_name: str) -> Floats:
            return finite_rows(self.reporter, vertices, f"vertices/{column_name}", table[column_name])

        mesh.positions = column("position")
        corners: list[Any] = []
        brushes: list[Any] = []
        for group in record.children:
            if isinstance(group, d.Triangles):
                number = len(mesh.positions)
                valid = valid_faces(self.reporter, group, "corners", group.corners, number, "vertex")
                corners.append(np.asarray(group.corners)[valid][:, ::-1])  # clockwise in the file
                brush = self.surfaces.checked(group, group.brush if group.brush != -1 else record.brush)
                brushes.append(np.full(len(corners[-1]), brush, np.int32))
        if corners:
            mesh.corners = np.concatenate(corners)
            mesh.face_materials = np.concatenate(brushes)
        if vertices.flags & d.NORMALS:
            mesh.normals = column("normal")
        fx = self.surfaces.fx(np.unique(np.concatenate(brushes)) if brushes else np.zeros(0, np.int32))
        if vertices.flags & d.COLOURS and fx & d.USE_COLOURS:
            colors = column("color").clip(0.0, 1.0)
            mesh.colors = colors[:, :3]
            if fx & d.USE_ALPHA:
                mesh.color_alpha = colors[:, 3]
        if vertices.components >= 2:
            coordinates = column("coordinates").reshape(len(table), max(vertices.sets, 0), vertices.components)
            if vertices.sets >= 1:
                mesh.uv = coordinates[:, 0, :2]
            if vertices.sets >= 2:
                mesh.uv2 = coordinates[:, 1, :2]
        return mesh

    def _skins(self) -> None:
        """Add a skin for each mesh that has bones below it: their weights count vertices of the nearest mesh above."""
        scene = self.scene
        owners: list[int | None] = []
        bones: dict[int, list[int]] = {}
        for number, node in enumerate(scene.nodes):
            above = None if node.parent is None else owners[node.parent]
            owners.append(number if node.mesh is not None else above)
            if above is not None and child_of(self.records[number], d.Bone) is not None:
                bones.setdefault(above, []).append(number)
        if not bones:
            return
        world = rest_world(scene)
        for owner, joints in bones.items():
            skin = self._skin(owner, joints, world)
            if skin is not None:
                scene.nodes[owner].skin = len(scene.skins)
                scene.skins.append(skin)

    def _skin(self, owner: int, joints: list[int], world: Floats) -> Skin | None:
        node = self.scene.nodes[owner]
        assert node.mesh is not None
        count = len(self.scene.meshes[node.mesh].positions)
        vertices: list[Indices] = []
        weights: list[Floats] = []
        for joint in joints:
            record = child_of(self.records[joint], d.Bone)
            numbers = np.asarray(record.weights["vertex"], np.int64)
            valid = (numbers >= 0) & (numbers < count)

            def args_of(row: int, numbers: Indices = numbers) -> dict[str, object]:
                return {"what": "weight", "item": row, "kind": "vertex", "index": int(numbers[row]), "count": count}

            wrong = np.flatnonzero(~valid)
            self.reporter.report_each(LINK_INDEX_OUT_OF_RANGE, record, "weights", wrong, args_of)
            vertices.append(numbers[valid])
            weights.append(finite_rows(self.reporter, record, "weights/weight", record.weights["weight"])[valid])
        of_joints = np.repeat(np.arange(len(joints)), [len(numbers) for numbers in vertices])
        of_vertices, values = np.concatenate(vertices), np.concatenate(weights)
        if not len(of_vertices):
            return None
        check_weights(self.reporter, self.records[owner], "", of_vertices, values, count)
        # Vertices without weights follow the node of the mesh.
        unbound = np.flatnonzero(np.bincount(of_vertices, values, count) == 0)
        bind = affine.multiply(affine.inverse(world[np.array(joints)]), world[owner])
        if len(unbound):
            of_vertices = np.append(of_vertices, unbound)
            of_joints = np.append(of_joints, np.full(len(unbound), len(joints)))
            values = np.append(values, np.ones(len(unbound)))
            joints, bind = [*joints, owner], np.concatenate([bind, np.eye(4)[None]])
        skin = Skin(node.name, joints, bind, of_vertices, of_joints, values)
        skin.extras["b3d"] = self.reporter.location_of(self.records[owner])
        return skin

    def _clip(self) -> None:
        """Add the clip: all keys, at the rate of the first animation, with the named sequences."""
        channels = [
            Channel(number, track)
            for number, record in enumerate(self.records)
            for track in tracks_of(self.reporter, record)
        ]
        animation = self.document.first(d.Animation)
        if not channels and animation is None:
            return
        clip = Clip(channels=channels, rate=RATE)
        if animation is not None:
            clip.extras["b3d"] = {"frames": animation.frames, "anim_rate": float(animation.rate)}
            if not math.isfinite(animation.rate) or animation.rate < 0:
                self.reporter.report(DATA_RATE_INVALID, animation, "rate", rate=animation.rate)
            elif animation.rate:
                clip.rate = float(animation.rate)
            clip.end = float(max(animation.frames, 0))
        if not clip.end:
            clip.end = max((float(channel.track.times[-1]) for channel in channels), default=0.0)
        sequences = [
            {"name": decode_name(record.name, self.encoding), "first": record.first, "last": record.last}
            for record in self.document.find(d.Sequence)
        ]
        if sequences:
            clip.extras.setdefault("b3d", {})["sequences"] = sequences
        self.scene.clips.append(clip)


def rotations(wxyz: Array) -> Floats:
    """Return unit quaternions x y z w (n, 4) of those of the file; no rotation for zeros and non-finite numbers."""
    stored = np.asarray(wxyz, np.float64)[:, [1, 2, 3, 0]] * TURNED
    usable = np.isfinite(stored).all(axis=1) & stored.any(axis=1)
    return quat.normalise(np.where(usable[:, None], stored, (0.0, 0.0, 0.0, 1.0)))


def rows_of_kind(record: d.Node, kind: str) -> tuple[list[d.Keys], Array, Array]:
    """Return the key chunks of a node that have a kind, the rows (of all of them, one after the other) in the order of
    their frames, the last of each frame, and these frames."""
    chunks = [child for child in record.children if isinstance(child, d.Keys) and child.flags & KINDS[kind]]
    frames = np.concatenate([np.asarray(chunk.keys["frame"], np.int64) for chunk in chunks] or [np.zeros(0, np.int64)])
    order = np.argsort(frames, kind="stable")
    last = np.append(np.diff(frames[order]) > 0, True)[: len(order)]
    return chunks, order[last], frames[order[last]]


def tracks_of(reporter: Reporter, record: d.Node) -> Iterator[Track]:
    """Yield the tracks of a node. Keys are sorted; of several at one frame the last counts, as in the engine."""
    for kind in KINDS:
        chunks, order, frames = rows_of_kind(record, kind)
        if not len(order):
            continue
        values = np.concatenate([chunk.keys[kind] for chunk in chunks])[order]
        if kind == "rotation":
            form, values = RotationForm.QUATERNION_ABSOLUTE, rotations(values)
        else:
            form, values = RotationForm.NONE, finite_rows(reporter, chunks[0], f"keys/{kind}", values)
        track = Track(kind, frames.astype(np.float64), values, Interpolation.LINEAR, form=form)
        reporter.mark(track, "b3d", chunks[0])
        yield track
