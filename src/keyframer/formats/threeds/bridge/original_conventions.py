"""Conventions of the original document that the writer follows: names, numbers, pivots, vertex space."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track
from keyframer.formats._matching import Comparison, tracks_by_node_and_kind
from keyframer.formats.bridge import Original
from keyframer.formats.kit.scene_writing import CannotMerge
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.scene import Links
from keyframer.formats.threeds.bridge.vertex_space import NEAR, SAME
from keyframer.maths import affine
from keyframer.posing.rest_pose import world_at
from keyframer.scene import Clip, Node, NodeKind, Scene

_HIDING_REVISION = 4
"""from this keyframer revision on, the flags of a node say whether it is hidden"""
_REST_VALUES = {"position": np.zeros(3), "rotation_xyzw": np.array([0.0, 0, 0, 1]), "scale": np.ones(3)}
"""rest values of a node without a position, rotation or scale track"""


def object_of(links: Links, node: Node) -> r.NamedObject | None:
    """Return the editor object that a node shows; None without one."""
    if node.mesh is not None:
        return links.meshes[node.mesh]
    if node.camera is not None:
        return links.cameras[node.camera]
    return None if node.light is None else links.lights[node.light]


@dataclass(frozen=True, eq=False)
class OriginalConventions:
    """Conventions of the original document. Node numbers are those of the scene that is written."""

    exists: bool = False
    """whether there is an original document"""
    nodes: Mapping[int, int] = field(default_factory=dict)
    """for nodes that exist in the document: their numbers in ``scene``"""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """keyframer numbers of these nodes, and of nodes that replace another"""
    first_new_number: int = 0
    """keyframer number of the first new node"""
    editor_only: frozenset[int] = frozenset()
    """nodes that are objects of the editor without a keyframer node"""
    names: Mapping[int, bytes] = field(default_factory=dict)
    """stored names of nodes that were not renamed"""
    material_names: Mapping[int, bytes] = field(default_factory=dict)
    taken_names: frozenset[bytes] = frozenset()
    """names that new nodes cannot have"""
    links: Links = field(default_factory=Links)
    scene: Scene = field(default_factory=Scene)
    """the scene of the document"""
    moved: Mapping[int, Floats] = field(default_factory=dict)
    """matrix (4, 4) by which the edit moved a node at rest, if its stored vertices agreed with the keyframer before"""
    new_axes: Mapping[int, Floats] = field(default_factory=dict)
    """axes of the meshes of nodes, if the edit changed them, as scaling does: rules that compare them with the node
    find the same as before"""
    untouched: Collection[int] = ()
    """unchanged nodes, for which the writer makes no chunks"""
    header: r.KeyframerHeader | None = None
    has_keyframer: bool = False

    def chunk(self, number: int) -> r.Node | None:
        return self.links.nodes[self.nodes[number]] if number in self.nodes else None

    def object(self, number: int) -> r.NamedObject | None:
        return object_of(self.links, self.scene.nodes[self.nodes[number]]) if number in self.nodes else None

    def shares_name(self, number: int) -> bool:
        """Return whether another object has the stored name of a node, and a keyframer node of this name shows that."""
        named = next((each for each in self.links.meshes if each.name == self.names.get(number)), None)
        return named is not None and named is not self.object(number)

    def hides_object(self, number: int) -> bool:
        """Return whether the object of a hidden node is hidden too: if it was before, or if nodes cannot be hidden."""
        was_hidden = child(self.object(number), r.ObjectHidden) is not None
        old_revision = self.header is not None and self.header.revision < _HIDING_REVISION
        return number in self.editor_only or old_revision or was_hidden

    @cached_property
    def _tracks(self) -> Mapping[tuple[int, str], Track]:
        return tracks_by_node_and_kind(self.scene.clips[0]) or {} if self.scene.clips else {}

    def is_absolute(self, number: int) -> bool:
        """Return whether the rotation keys of a node are absolute, as Blender writes them, and not increments."""
        track = self._tracks.get((self.nodes.get(number, -1), "rotation"))
        return track is not None and track.form is RotationForm.AXIS_ANGLE_ABSOLUTE

    def stores_rest(self, number: int, node: Node, kind: str) -> bool:
        """Return whether readers get the rest value of a node (position, rotation or scale) without such a track."""
        name = "rotation_xyzw" if kind == "rotation" else kind
        old, stored_rest = self.nodes[number], _REST_VALUES[name]
        if node.kind is not NodeKind.OBJECT and not any(c.track.kind == kind for c in self.scene.channels_of(old)):
            stored_rest = np.asarray(getattr(self.scene.nodes[old], name))
        return bool(np.array_equal(np.asarray(getattr(node, name)), stored_rest))

    def mesh_matrices(self, number: int, *, needs_node: bool) -> tuple[Floats, Floats] | None:
        """Return the matrix (4, 4) from the mesh of a node to its stored vertices, and its stored matrix.

        The result is None if the node is new or had no mesh. An object that gets a new keyframer node (``needs_node``)
        has the matrix of that node.
        """
        if number not in self.nodes:
            return None
        old = self.scene.nodes[self.nodes[number]]
        if old.mesh is None:
            return None
        shift, identity = self.moved.get(number, np.eye(4)), np.eye(4)
        former = identity if needs_node else stored_matrix(self.links.meshes[old.mesh])
        matrix, geometry = affine.multiply(shift, former), _geometry(old)
        if (
            geometry is not None
            and np.array_equal(former, identity)
            and (geometry == "raw" or number not in self.moved)
        ):
            matrix = identity  # which `vertex_space` takes for a statement of its own
        elif number in self.new_axes and not needs_node:
            if geometry != "keyframer":
                matrix = self.new_axes[number]
            elif number not in self.moved:
                matrix = self.new_axes[number]
                shift = affine.multiply(matrix, affine.inverse(former))
        return affine.multiply(shift, affine.inverse(self.links.to_mesh[old.mesh])), matrix


def stored_matrix(chunk: r.NamedObject) -> Floats:
    """Return the matrix in chunk 4160; the identity if it is missing."""
    matrix_chunk = child(child(chunk, r.Mesh), r.MeshMatrix)
    matrix = np.eye(4)
    if matrix_chunk is not None:
        matrix[:3] = np.array([matrix_chunk.x_axis, matrix_chunk.y_axis, matrix_chunk.z_axis, matrix_chunk.origin]).T
    return matrix


def find_conventions(scene: Scene, original: Original, *, edited: bool) -> OriginalConventions:
    """Return the conventions for writing a scene that was loaded from a document, unchanged or ``edited``."""
    document, before, links, matching = original.document, original.scene, original.links, original.matching
    editor_only = frozenset(new for new, old in matching.nodes.items() if links.nodes[old] is None)
    ids = {new: before.nodes[old].file_id for new, old in {**matching.nodes, **matching.replacements}.items()}
    numbers = {new: number for new, number in ids.items() if number is not None}
    file_ids = [node.file_id for node in before.nodes if node.file_id is not None]
    targets = {new: old for new, old in matching.nodes.items() if scene.nodes[new].kind is NodeKind.TARGET}
    unrenamed = {**original.unrenamed(scene), **targets}
    names = {new: _stored_name(links, before, old) for new, old in unrenamed.items()}
    raw_names = {new: before.materials[old].raw_name for new, old in original.unrenamed(scene, "materials").items()}
    material_names = {new: raw_name for new, raw_name in raw_names.items() if raw_name}
    keyframer = document.first(r.Keyframer)
    new_axes = _new_axes(scene, before, matching.nodes) if edited else {}
    moved = _moved(scene, before, links, matching.nodes, original.untouched, new_axes) if edited else {}
    if edited:
        _check_edit(scene, original, moved)
    return OriginalConventions(
        True,
        matching.nodes,
        numbers,
        max(file_ids, default=-1) + 1,
        editor_only,
        names,
        material_names,
        _taken_names(original, links, names),
        links,
        before,
        moved,
        new_axes,
        original.untouched,
        child(keyframer, r.KeyframerHeader),
        keyframer is not None,
    )


def _check_edit(scene: Scene, original: Original, moved: Mapping[int, Floats]) -> None:
    """Raise `CannotMerge` if the chunks of the original cannot store an edit.

    These are scale axes, another type of light, other shapes of a morph (none of 542 real files has a morph), another
    parent of a node that stores its parent by name, and edits of one of several nodes that show the same object.
    """
    before, links, nodes = original.scene, original.links, original.matching.nodes
    nodes_by_object: dict[int, list[int]] = {}
    morphing = {channel.node for clip in scene.clips[:1] for channel in clip.channels if channel.track.kind == "morph"}
    for new, old in nodes.items():
        node, old_node = scene.nodes[new], before.nodes[old]
        if node.scale_axes_xyzw is not None:
            raise CannotMerge("a node has scale axes")
        if node.light is not None and scene.lights[node.light].type is not before.lights[old_node.light or 0].type:
            raise CannotMerge("the type of a light changed")
        if new in morphing and not Comparison(1e-12).same(node.morph, old_node.morph):
            raise CannotMerge("the shapes of a morph changed")
        chunk, parent = links.nodes[old], nodes.get(-1 if node.parent is None else node.parent)
        if child(chunk, r.ParentName) is not None and parent != old_node.parent:
            raise CannotMerge(f"the parent of {old_node.name!r} is stored by name")
        nodes_by_object.setdefault(id(object_of(links, old_node)), []).append(new)
    nodes_by_object.pop(id(None), None)
    for numbers in nodes_by_object.values():
        names = {before.nodes[nodes[number]].name for number in numbers if _is_renamed(scene, original, number)}
        shifts = [moved.get(number, np.eye(4)) for number in numbers]
        meshes = [scene.meshes[scene.nodes[number].mesh or 0] for number in numbers if scene.meshes]
        old_meshes = [before.meshes[before.nodes[nodes[number]].mesh or 0] for number in numbers if scene.meshes]
        edited_apart = len({id(mesh) for mesh in meshes}) > 1 and not Comparison().same(meshes, old_meshes)
        if len(numbers) > 1 and (names or edited_apart or not np.allclose(shifts, shifts[0])):
            raise CannotMerge(f"several nodes show the object of {before.nodes[nodes[numbers[0]]].name!r}")


def _is_renamed(scene: Scene, original: Original, number: int) -> bool:
    return scene.nodes[number].name != original.scene.nodes[original.matching.nodes[number]].name


def _stored_name(links: Links, before: Scene, old: int) -> bytes:
    instance = child(links.nodes[old], r.InstanceName)
    if before.nodes[old].kind is NodeKind.DUMMY and instance is not None:
        return instance.name
    return before.nodes[old].raw_name or b""


def _taken_names(original: Original, links: Links, names: Mapping[int, bytes]) -> frozenset[bytes]:
    """Return the names in the document, without those of removed nodes."""
    taken = {named_object.name for named_object in original.document.find(r.NamedObject)}
    taken |= {instance_name.name for instance_name in original.document.find(r.InstanceName)}
    taken |= {node_header.name for node_header in original.document.find(r.NodeHeader)}
    removed = set()
    for old in original.matching.removed_nodes():
        removed |= {_stored_name(links, original.scene, old), original.scene.nodes[old].raw_name or b""}
    return frozenset((taken - removed) | set(names.values()))


def _new_axes(scene: Scene, before: Scene, nodes: Mapping[int, int]) -> dict[int, Floats]:
    """Return the axes of meshes that have others than before, by the number of their nodes."""
    found: dict[int, Floats] = {}
    for number, old in nodes.items():
        mesh, old_mesh = scene.nodes[number].mesh, before.nodes[old].mesh
        if mesh is not None and old_mesh is not None:
            axes, old_axes = scene.meshes[mesh].axes, before.meshes[old_mesh].axes
            if axes is not None and old_axes is not None and not np.allclose(axes, old_axes, rtol=1e-7, atol=1e-9):
                found[number] = np.asarray(axes, np.float64)
    return found


def _moved(
    scene: Scene,
    before: Scene,
    links: Links,
    nodes: Mapping[int, int],
    untouched: Collection[int],
    new_axes: Mapping[int, Floats],
) -> dict[int, Floats]:
    """Return the change (4, 4) of the rest transform, for nodes whose stored vertices agreed with the old transform."""
    if all(number in untouched for number in nodes):
        return {}
    clips = [state.clips[0] if state.clips else Clip() for state in (scene, before)]
    worlds, old_worlds = (
        world_at(state, clip, links.rest_frame) for state, clip in zip((scene, before), clips, strict=True)
    )
    moved: dict[int, Floats] = {}
    for number, old in nodes.items():
        mesh = before.nodes[old].mesh
        world, old_world = worlds[number], old_worlds[old]
        placed = affine.multiply(world, _shift(scene.nodes[number]))
        old_placed = affine.multiply(old_world, _shift(before.nodes[old]))
        unmoved = np.allclose((world, placed), (old_world, old_placed), rtol=1e-7, atol=1e-9)
        if mesh is None or (unmoved and number not in new_axes):
            continue
        points = child(child(links.meshes[mesh], r.Mesh), r.PointArray)
        if points is None or not len(points.points) or abs(affine.determinant(old_world)) < 1e-12:
            continue
        stored = np.asarray(points.points, np.float64)
        matrix = stored_matrix(links.meshes[mesh])
        candidates = [(links.to_mesh[mesh], placed, old_placed, SAME)]
        if abs(affine.determinant(matrix)) > 1e-12:
            candidates.append((affine.inverse(matrix), world, old_world, NEAR))
        for to_mesh, new, former, most in candidates:
            if _displacement(affine.multiply(former, to_mesh), stored) > most:
                continue
            moved[number] = affine.multiply(new, affine.inverse(former))
            if number in new_axes and _geometry(before.nodes[old]) == "keyframer":
                follows = affine.multiply(new_axes[number], affine.inverse(matrix))  # scales small differences, too
                positions = scene.meshes[scene.nodes[number].mesh or 0].positions
                to_stored = affine.multiply(follows, affine.inverse(links.to_mesh[mesh]))
                new_stored = affine.transform_points(to_stored, np.asarray(positions, np.float64))
                back = affine.multiply(affine.multiply(new, to_mesh), affine.inverse(follows))
                if len(new_stored) and _displacement(back, new_stored) <= most:
                    moved[number] = follows
            break
    return moved


def _geometry(node: Node) -> str | None:
    """Return whether the vertices of a node follow the ``keyframer`` or are ``raw`` (`vertex_space`); None for an
    object of the editor alone."""
    geometry: str | None = node.extras.get("3ds", {}).get("geometry")
    return geometry


def _displacement(matrix: Floats, points: Floats) -> float:
    """Return the largest displacement of a point by a matrix, as a fraction of the size of all."""
    size = max(float(np.ptp(points, axis=0).max()), 1e-12)
    return float(np.abs(affine.transform_points(matrix, points) - points).max()) / size


def _shift(node: Node) -> Floats:
    """Return the matrix (4, 4) that subtracts the pivot of a node."""
    shift = np.eye(4)
    shift[:3, 3] = -np.asarray(node.pivot)
    return shift
