"""Builds the scene of a show or fixture: nodes placed by matrices, models loaded once and placed many times."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar
from zipfile import ZipInfo

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import CATALOGUE, IO_UNRECOGNISED, STAGE_MODEL_PART_IGNORED
from keyframer.errors import FormatError
from keyframer.exchange.gltf.read.json_text import Sources
from keyframer.exchange.memory_files import embed_images, mime_type, with_embedded_parts
from keyframer.exchange.opening import OpenedFile
from keyframer.exchange.stage.archives import Archive
from keyframer.formats import properties_of
from keyframer.formats.bridge import UniqueNames
from keyframer.issues import IssueLog, Severity
from keyframer.limits import Limits, open_or_new_budget
from keyframer.maths import affine
from keyframer.scene import Handedness, Material, Mesh, Node, NodeKind, Scene, Space

Result = TypeVar("Result")

IDENTITY: Floats = np.eye(4)
IDENTITY.flags.writeable = False
_Y_UP_TO_Z_UP: Floats = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
_NODE_COST = 100
"""cost of a node in the budget for copies: nested symbols must not become millions of nodes"""
_NODES_PER_OBJECT = 20


def _node_cost(name: str) -> int:
    """Return the cost of a node with this name, which is stored for each node and may be long."""
    return _NODE_COST + len(name) // 8


@dataclass(eq=False)
class Model:
    """The nodes of a model file. Its meshes, materials, cameras and lights are already in the scene."""

    name: str
    nodes: list[Node]
    """parents first; ``parent`` and ``target`` are indices in this list, other indices are those of the scene"""
    space: Space
    box: tuple[Floats, Floats] | None
    """lowest and highest corner in the axes of the archive (z up) and the unit of the model; None without vertices"""
    vertex_count: int
    """number of vertices; those of a mesh count for each of its nodes"""
    metres_per_unit: float | None
    """length of its unit in metres, if its format defines it; None: the rule of the archive decides"""


class Assembly:
    """The scene under construction. ``units_per_metre`` is 1000 in shows and 1 in fixtures."""

    def __init__(self, scene: Scene, limits: Limits, *, salvage: bool) -> None:
        self.scene = scene
        self.limits = limits
        self.salvage = salvage
        self.names = UniqueNames()
        assert scene.space.metres_per_unit is not None
        self.units_per_metre = 1.0 / scene.space.metres_per_unit
        self._budget = open_or_new_budget(limits, 0)
        self._placements: list[tuple[Node, Floats]] = []
        self._models: dict[str, Model | None] = {}
        self._materials: dict[tuple[object, ...], int] = {}

    def expect_objects(self, count: int) -> None:
        """Enlarge the budget for copies by the usual number of nodes of ``count`` objects of a file."""
        self._budget.grant("copies", _NODE_COST * _NODES_PER_OBJECT * count)

    @property
    def issues(self) -> IssueLog:
        return self.scene.issues

    def attempt(self, make: Callable[[], Result]) -> Result | None:
        """Return the result of ``make``; with salvage, None and an issue if it fails, unless a limit is exceeded."""
        try:
            return make()
        except FormatError as error:
            if not self.salvage or error.code.startswith("LIMIT_"):
                raise
            details = error.details or {"reason": error.message}
            self.issues.add(CATALOGUE[error.code], error.path, error.offset, severity=Severity.ERROR, **details)
            return None

    def add_node(
        self, name: str, parent: int | None, matrix: Floats = IDENTITY, kind: NodeKind = NodeKind.DUMMY
    ) -> int:
        """Add a node with a matrix under its parent; returns its index."""
        place = self.scene.nodes[parent].name if parent is not None else "/"
        self._budget.spend("copies", _node_cost(name), place, "repeated use of nodes")
        node = Node(self.names.claim(name), kind, parent)
        if matrix is not IDENTITY:
            self._placements.append((node, matrix))
        self.scene.nodes.append(node)
        return len(self.scene.nodes) - 1

    def finish(self) -> None:
        """Decompose the matrices of all nodes at once, because shows have thousands; sheared ones get scale axes."""
        if not self._placements:
            return
        matrices = np.stack([matrix for _, matrix in self._placements])
        positions, rotations, scales, axes, sheared = affine.decompose_with_axes(matrices)
        for number, (node, _) in enumerate(self._placements):
            node.position, node.rotation_xyzw, node.scale = positions[number], rotations[number], scales[number]
            if sheared[number]:
                node.scale_axes_xyzw = axes[number]

    def model(self, archive: Archive, name: str) -> Model | None:
        """Return the model in a member of an archive, loaded once; None if it is missing, or left out by salvage."""
        member = archive.find(name)
        if member is None:
            return None
        key = f"{archive.path}{member.filename}"
        if key not in self._models:
            self._models[key] = self.attempt(lambda: self._load(archive, member, key))
        return self._models[key]

    def add_model(self, model: Model, parent: int, matrix: Floats) -> None:
        """Add a model under a node; ``matrix`` maps the axes and unit of the model to those of the node.

        A model that is only a mesh becomes the mesh of the node if nothing has to be mapped.
        """
        is_identity = matrix is IDENTITY
        if is_identity and len(model.nodes) == 1 and _is_only_a_mesh(model.nodes[0]):
            parent_node = self.scene.nodes[parent]
            if parent_node.mesh is None:
                parent_node.mesh, parent_node.kind = model.nodes[0].mesh, NodeKind.OBJECT
                return
        root = parent if is_identity else self.add_node(f"{model.name} model", parent, matrix)
        first = len(self.scene.nodes)
        self._budget.spend(
            "copies", sum(_node_cost(node.name) for node in model.nodes), model.name, "repeated use of nodes"
        )
        for node in model.nodes:
            placed = copy.copy(node)
            placed.name = self.names.claim(node.name)
            placed.parent = root if node.parent is None else first + node.parent
            placed.target = None if node.target is None else first + node.target
            self.scene.nodes.append(placed)

    def _load(self, archive: Archive, member: ZipInfo, key: str) -> Model:
        loaded = load_model(archive, member, self.limits, salvage=self.salvage)
        if loaded.space.handedness is not Handedness.RIGHT:  # neither 3DS nor glTF, which the specifications allow
            raise IO_UNRECOGNISED.failure(0, key, reason="models in shows and fixtures must be right-handed")
        for issue in loaded.issues:
            self.issues.add(issue.type, f"{key}{issue.path}", issue.offset, severity=issue.severity, **issue.args)
        return self._add_content(loaded, archive, key)

    def _add_content(self, loaded: Scene, archive: Archive, key: str) -> Model:
        """Add meshes, materials, cameras and lights of a loaded model to the scene; return its nodes as a model."""
        scene = self.scene
        stem = os.path.splitext(os.path.basename(key))[0]
        is_animated = any(len(channel.track.times) > 1 for clip in loaded.clips for channel in clip.channels)
        for content, present in (("motion", is_animated), ("skins", bool(loaded.skins))):
            if present:
                self.issues.add(STAGE_MODEL_PART_IGNORED, key, 0, what=content)
        embed_archive_images(loaded, archive)
        materials = [self._material(material) for material in loaded.materials]
        meshes, cameras, lights = len(scene.meshes), len(scene.cameras), len(scene.lights)
        is_flat = not properties_of(loaded.source_format).smooth_without_groups
        for mesh in loaded.meshes:
            if mesh.smoothing is None and is_flat:
                mesh.smoothing = np.zeros(len(mesh.corners), np.int64)
            _flip_v(mesh, scene.space.v_up, loaded.space.v_up)
            if mesh.face_materials is not None and materials:
                numbers = np.array([*materials, -1])
                mesh.face_materials = numbers[np.clip(mesh.face_materials, -1, len(materials) - 1)]
            scene.meshes.append(mesh)
        scene.cameras += loaded.cameras
        scene.lights += loaded.lights
        order = _parents_first(loaded.nodes)
        new_index = {number: position for position, number in enumerate(order)}
        nodes: list[Node] = []
        for number in order:
            node = loaded.nodes[number]
            node.parent = None if node.parent is None else new_index[node.parent]
            node.target = None if node.target is None else new_index.get(node.target)
            node.mesh = None if node.mesh is None else meshes + node.mesh
            node.camera = None if node.camera is None else cameras + node.camera
            node.light = None if node.light is None else lights + node.light
            node.skin = None
            nodes.append(node)
        points = _model_vertices(nodes, scene.meshes)
        if loaded.space.up == "y":
            points = points[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
        box = (points.min(axis=0), points.max(axis=0)) if len(points) else None
        vertex_count = sum(len(scene.meshes[node.mesh].positions) for node in nodes if node.mesh is not None)
        metres_per_unit = loaded.sources.metres_per_unit if isinstance(loaded.sources, Sources) else None
        return Model(stem, nodes, loaded.space, box, vertex_count, metres_per_unit)

    def _material(self, material: Material) -> int:
        """Add a material to the scene and return its index; equal materials without maps are added once."""
        new_index = len(self.scene.materials)
        if not material.maps:
            content = tuple(repr(getattr(material, field.name)) for field in fields(material))
            index = self._materials.setdefault(content, new_index)
            if index < new_index:
                return index
        self.scene.materials.append(material)
        return new_index


def embed_archive_images(model: Scene, archive: Archive) -> None:
    """Embed PNG and JPEG images of the archive into the textures of a model."""

    def find_image(name: str) -> tuple[str, bytes] | None:
        base = os.path.basename(name.replace("\\", "/"))
        member = archive.find(base) if base and mime_type(base) is not None else None
        return None if member is None else (base, archive.read(member))

    embed_images(model, find_image)


def load_model(archive: Archive, member: ZipInfo, limits: Limits, *, salvage: bool) -> Scene:
    """Return the scene of a model file of an archive, in any format; the path of an error begins with the member."""
    folder = os.path.dirname(member.filename)

    def find_part(name: str) -> tuple[str, bytes] | None:
        archive_member = archive.find(f"{folder}/{name}" if folder else name)
        return None if archive_member is None else (name, archive.read(archive_member))

    data = with_embedded_parts(archive.read(member), find_part)
    try:
        return OpenedFile(data, limits=limits).scene(salvage=salvage)
    except FormatError as error:
        place = f"{archive.path}{member.filename}{error.path if error.path != '/' else ''}"
        raise FormatError(error.code, error.offset, place, error.message, error.details) from None


def to_archive_axes(space: Space, archive_units_per_model_unit: float) -> Floats:
    """Return the matrix from the axes and unit of a model to z up and the unit of the archive.

    ``archive_units_per_model_unit`` is the length of a unit of the model in units of the archive.
    """
    if space.up == "z" and archive_units_per_model_unit == 1.0:
        return IDENTITY
    matrix = (_Y_UP_TO_Z_UP if space.up == "y" else IDENTITY).copy()
    matrix[:3, :3] *= archive_units_per_model_unit
    return matrix


def _is_only_a_mesh(node: Node) -> bool:
    """Return whether a node only has a mesh, with an identity transform."""
    if node.mesh is None or node.morph is not None or node.hidden or node.kind is not NodeKind.OBJECT:
        return False
    if node.scale_axes_xyzw is not None or np.any(node.position) or np.any(node.pivot):
        return False
    return bool(np.all(node.scale == 1.0)) and abs(node.rotation_xyzw[3]) == 1.0


def _flip_v(mesh: Mesh, scene_v_up: bool, model_v_up: bool) -> None:
    if mesh.uv is not None and scene_v_up != model_v_up:
        mesh.uv = np.column_stack([mesh.uv[:, 0], 1.0 - mesh.uv[:, 1]])


def _parents_first(nodes: list[Node]) -> list[int]:
    """Return node indices such that each comes after its parent."""
    order: list[int] = []
    done: set[int] = set()
    for number in range(len(nodes)):
        chain: list[int] = []
        current: int | None = number
        while current is not None and current not in done:
            chain.append(current)
            done.add(current)
            current = nodes[current].parent
        order += reversed(chain)
    return order


def _model_vertices(nodes: list[Node], meshes: list[Mesh]) -> Floats:
    """Return all vertices of the nodes of a model, in the space of the model."""
    worlds: list[Floats] = []
    parts: list[Floats] = [np.empty((0, 3))]
    for node in nodes:
        local = affine.compose(node.position, node.rotation_xyzw, node.scale, node.scale_axes_xyzw)
        world = local if node.parent is None else affine.multiply(worlds[node.parent], local)
        worlds.append(world)
        if node.mesh is not None:
            points = np.asarray(meshes[node.mesh].positions, np.float64) - node.pivot
            parts.append(affine.transform_points(world, points))
    return np.concatenate(parts)
