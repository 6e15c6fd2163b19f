"""Read a scene from an animation, a model, or both; frames are computed as in MD5."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Ints
from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_QUATERNION_INVALID,
    DATA_RATE_INVALID,
    LIMIT_COPIES,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_SKELETON_MISMATCH,
    SEM_UNKNOWN_FLAG_BITS,
)
from keyframer.curves import RotationForm, Track
from keyframer.errors import FormatError
from keyframer.files import PathLike
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.records import COMPONENTS, Frames, Joint, ModelJoint, unquoted
from keyframer.formats.kit.joint_pairs.records import Mesh as MeshRecord
from keyframer.formats.kit.scene_reading import (
    COMPANION,
    Reporter,
    UniqueNames,
    check_weights,
    companion_error,
    companion_prefix,
    finite_rows,
    read_companion,
    safe_parents,
)
from keyframer.issues import Issue, Severity
from keyframer.limits import Budget
from keyframer.maths import affine, quat
from keyframer.scene import Channel, Clip, Material, Mesh, Node, NodeKind, Scene, Skin, Space, TextureMap
from keyframer.text import counted, decode_name

_JOINTS_AT_ONCE = 8_192
"""joints converted at once: their matrices take a megabyte"""
_NUMBERS_PER_INFLUENCE = 24
"""cost of an influence: vertex, joint, weight and offset in the skin, and temporarily a matrix"""


def with_w(xyz: Floats) -> tuple[Floats, int | None]:
    """Return unit quaternions from x, y, z, with w <= 0 as in MD5; rows with non-finite numbers are not normalised.

    Also return the index of the first row that is too long for a unit quaternion or not finite, or None.
    """
    with np.errstate(all="ignore"):
        square = (xyz * xyz).sum(axis=1)
        w = -np.sqrt(np.maximum(0.0, 1.0 - square))
    rotations = np.column_stack([xyz, w])
    # float32 rounding gives squares of up to 1 + 4e-7 in valid files
    too_long = np.flatnonzero(~(square <= 1.0 + 1e-5))
    return np.where(np.isfinite(rotations).all(axis=1)[:, None], quat.normalise(rotations), rotations), (
        int(too_long[0]) if len(too_long) else None
    )


def with_negative_w(rotations_xyzw: Floats) -> Floats:
    """Return the same rotations with w <= 0; files store the first three numbers. -0.0 becomes 0.0."""
    return np.where(rotations_xyzw[..., 3:] > 0, -rotations_xyzw, rotations_xyzw) + 0.0


def bind_matrices(reporter: Reporter, joints: list[ModelJoint]) -> Floats:
    """Return (J, 4, 4) matrices of joints in model space. A joint with non-finite numbers is at the origin."""
    if not joints:
        return np.empty((0, 4, 4))
    numbers = (number for joint in joints for number in (*joint.position, *joint.orientation))
    positions_and_rotations = np.fromiter(numbers, np.float64, 6 * len(joints)).reshape(-1, 6)
    invalid = ~np.isfinite(positions_and_rotations).all(axis=1)
    for index in np.flatnonzero(invalid).tolist():
        non_finite = ~np.isfinite(positions_and_rotations[index])
        first = int(np.argmax(non_finite))
        field = "position" if first < 3 else "orientation"
        reporter.report(DATA_NON_FINITE, joints[index], field, count=int(non_finite.sum()), index=first % 3)
    positions_and_rotations[invalid] = 0.0
    rotations, too_long = with_w(positions_and_rotations[:, 3:])
    if too_long is not None:
        reporter.report(DATA_QUATERNION_INVALID, joints[too_long], "orientation", frame="the bind pose")
    return affine.compose(positions_and_rotations[:, :3], rotations, np.ones(3))


def bind_locals(world: Floats, parents: list[int | None]) -> tuple[Floats, Floats]:
    """Return positions and rotations of joints relative to their parents, from their matrices in model space."""
    parent_of = np.array([-1 if parent is None else parent for parent in parents], np.int64).reshape(-1)
    positions, rotations = np.empty((len(world), 3)), np.empty((len(world), 4))
    for begin in range(0, len(world), _JOINTS_AT_ONCE):
        block = slice(begin, begin + _JOINTS_AT_ONCE)
        local = world[block].copy()
        children = np.flatnonzero(parent_of[block] >= 0)
        local[children] = affine.multiply(affine.inverse(world[parent_of[block][children]]), local[children])
        positions[block], rotations[block] = local[:, :3, 3], quat.from_matrix3(local[:, :3, :3])
    return positions, rotations


def read_surface(
    name: str, reporter: Reporter, record: MeshRecord, bind: Floats, number: int, budget: Budget
) -> tuple[Mesh, Skin, Material]:
    """Read one mesh in its bind pose, its skin and its material. Invalid faces and weights are left out."""
    path = decode_name(unquoted(record.material))
    material = Material(path, raw_name=record.material, diffuse=(1.0, 1.0, 1.0))
    if path:
        material.maps["texture1"] = TextureMap(path, record.material)
    owners, chosen = _influences(reporter, record, len(bind), budget)
    joints = record.weights["joint"].astype(np.int64)[chosen]
    stored = np.column_stack([record.weights["position"], record.weights["bias"]])
    numbers = finite_rows(reporter, record, "weights", stored)[chosen]
    offsets, bias = numbers[:, :3], numbers[:, 3]
    check_weights(reporter, record, "weights", owners, bias, len(record.vertices))
    placed = affine.transform_each(bind[joints], offsets)
    positions = np.zeros((len(record.vertices), 3))
    np.add.at(positions, owners, placed * bias[:, None])
    mesh = Mesh(f"mesh{number}", positions, _corners(reporter, record))
    mesh.uv = finite_rows(reporter, record, "vertices", record.vertices["st"])
    mesh.smoothing = np.ones(len(mesh.corners), np.uint32)  # MD5 surfaces are always smooth
    mesh.face_materials = np.full(len(mesh.corners), number, np.int32)
    inverse = affine.inverse(bind) if len(bind) else bind
    skin = Skin(mesh.name, list(range(len(bind))), inverse, owners, joints, bias, offsets)
    for extras in (mesh.extras, skin.extras, material.extras, *(texture.extras for texture in material.maps.values())):
        extras[name] = reporter.location_of(record)
    return mesh, skin, material


def _influences(reporter: Reporter, record: MeshRecord, joint_count: int, budget: Budget) -> tuple[Ints, Ints]:
    """Return the index of the vertex and of the weight of every influence, in the order of the vertices.

    Vertices may share weights; a budget keeps a small file from becoming a huge scene.
    """
    first = record.vertices["first_weight"].astype(np.int64)
    counts = record.vertices["weight_count"].astype(np.int64)
    total = len(record.weights)
    valid = first + counts <= total
    _report_invalid(reporter, record, "vertices", "weight", ~valid, first + counts - 1, total)
    counts = np.where(valid, counts, 0).astype(np.intp)
    budget.grant("copies", 4 * total * _NUMBERS_PER_INFLUENCE)
    room = budget.left("copies") // _NUMBERS_PER_INFLUENCE
    if not budget.charge("copies", int(counts.sum()) * _NUMBERS_PER_INFLUENCE):
        beyond = np.cumsum(counts) > room
        field = f"vertices[{int(beyond.argmax())}]"
        reporter.report(LIMIT_COPIES, record, field, what="repeated use of weights", **budget.state("copies"))
        counts = np.where(beyond, 0, counts)
    owners = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
    chosen = starts + np.arange(len(owners))
    joints = record.weights["joint"].astype(np.int64)
    valid_joints = (joints >= 0) & (joints < joint_count)
    _report_invalid(reporter, record, "weights", "joint", ~valid_joints, joints, joint_count)
    usable = valid_joints[chosen]
    return owners[usable], chosen[usable]


def _corners(reporter: Reporter, record: MeshRecord) -> npt.NDArray[np.int32]:
    """Return corners in counter-clockwise order; the file has them clockwise seen from outside."""
    corners = record.triangles.astype(np.int64)
    valid = np.asarray((corners < len(record.vertices)).all(axis=1))
    _report_invalid(
        reporter, record, "triangles", "vertex", ~valid, corners.max(axis=1, initial=0), len(record.vertices)
    )
    return corners[valid][:, [0, 2, 1]].astype(np.int32)


def _report_invalid(
    reporter: Reporter, record: MeshRecord, field: str, kind: str, bad: Flags, values: Ints, count: int
) -> None:
    reporter.report_each(
        LINK_INDEX_OUT_OF_RANGE,
        record,
        field,
        np.flatnonzero(bad),
        lambda at: {"what": "entry", "item": at, "kind": kind, "index": int(values[at]), "count": count},
    )


SPACE = Space("z", v_up=False)
"""MD5 space: right-handed, Z up, texture origin at the upper left"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options. An animation has no meshes and a model has no motion: together they are a scene."""

    model: PathLike | Document | None = None
    """the model that an animation moves"""
    animation: PathLike | Document | None = None
    """the animation that moves a model"""
    found: str = ""
    """the file name of an automatically detected companion; if it cannot be used, this is a warning, not an error"""


def to_scene(family: Family, document: Document, options: Options) -> Scene:
    """Return the scene of a document and of its companion, if the options have one."""
    scene = Scene(source_format=family.name, space=SPACE)
    is_model = document.first(family.model) is not None
    if not is_model and document.first(family.animation) is None:
        return scene  # the header could not be read
    companion = _companion(family, scene, document, is_model, options)
    animation, model = (companion, document) if is_model else (document, companion)
    root = companion_prefix(options.found or (options.animation if is_model else options.model))
    if animation is not None:
        _add_animation(family, scene, Reporter(animation, scene.issues, root if is_model else ""), animation, model)
    if model is not None:
        reporter = Reporter(model, scene.issues, "" if is_model else root)
        _add_model(family, scene, reporter, model, with_joints=animation is None)
    return scene


def _companion(family: Family, scene: Scene, document: Document, is_model: bool, options: Options) -> Document | None:
    """Return the other file of the pair; None if there is none, or if it cannot be used, which is reported.

    A companion cannot be used if it does not match, or if it was detected automatically and is damaged.
    """
    given, given_for_itself = (options.animation, options.model) if is_model else (options.model, options.animation)
    if given_for_itself is not None:
        kind, option = ("a model", "animation") if is_model else ("an animation", "model")
        raise ValueError(f"this file is {kind} itself: the option for its companion is {option!r}")
    if given is None:
        return None
    companion = read_companion_document(family, given, "the animation" if is_model else "the model")
    unsafe = companion.issues.first_unsafe()
    if unsafe is not None and options.found:
        _report_mismatch(scene, f"the companion is damaged ({unsafe.code} at {unsafe.offset:#x})", True)
        return None
    for issue in companion.issues:
        path = f"{companion_prefix(options.found or given)}{issue.path}"
        scene.issues.add_issue(Issue(issue.type, path, issue.offset, issue.args, issue.severity_override))
    pair = (companion, document) if is_model else (document, companion)
    mismatch = pair_mismatch(family, *pair)
    if mismatch is not None:
        _report_mismatch(scene, mismatch, bool(options.found))
        return None
    return companion


def pair_of(family: Family, document: Document, options: Options) -> tuple[Document | None, Document | None]:
    """Return the animation and the model of the pair, None for a missing one."""
    is_model = document.first(family.model) is not None
    companion = _companion(family, Scene(), document, is_model, options)
    return (companion, document) if is_model else (document, companion)


def read_companion_document(family: Family, source: object, role: str) -> Document:
    if isinstance(source, Document):
        return source
    if isinstance(source, (str, os.PathLike)):
        try:
            return family.decode(read_companion(source, role))
        except FormatError as error:
            raise error if error.path.startswith(COMPANION) else companion_error(error, role) from None
    raise ValueError(f"the companion must be a path or a document, not {source!r}")


def pair_mismatch(family: Family, animation: Document, model: Document) -> str | None:
    """Return why an animation does not match a model, with the first joint that differs; None if it matches."""
    for kind, given, header in (("animation", animation, family.animation), ("model", model, family.model)):
        if given.first(header) is None:
            return f"the file given as the {kind} is not a {family.format.title} {kind}"
    animated, bound = list(animation.find(Joint)), list(model.find(ModelJoint))
    for index, (joint, model_joint) in enumerate(zip(animated, bound, strict=False)):
        if joint.parent != model_joint.parent:
            parents = f"has parent {joint.parent} in the animation and {model_joint.parent} in the model"
            return f"joint {index} ({_display_name(model_joint.name)!r}) {parents}"
    if len(animated) != len(bound):
        first = min(len(animated), len(bound))
        in_animation = len(animated) > len(bound)
        where, extra = ("animation", animated[first].name) if in_animation else ("model", bound[first].name)
        counts = f"the animation has {counted(len(animated), 'joint')}, the model {len(bound)}"
        return f"{counts}; joint {first} ({_display_name(extra)!r}) is only in the {where}"
    return None


def _display_name(name: bytes) -> str:
    return decode_name(unquoted(name))


def _report_mismatch(scene: Scene, reason: str, is_warning: bool) -> None:
    """Report an error if the user named the companion; a warning if it was detected automatically."""
    severity = Severity.WARNING if is_warning else None
    scene.issues.add(LINK_SKELETON_MISMATCH, "/", 0, severity=severity, reason=reason)


def _add_animation(
    family: Family, scene: Scene, reporter: Reporter, animation: Document, model: Document | None
) -> None:
    top = animation.first(family.animation)
    assert top is not None
    joints = list(animation.find(Joint))
    names = UniqueNames()
    # In the only known animation all joints are named "origin"; its model has the actual names.
    stored = [joint.name for joint in (model.find(ModelJoint) if model is not None else joints)]
    display_names = [names.claim(_display_name(name)) for name in stored]
    parents = safe_parents(reporter, joints, [joint.parent for joint in joints])
    scene.nodes += _joint_nodes(family.name, reporter, joints, parents, display_names)
    clip = Clip(rate=float(top.frame_rate) or 1.0)
    if top.frame_rate == 0:
        reporter.report(DATA_RATE_INVALID, top, "frame_rate", rate=top.frame_rate)
    clip.extras[family.name] = {"version": top.version}
    frames = animation.first(Frames)
    if frames is not None:
        _animate(family.name, reporter, joints, frames, clip, animation.budget)
    scene.clips.append(clip)


def _joint_nodes(
    format_name: str, reporter: Reporter, joints: list[Joint], parents: list[int | None], names: list[str]
) -> list[Node]:
    """Return the nodes of joints in the base frame. A joint with non-finite numbers rests at its parent."""
    nodes = []
    for joint, parent, name in zip(joints, parents, names, strict=True):
        node = Node(name, NodeKind.BONE, parent, raw_name=joint.name)
        base = [float(number) for number in (*joint.position, *joint.orientation)]
        if all(map(math.isfinite, base)):
            node.position, node.rotation_xyzw = np.array(base[:3]), np.array(base[3:])
        else:
            non_finite = [index for index, number in enumerate(base) if not math.isfinite(number)]
            field, start = ("position", 0) if non_finite[0] < 3 else ("orientation", 3)
            reporter.report(DATA_NON_FINITE, joint, field, count=len(non_finite), index=non_finite[0] - start)
        reporter.mark(node, format_name, joint, {"flags": joint.flags, "start_index": joint.start_index})
        nodes.append(node)
    return nodes


def _animate(name: str, reporter: Reporter, joints: list[Joint], frames: Frames, clip: Clip, budget: Budget) -> None:
    """Add the boxes, the range and a channel for each animated position and rotation to the clip.

    Joints with invalid columns, and all joints after the budget is used up, get no channels.
    """
    components = np.asarray(frames.components, np.float64)
    clip.bounds = np.asarray(frames.bounds, np.float64)
    clip.start, clip.end = 0.0, float(max(len(components) - 1, 0))
    budget.grant("copies", 4 * components.size)
    for index, joint in enumerate(joints):
        bits = joint.moving
        if joint.flags >> COMPONENTS:
            reporter.report(SEM_UNKNOWN_FLAG_BITS, joint, "flags", bits=joint.flags & ~63)
        if not bits or not len(components):
            continue
        if joint.start_index + len(bits) > components.shape[1]:
            reporter.report(
                LINK_INDEX_OUT_OF_RANGE,
                joint,
                "start_index",
                what="joint",
                item=index,
                kind="component",
                index=joint.start_index + len(bits) - 1,
                count=components.shape[1],
            )
            continue
        sampled_values = len(components) * (3 * any(bit < 3 for bit in bits) + 4 * any(bit >= 3 for bit in bits))
        if not budget.charge("copies", sampled_values):
            reporter.report(
                LIMIT_COPIES, joint, "start_index", what="repeated use of components", **budget.state("copies")
            )
            return
        base = np.array([*joint.position, *joint.orientation[:3]], np.float64)
        rows = np.tile(base, (len(components), 1))
        rows[:, bits] = components[:, joint.start_index : joint.start_index + len(bits)]
        if any(bit < 3 for bit in bits):
            non_finite = ~np.isfinite(rows[:, :3])
            if non_finite.any():
                first, count = int(non_finite.any(axis=1).argmax()), np.count_nonzero(non_finite)
                reporter.report(DATA_NON_FINITE, joint, f"frames[{first}]", count=count, index=first)
            track = Track.sampled("position", rows[:, :3])
            reporter.mark(track, name, joint)
            clip.channels.append(Channel(index, track))
        if any(bit >= 3 for bit in bits):
            turns, invalid = with_w(rows[:, 3:])
            if invalid is not None:
                reporter.report(DATA_QUATERNION_INVALID, joint, f"frames[{invalid}]", frame=f"frame {invalid}")
            track = Track.sampled("rotation", turns, form=RotationForm.QUATERNION_ABSOLUTE)
            reporter.mark(track, name, joint)
            clip.channels.append(Channel(index, track))


def _add_model(family: Family, scene: Scene, reporter: Reporter, model: Document, with_joints: bool) -> None:
    """Add the meshes, and the joints in bind pose if no animation has added them."""
    joints = list(model.find(ModelJoint))
    bind = bind_matrices(reporter, joints)
    names = UniqueNames()
    for node in scene.nodes:
        names.claim(node.name)
    if with_joints:
        parents = safe_parents(reporter, joints, [joint.parent for joint in joints])
        positions, turns = bind_locals(bind, parents)
        if model.first(MeshRecord) is None:
            bind = bind[:0].copy()  # only meshes need the matrices, which are larger than the joints in the file
        for joint, parent, position, turn in zip(joints, parents, positions, turns, strict=True):
            node = Node(names.claim(_display_name(joint.name)), NodeKind.BONE, parent, raw_name=joint.name)
            node.position, node.rotation_xyzw = position, turn
            reporter.mark(node, family.name, joint)
            scene.nodes.append(node)
    for number, record in enumerate(model.find(MeshRecord)):
        mesh, skin, material = read_surface(family.name, reporter, record, bind, number, model.budget)
        scene.materials.append(material)
        scene.meshes.append(mesh)
        scene.skins.append(skin)
        mesh_node = Node(names.claim(mesh.name), NodeKind.OBJECT, mesh=number, skin=number)
        mesh_node.extras[family.name] = reporter.location_of(record)
        scene.nodes.append(mesh_node)
    top = model.first(family.model)
    assert top is not None
    scene.extras[family.name] = {"model_version": top.version}
