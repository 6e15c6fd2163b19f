"""Write a scene as a Blitz3D document: one root node, with textures and brushes before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats import properties_of
from keyframer.formats.b3d import FORMAT
from keyframer.formats.b3d import document as d
from keyframer.formats.b3d.bridge.materials import MaterialWriter
from keyframer.formats.b3d.bridge.meshes import (
    MOST_WEIGHTS,
    Part,
    bone_record,
    is_below,
    joined,
    keys_record,
    mesh_record,
    moved_to_bones,
    report_bind_error,
    weights_of,
)
from keyframer.formats.b3d.bridge.scene import TURNED
from keyframer.formats.bridge import Capabilities, SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import StoredAs
from keyframer.formats.kit.frame_times import in_time_unit, rate_of_keys
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules, single_key
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    Tolerance,
    UniqueByteNames,
    Written,
    check_max_error,
    first_clip,
    frames_per_second,
    plain_path,
    rest_world,
    whole_frame,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.limits import spend
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Clip, Handedness, Node, Scene, Space
from keyframer.scene.cameras_lights import is_aimed
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.scene.losses import (
    AIM_BAKED,
    CLIP_RANGE_CHANGED,
    CLIP_RANGE_UNSUPPORTED,
    NODE_ADDED,
    NORMALS_CHANGED,
    TRANSFORM_APPLIED,
)
from keyframer.wire.record import Record

KINDS = ("position", "scale", "rotation")
CAPABILITIES = Capabilities(
    (
        *("parents", "names", "pivots", "meshes", "smoothing", "normals", "vertex colours", "vertex alpha", "segment"),
        *("second coordinates", "skins", "materials", "textures", "other maps", "dummies", "roll"),
    ),
    {
        "materials": [
            StoredAs(
                ("diffuse", "transparency", "self_illumination", "two_sided", "additive", "shading"),
                "colour, effects and blend of the brush",
            ),
            StoredAs(("shininess_strength",), "the specularity of the brush"),
        ],
        "maps": [
            StoredAs(("scale", "offset", "rotation_degrees"), "scale, position and rotation of the texture"),
            StoredAs(("tiled", "second_coordinates", "ignore_alpha"), "flags of the texture"),
        ],
    },
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing."""

    fps: float = 0.0
    """frames per second of the keys; 0: those of the scene"""
    encoding: str = "cp1252"
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if not 0 <= self.fps <= 10_000:
            raise ValueError(f"fps must be from 0 to 10000, not {self.fps:g}")


@dataclass(frozen=True, eq=False)
class OriginalConventions:
    """How the original document stores what a scene does not say. Nodes are numbered as in the scene to write."""

    records: Mapping[int, d.Node] = field(default_factory=dict)
    names: Mapping[int, bytes] = field(default_factory=dict)
    """stored names of nodes that were not renamed"""
    animation: int | None = None
    """the node with the animation"""


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document of the scene, and the loss report."""
        report = LossReport("b3d")
        if not scene.nodes:
            raise CannotWrite("nothing to write: the scene has no nodes")
        converted = in_space(scene, Space("y", Handedness.LEFT, scene.space.metres_per_unit, v_up=False))
        converted = with_constant_shapes(converted, report)
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, CAPABILITIES.handled)
        writer = RecordWriter(converted, clip, options, report)
        return Written(writer.document(), report, parts=writer.parts)


class RecordWriter:
    """Writes the document of a scene; ``conventions`` are given in a merge."""

    def __init__(
        self,
        scene: Scene,
        clip: Clip,
        options: WriteOptions,
        report: LossReport,
        conventions: OriginalConventions | None = None,
        materials: MaterialWriter | None = None,
    ) -> None:
        self.scene = scene
        self.report = report
        self.merges = conventions is not None
        self.conventions = conventions or OriginalConventions()
        self.names = UniqueByteNames(encoding=options.encoding)
        self.materials = materials or MaterialWriter(scene, report, options.encoding)
        clip_rate = clip.rate if clip.unit == "frame" and clip.units_per_frame == 1 else 0.0
        self.rate = options.fps or (clip_rate if self.merges and clip_rate else 0.0) or self._rate(clip)
        self.clip = in_time_unit(clip, "frame", self.rate, 1.0)
        rules = KeyRules(
            self.rate,
            1.0,
            full_turns=False,
            interpolations=(Interpolation.LINEAR,),
            jumps=False,
            rotations=RotationForm.QUATERNION_ABSOLUTE,
            rate_advice="fps sets a higher frame rate",
        )
        self.fitter = KeyFitter(self.clip, rules, Tolerance.of(scene, options.max_error), report)
        self.parts: dict[int, tuple[str, int]] = {}
        """node or material of each record, by the record's `id`"""
        self.rest = rest_world(scene)
        self.skin_roots = self._skin_roots()
        self.bound = self._bind_pose()
        self.aimed_scales: dict[int, Floats] = {}
        """scales of nodes that are aimed, which ignore their own"""
        self.tracks = self._tracks()

    @staticmethod
    def _rate(clip: Clip) -> float:
        return frames_per_second(clip) if clip.unit != "second" else float(rate_of_keys(clip))

    def document(self) -> Document:
        nodes = [self._node(number, node) for number, node in enumerate(self.scene.nodes)]
        roots: list[Record] = []
        for number, record in enumerate(nodes):
            parent = self.scene.nodes[number].parent
            (roots if parent is None else nodes[parent].children).append(record)
            self.parts[id(record)] = ("nodes", number)
        root = self._root(roots)
        self._meshes(nodes, root)
        self._animation(nodes, root)
        for record in (root, *nodes):
            record.children.sort(key=_order_of)
        top: list[Record] = [*self.materials.chunks(), root]
        self.parts |= self.materials.parts
        return Document(FORMAT, [d.Main(children=top)])

    def _root(self, roots: list[Record]) -> d.Node:
        """Return the only root, which files must have: a new one above several, or above a skeleton that is not below
        its mesh."""
        moved = [number for number in self.skin_roots if number is None]
        if len(roots) == 1 and not moved and isinstance(roots[0], d.Node):
            return roots[0]
        root = d.Node(self.names.claim("root"), children=roots)
        self.report.add(NODE_ADDED["root"], "/nodes")
        return root

    def _skin_roots(self) -> dict[int | None, list[int]]:
        """Return the nodes with a skin by the node that gets their mesh: themselves, or None (a new root) if a bone is
        not below the mesh, as the format requires."""
        roots: dict[int | None, list[int]] = {}
        for number, node in enumerate(self.scene.nodes):
            if node.skin is not None and node.mesh is not None:
                below = all(is_below(self.scene, joint, number) for joint in self.scene.skins[node.skin].joints)
                roots.setdefault(number if below else None, []).append(number)
        return roots

    def _bind_pose(self) -> dict[int, Floats]:
        """Return the world matrix of each bone when it is bound: its stored pose."""
        bound: dict[int, Floats] = {}
        for root, numbers in self.skin_roots.items():
            for number in numbers:
                skin = self.scene.skins[self.scene.nodes[number].skin or 0]
                base = np.eye(4) if root is None else self.rest[root]
                inverse = affine.inverse(np.asarray(skin.inverse_bind, np.float64).reshape(-1, 4, 4))
                for joint, matrix in zip(skin.joints, inverse, strict=True):
                    if joint != number:
                        bound.setdefault(joint, affine.multiply(base, matrix))
        return {
            joint: matrix
            for joint, matrix in bound.items()
            if np.abs(matrix - self.rest[joint]).max() > 1e-6 * max(float(np.abs(self.rest[joint]).max()), 1e-30)
        }

    def _tracks(self) -> dict[int, dict[str, Track]]:
        """Return the fitted tracks of each node."""
        chosen: dict[tuple[int, str], Track] = {}
        for channel in self.clip.channels:
            if channel.track.kind in KINDS:
                chosen.setdefault((channel.node, channel.track.kind), channel.track)
        chosen |= self._aimed_rotations()
        chosen = {place: track for place, track in chosen.items() if len(track.times)}
        self.fitter.fit_ahead(chosen.values())
        tracks: dict[int, dict[str, Track]] = {}
        for (number, kind), track in chosen.items():
            fitted = self.fitter.fit(track, f"{plain_path('nodes', self.scene.nodes[number].name)}/{kind}")
            if fitted is not None:
                tracks.setdefault(number, {})[kind] = fitted
        for number in self._bound_nodes():
            node, of_node = self.scene.nodes[number], tracks.setdefault(number, {})
            of_node.setdefault("position", single_key("position", node.position))
            of_node.setdefault("scale", single_key("scale", node.scale))
            form = RotationForm.QUATERNION_ABSOLUTE
            of_node.setdefault("rotation", single_key("rotation", node.rotation_xyzw, form))
        return tracks

    def _bound_nodes(self) -> set[int]:
        """Return the nodes whose stored pose is the bind pose, or follows from that of their parent: they need keys."""
        return {
            number
            for number, node in enumerate(self.scene.nodes)
            if number in self.bound or (node.parent is not None and node.parent in self.bound)
        }

    def _frames(self) -> Floats:
        begin, end = clip_span(self.clip)
        frames = np.arange(np.floor(begin), np.ceil(end) + 1.0)
        spend("samples", 16 * len(frames) * len(self.scene.nodes))
        return frames

    def _aimed_rotations(self) -> dict[tuple[int, str], Track]:
        """Return the rotations of nodes that are aimed at others or have a roll, frame by frame."""
        aimed = [number for number, node in enumerate(self.scene.nodes) if is_aimed(self.scene, node)]
        if not aimed:
            return {}
        frames = self._frames()
        rig = Rig(replace(self.scene, clips=[self.clip]))
        world = rig.world(rig.sample(frames), len(frames))
        tracks = {}
        for number in aimed:
            node = self.scene.nodes[number]
            local = world[:, number]
            if node.parent is not None:
                local = affine.multiply(affine.inverse(world[:, node.parent]), local)
            _, rotations, scales = affine.decompose(local)
            self.aimed_scales[number] = scales[0]
            path = f"{plain_path('nodes', node.name)}/target"
            self.report.add(AIM_BAKED["rotation"], path, target="an ordinary node")
            form = RotationForm.QUATERNION_ABSOLUTE
            tracks[number, "rotation"] = Track("rotation", frames, rotations, Interpolation.SAMPLED, form=form)
        return tracks

    def _node(self, number: int, node: Node) -> d.Node:
        name = self.conventions.names.get(number) or self.names.claim_for(node, self.report)
        record = d.Node(name)
        parent = node.parent
        if number in self._bound_nodes():
            world = self.bound.get(number, self.rest[number])
            above: Floats = np.eye(4) if parent is None else self.bound.get(parent, self.rest[parent])
            place: Any = affine.decompose(affine.multiply(affine.inverse(above), world))
        else:
            place = node.position, node.rotation_xyzw, self.aimed_scales.get(number, np.asarray(node.scale, np.float64))
        position, rotation, scale = place
        record.position, record.scale = _numbers(position), _numbers(scale)
        record.rotation = _wxyz(np.asarray(rotation, np.float64)[None])[0]
        original = self.conventions.records.get(number)
        for kinds in _groups(self.tracks.get(number, {}), original):
            tracks = self.tracks[number]
            times = np.rint(tracks[kinds[0]].times).astype(np.int64)
            whole_frame(float(times[-1]))
            columns = {
                kind: _wxyz(tracks[kind].values) if kind == "rotation" else np.asarray(tracks[kind].values)
                for kind in kinds
            }
            record.children.append(keys_record(times, columns))
        if original is not None and node.mesh is None and any(isinstance(child, d.Bone) for child in original.children):
            record.children.append(d.Bone())
        return record

    def _meshes(self, nodes: Sequence[d.Node], root: d.Node) -> None:
        """Add meshes to nodes, and weights to bones. Skinned meshes with bones elsewhere become that of the root."""
        smooth = properties_of(self.scene.source_format).smooth_without_groups
        for number, node in enumerate(self.scene.nodes):
            if node.mesh is not None and number not in self.skin_roots.get(None, ()):
                original = self.conventions.records.get(number)
                part = self._part(number, None if original is not None else smooth)
                nodes[number].children.append(self._mesh(part, original))
                if node.skin is not None:
                    self._weights(nodes, [(number, part)])
        hoisted = self.skin_roots.get(None, [])
        if not hoisted:
            return
        parts = [self._part(number, smooth) for number in hoisted]
        for number, part in zip(hoisted, parts, strict=True):
            path = plain_path("nodes", self.scene.nodes[number].name)
            self.report.add(TRANSFORM_APPLIED["mesh at root"], f"{path}/mesh")
            base = {joint: self.bound.get(joint, self.rest[joint]) for joint in range(len(nodes))}
            matrix = moved_to_bones(self.scene, number, base, self.report)
            part.positions = affine.transform_points(matrix, part.positions)
            if "normal" in part.columns:
                part.columns["normal"] = affine.transform_vectors(affine.inverse(matrix).T, part.columns["normal"])
        root.children.append(self._mesh(joined(parts), None))
        self._weights(nodes, list(zip(hoisted, parts, strict=True)))

    def _part(self, number: int, smooth: bool | None) -> Part:
        node = self.scene.nodes[number]
        mesh = self.scene.meshes[node.mesh or 0]
        if np.any(node.pivot):
            path = f"{plain_path('nodes', node.name)}/pivot"
            self.report.add(TRANSFORM_APPLIED["pivot"], path, extras=node.extras)
        if mesh.smoothing is not None and mesh.normals is None and smooth is not None:
            self.report.add(NORMALS_CHANGED["smoothing"], f"/meshes/{mesh.name}/smoothing", outcome=Outcome.BAKED)
        part = Part(mesh, np.asarray(node.pivot, np.float64), len(self.scene.materials), smooth)
        self.materials.use(part)
        return part

    def _mesh(self, part: Part, original: d.Node | None) -> d.Mesh:
        stored = next((child for child in original.children if isinstance(child, d.Mesh)), None) if original else None
        if stored is None:
            return mesh_record(part, -1, ())
        lists = [child for child in stored.children if isinstance(child, d.Triangles)]
        return mesh_record(part, stored.brush, [len(child.corners) for child in lists])

    def _weights(self, nodes: Sequence[d.Node], skinned: Sequence[tuple[int, Part]]) -> None:
        """Add the weights of meshes, whose vertices follow each other, to their bones."""
        first = 0
        weights: dict[int, list[Any]] = {}
        for number, part in skinned:
            skin = self.scene.skins[self.scene.nodes[number].skin or 0]
            mesh = self.scene.meshes[self.scene.nodes[number].mesh or 0]
            report_bind_error(skin, mesh, self.fitter.tolerance, self.report)
            of_joints = weights_of(skin, part, first, None if self.merges else MOST_WEIGHTS, self.report)
            first += len(part.positions)
            for joint, entries in of_joints.items():
                if joint != number:  # vertices that follow the node of the mesh have no weights
                    weights.setdefault(joint, []).extend(entries)
        for joint, entries in weights.items():
            record = nodes[joint]
            record.children = [child for child in record.children if not isinstance(child, d.Bone)]
            record.children.append(bone_record(entries))

    def _animation(self, nodes: Sequence[d.Node], root: d.Node) -> None:
        """Add the length and rate of the clip, at the root or where the original has it."""
        if not self.scene.clips:
            return
        last = whole_frame(np.ceil(max(self.clip.end, 0.0)))
        if self.clip.start:
            self.report.add(CLIP_RANGE_UNSUPPORTED["start"], "/clips/start")
        if last != self.clip.end:
            self.report.add(CLIP_RANGE_CHANGED["end"], "/clips/end", last=last)
        place = self.conventions.animation
        if self.merges and place is None and not self.tracks:
            return
        (root if place is None else nodes[place]).children.append(d.Animation(0, last, self.rate))
        if not self.merges:
            for sequence in self.clip.extras.get("b3d", {}).get("sequences", ()):
                name = self.names.claim(sequence["name"])
                root.children.append(d.Sequence(name, sequence["first"], sequence["last"]))


def _groups(tracks: Mapping[str, Track], original: d.Node | None) -> list[tuple[str, ...]]:
    """Return the kinds of keys in each chunk: those of the original whose keys are still at the same frames, or else
    all kinds with keys at the same frames."""
    kinds = [kind for kind in KINDS if kind in tracks]
    groups: list[tuple[str, ...]] = []
    chunks = [] if original is None else [child for child in original.children if isinstance(child, d.Keys)]
    for chunk in chunks:
        group = tuple(kind for kind in kinds if kind in (chunk.keys.dtype.names or ()))
        if group and all(np.array_equal(tracks[kind].times, tracks[group[0]].times) for kind in group):
            groups.append(group)
            kinds = [kind for kind in kinds if kind not in group]
    while kinds:
        alike = tuple(kind for kind in kinds if np.array_equal(tracks[kind].times, tracks[kinds[0]].times))
        alike = alike if original is None or not chunks else alike[:1]
        groups.append(alike)
        kinds = [kind for kind in kinds if kind not in alike]
    return groups


def _wxyz(rotations_xyzw: Floats) -> Any:
    """Return quaternions as the file stores them, each on the side of the one before it."""
    turned = quat.normalise(np.asarray(rotations_xyzw, np.float64)) * TURNED
    flips = np.cumprod(np.where((turned[1:] * turned[:-1]).sum(axis=1) < 0, -1.0, 1.0))
    turned[1:] *= flips[:, None]
    return (turned[:, [3, 0, 1, 2]] + 0.0).astype("<f4").astype(np.float64)


def _numbers(values: Any) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, np.float64).tolist()
    return x, y, z


_ORDER: tuple[type[Record], ...] = (d.Mesh, d.Bone, d.Keys, d.Node, d.Sequence, d.Animation)
"""the chunks of a node in the order of the specification"""


def _order_of(record: Record) -> int:
    return next(place for place, kind in enumerate(_ORDER) if isinstance(record, kind))
