"""The records of MD5 files, and their codec: a text keeps every byte except the values that change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.catalogue import DATA_OUT_OF_RANGE, IO_UNRECOGNISED, LINK_COUNT_MISMATCH, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, RawRun
from keyframer.formats.kit.joint_pairs.mending import mend
from keyframer.formats.kit.joint_pairs.records import BOUNDS_FLOATS, VERTEX, WEIGHT, Frames, Joint, Mesh, ModelJoint
from keyframer.formats.md5 import FORMAT, VERSION
from keyframer.formats.md5.camera import CameraFrames, CameraPath, Cut, add_path, changed_path, new_path_lines
from keyframer.formats.md5.text import SETTINGS, Md5Text, MeshText, Span, quoted, table_rows, vectors, written
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import strz, u32
from keyframer.wire.record import NO_CHILDREN, Record, record

_START = re.compile(rb"\s*MD5Version\s")


@record
class Animation(Record):
    """The settings of an animation, with its joints and frames as children. Counts are those of the children when the
    text is written anew."""

    version: int = u32("MD5Version", default=VERSION)
    command_line: bytes = strz("commandline: how the exporter was called")
    frame_count: int = u32("numFrames")
    frame_rate: int = u32("frameRate, frames per second", default=24)
    joint_count: int = u32("numJoints")
    component_count: int = u32("numAnimatedComponents")
    text: str | None = None
    """the text of the file: what does not change is written as it is here; None for a new file"""


@record
class Model(Record):
    """The settings of a model, with its joints and meshes as children. Counts as in `Animation`."""

    version: int = u32("MD5Version", default=VERSION)
    command_line: bytes = strz("commandline: how the exporter was called")
    joint_count: int = u32("numJoints")
    mesh_count: int = u32("numMeshes")
    text: str | None = None
    """the text of the file, as in `Animation`"""


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode an MD5 file. Raises `FormatError` if the data is not one or exceeds a limit."""
    document = _new_document(data, limits)
    try:
        text = Md5Text(data, limits)
        top = _top(text, document)
    except FormatError as error:
        document.add_failure(error)
        document.records.append(RawRun(data, error.code, offset=0))
        return document
    top.text, top.offset = data.decode("latin-1"), 0
    document.records.append(top)
    return document


def _top(text: Md5Text, document: Document) -> Animation | Model | CameraPath:
    if "cut_count" in text.settings or text.cuts or text.camera:
        path: CameraPath = _settings(CameraPath, text)
        add_path(path, text, document, _singles)
        return path
    return _animation(text, document) if text.joints or not text.bound_joints else _model(text, document)


def recover(data: bytes, limits: Limits) -> Document:
    """Return the joints, frames and meshes before the damage; a base frame that is lost has joints at their parents."""
    _new_document(data, limits)
    text = Md5Text(data, limits, partial=True)
    end = text.whole if text.open else len(data) - len(data[text.whole :].lstrip())
    kept = data[:end].decode("latin-1") + text.open + "\n" * bool(text.open)
    if len(text.base) < len(text.joints):
        kept += "\n".join(["baseframe {", *["\t( 0 0 0 ) ( 0 0 0 )"] * len(text.joints), "}", ""])
    return decode(kept.encode("latin-1"), limits)


def _new_document(data: bytes, limits: Limits) -> Document:
    if not _START.match(data):
        raise IO_UNRECOGNISED.failure(0, "/", reason="an MD5 file begins with MD5Version")
    return Document(FORMAT, limits=limits)


def _singles(numbers: npt.ArrayLike) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(numbers, np.float64).astype("<f4")


def _settings(kind: type[Any], text: Md5Text) -> Any:
    """Return a header with the settings of a text; numbers that do not fit are a failure."""
    top = kind()
    for keyword, name in SETTINGS.items():
        if name in text.settings and hasattr(top, name):
            start, _, value = text.settings[name]
            if isinstance(value, int) and not 0 <= value < 1 << 32:
                wanted = f"a number of 32 bits after {keyword.decode()}"
                raise STRUCT_SYNTAX.failure(start, "/", wanted=wanted, found=str(value)[:40])
            setattr(top, name, value)
    return top


def _animation(text: Md5Text, document: Document) -> Animation:
    top: Animation = _settings(Animation, text)
    if len(text.base) != len(text.joints):
        found, wanted = str(len(text.base)), f"{len(text.joints)} rows of the base frame"
        raise STRUCT_SYNTAX.failure(text.base[-1].end if text.base else 0, "/baseframe", wanted=wanted, found=found)
    base = _singles([row.value for row in text.base]).reshape(-1, 6)
    for (start, _, (name, parent, flags, first)), row in zip(text.joints, base, strict=True):
        joint = Joint(parent, flags, first, name, tuple(row[:3].tolist()), _with_w(row[3:]))
        joint.offset, joint.children = start, NO_CHILDREN
        top.children.append(joint)
    width = len(text.frames[0].value) if text.frames else top.component_count
    for number, frame in enumerate(text.frames):
        if len(frame.value) != width:
            found = str(len(frame.value))
            raise STRUCT_SYNTAX.failure(frame.start, f"/frame[{number}]", wanted=f"{width} numbers", found=found)
    boxes = np.zeros((len(text.frames), BOUNDS_FLOATS), "<f4")
    given = [box.value for box in text.boxes[: len(boxes)]]
    boxes[: len(given)] = _singles(given).reshape(-1, BOUNDS_FLOATS)
    components = _singles([frame.value for frame in text.frames]).reshape(len(text.frames), width)
    frames = Frames(frozen(np.hstack([boxes, components])))
    starts = [values[0].start for values in (text.boxes, text.frames) if values]
    after_joints = text.joints[-1].end if text.joints else 0
    frames.offset, frames.children = max(min(starts, default=0), after_joints), NO_CHILDREN
    top.children.append(frames)
    for field, what, found_count in (
        ("joint_count", "joints", len(text.joints)),
        ("frame_count", "frames", len(text.frames)),
        ("frame_count", "bounding boxes", len(text.boxes)),
        ("component_count", "animated components", width),
    ):
        claimed = getattr(top, field)
        if claimed != found_count:
            at = text.settings[field].start if field in text.settings else 0
            document.issues.add(
                LINK_COUNT_MISMATCH, f"/animation/{field}", at, claimed=claimed, what=what, found=found_count
            )
    return top


def _with_w(xyz: Array) -> tuple[float, ...]:
    """Return x, y, z, w: files store the first three numbers of a quaternion with w <= 0."""
    with np.errstate(all="ignore"):
        w = -np.sqrt(np.maximum(np.float32(0), np.float32(1) - (xyz * xyz).sum()))
    return (*xyz.tolist(), float(w))


def _model(text: Md5Text, document: Document) -> Model:
    top: Model = _settings(Model, text)
    for start, _, (name, parent, numbers) in text.bound_joints:
        row = tuple(_singles(numbers).tolist())
        joint = ModelJoint(parent, row[:3], row[3:], name)
        joint.offset, joint.children = start, NO_CHILDREN
        top.children.append(joint)
    for number, mesh_text in enumerate(text.meshes):
        _check_rows(document, f"/model/mesh[{number}]", mesh_text)
        mesh = Mesh(*_counts(mesh_text), mesh_text.shader.value, *_tables(mesh_text))
        mesh.offset, mesh.children = mesh_text.start, NO_CHILDREN
        top.children.append(mesh)
    return top


def _check_rows(document: Document, path: str, text: MeshText) -> None:
    """Report rows that are not numbered in order, and counts of rows: the engine uses neither."""
    for word, (start, _, rows) in text.tables.items():
        name = word.decode()
        wrong = np.flatnonzero(rows[:, 0] != np.arange(len(rows)))
        if len(wrong):
            what, value = f"the number of {name} {int(wrong[0])}", f"{rows[wrong[0], 0]:.9g}"
            allowed = "rows are used in their order"
            document.issues.add(DATA_OUT_OF_RANGE, path, start, what=what, value=value, allowed=allowed)
        claimed = text.claimed.get(word, 0)
        if claimed != len(rows):
            field = f"{path}/num{name}s"
            document.issues.add(LINK_COUNT_MISMATCH, field, text.start, claimed=claimed, what=name, found=len(rows))


def _counts(text: MeshText) -> tuple[int, int, int]:
    return len(text.tables[b"vert"].value), len(text.tables[b"weight"].value), len(text.tables[b"tri"].value)


def _tables(text: MeshText) -> tuple[Array, Array, Array]:
    """Return vertices, weights and triangles. A number that is not whole or does not fit becomes one that no file has,
    which reading reports."""
    rows = {word: table.value for word, table in text.tables.items()}
    vertices = np.zeros(len(rows[b"vert"]), VERTEX)
    vertices["st"] = _singles(rows[b"vert"][:, 1:3])
    vertices["first_weight"], vertices["weight_count"] = (_whole(rows[b"vert"][:, at], "<u4") for at in (3, 4))
    weights = np.zeros(len(rows[b"weight"]), WEIGHT)
    weights["joint"], weights["bias"] = _whole(rows[b"weight"][:, 1], "<i4"), _singles(rows[b"weight"][:, 2])
    weights["position"] = _singles(rows[b"weight"][:, 3:])
    return frozen(vertices), frozen(weights), frozen(_whole(rows[b"tri"][:, 1:], "<u4"))


def _whole(numbers: Array, dtype: str) -> Array:
    info = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        fits = (numbers == np.floor(numbers)) & (numbers >= info.min) & (numbers < info.max)
    return np.where(fits, numbers, info.max).astype(dtype)


def encode(document: Document) -> bytes:
    """Return the bytes of a document: the text that was read, with the values that changed."""
    parts = []
    for top in document.records:
        if isinstance(top, RawRun):
            parts.append(top.data)
        elif isinstance(top, Animation | Model | CameraPath):
            parts.append("".join(_text(top, document.limits)).encode("latin-1"))
        else:
            raise ValueError(f"{top!r} cannot be at the top level of an MD5 file")
    return b"".join(parts) + document.trailing


def _text(top: Animation | Model | CameraPath, limits: Limits) -> Iterator[str]:
    """Yield the parts of a text; it is written anew if the numbers of its joints, frames or meshes changed."""
    spans = None
    if top.text is not None:
        text = Md5Text(top.text.encode("latin-1"), limits)
        spans = _changed_settings(top, text)
        if spans is not None:
            changed = _changes(top, text)
            spans = None if changed is None else spans + changed
    if spans is None:
        yield "\n".join(_new_lines(top)) + "\n"
        return
    assert top.text is not None
    at = 0
    for start, end, new in sorted(spans, key=lambda span: span[:2]):
        yield top.text[at:start]
        yield new
        at = end
    yield top.text[at:]


def _changes(top: Animation | Model | CameraPath, text: Md5Text) -> list[Span] | None:
    """Return what changed, except the settings; None if the text must be written anew."""
    if isinstance(top, CameraPath):
        return changed_path(top, text, _singles)
    return _changed_animation(top, text) if isinstance(top, Animation) else _changed_model(top, text)


def _new_lines(top: Animation | Model | CameraPath) -> Iterator[str]:
    if isinstance(top, CameraPath):
        return new_path_lines(top)
    return _new_animation_lines(top) if isinstance(top, Animation) else _new_model_lines(top)


def _joints_of(top: Animation | Model) -> list[Any]:
    return [child for child in top.children if isinstance(child, Joint | ModelJoint)]


def _frames_of(top: Animation) -> Array:
    frames = [child for child in top.children if isinstance(child, Frames)]
    if len(frames) > 1 or len(frames) + len(_joints_of(top)) != len(top.children):
        raise ValueError("an animation has joints and one record of frames")
    return np.asarray(frames[0].rows) if frames else np.zeros((0, BOUNDS_FLOATS + top.component_count), "<f4")


def _same(one: npt.ArrayLike, two: npt.ArrayLike) -> bool:
    return np.array_equal(np.asarray(one), np.asarray(two), equal_nan=True)


def _changed_settings(top: Animation | Model | CameraPath, text: Md5Text) -> list[Span] | None:
    """Return the settings that changed; None if one is not in the text."""
    spans = []
    original = _settings(type(top), text)
    for name in SETTINGS.values():
        if hasattr(top, name) and getattr(top, name) != getattr(original, name):
            if name not in text.settings:
                return None
            start, end, _ = text.settings[name]
            value = getattr(top, name)
            spans.append((start, end, quoted(value) if isinstance(value, bytes) else str(value)))
    return spans


def _changed_animation(top: Animation, text: Md5Text) -> list[Span] | None:
    joints, rows = _joints_of(top), _frames_of(top)
    spans: list[Span] = []
    width = len(text.frames[0].value) if text.frames else top.component_count
    has_other_width = len(rows) and rows.shape[1] != BOUNDS_FLOATS + width
    if len(joints) != len(text.joints) or len(rows) != len(text.frames) or has_other_width:
        return None
    for joint, (start, end, value), base in zip(joints, text.joints, text.base, strict=True):
        if (joint.name, joint.parent, joint.flags, joint.start_index) != value:
            spans.append((start, end, _joint_line(joint)))
        xyz = _stored(joint.orientation)
        numbers = _singles([*joint.position, *xyz])
        if not _same(numbers, _singles(base.value)):
            spans.append((base.start, base.end, vectors(numbers)))
    for row, box, frame in zip(rows, [*text.boxes, *[None] * len(rows)], text.frames, strict=False):
        if box is not None and not _same(row[:BOUNDS_FLOATS], _singles(box.value)):
            spans.append((box.start, box.end, vectors(row[:BOUNDS_FLOATS])))
        if not _same(row[BOUNDS_FLOATS:], _singles(frame.value)):
            spans.append((frame.start, frame.end, written(row[BOUNDS_FLOATS:])))
    return spans


def _stored(orientation: Any) -> Array:
    """Return x, y, z of a quaternion with w <= 0."""
    turn = _singles(orientation)
    return -turn[:3] if turn[3] > 0 else turn[:3]


def _changed_model(top: Model, text: Md5Text) -> list[Span] | None:
    joints, meshes = _joints_of(top), [child for child in top.children if isinstance(child, Mesh)]
    if len(joints) + len(meshes) != len(top.children):
        raise ValueError("a model has joints and meshes")
    spans: list[Span] = []
    if len(joints) != len(text.bound_joints) or len(meshes) != len(text.meshes):
        return None
    for joint, (start, end, (name, parent, numbers)) in zip(joints, text.bound_joints, strict=True):
        same = _same(_singles([*joint.position, *joint.orientation]), _singles(numbers))
        if (joint.name, joint.parent) != (name, parent) or not same:
            spans.append((start, end, _bound_line(joint)))
    for mesh, original in zip(meshes, text.meshes, strict=True):
        if (len(mesh.vertices), len(mesh.weights), len(mesh.triangles)) != _counts(original):
            return None
        if mesh.material != original.shader.value:
            if original.shader.start < 0:
                return None
            spans.append((original.shader.start, original.shader.end, quoted(mesh.material)))
        tables = zip((b"vert", b"weight", b"tri"), _tables(original), strict=True)
        for (word, before), after in zip(tables, (mesh.vertices, mesh.weights, mesh.triangles), strict=True):
            if np.asarray(after).tobytes() != before.tobytes():
                start, end, _ = original.tables[word]
                spans.append((start, end, "\n\t".join(table_rows(word, after))))
    return spans


def _joint_line(joint: Joint) -> str:
    return f"{quoted(joint.name)} {joint.parent} {joint.flags} {joint.start_index}"


def _bound_line(joint: ModelJoint) -> str:
    return f"{quoted(joint.name)} {joint.parent} {vectors([*joint.position, *joint.orientation])}"


def _new_animation_lines(top: Animation) -> Iterator[str]:
    joints, rows = _joints_of(top), _frames_of(top)
    yield f"MD5Version {top.version}"
    yield f"commandline {quoted(top.command_line)}"
    yield f"\nnumFrames {len(rows)}\nnumJoints {len(joints)}\nframeRate {top.frame_rate}"
    yield f"numAnimatedComponents {rows.shape[1] - BOUNDS_FLOATS}\n\nhierarchy {{"
    yield from (f"\t{_joint_line(joint)}" for joint in joints)
    yield "}\n\nbounds {"
    yield from (f"\t{vectors(row)}" for row in rows[:, :BOUNDS_FLOATS])
    yield "}\n\nbaseframe {"
    yield from (f"\t{vectors([*joint.position, *_stored(joint.orientation)])}" for joint in joints)
    yield "}"
    for number, row in enumerate(rows[:, BOUNDS_FLOATS:]):
        yield f"\nframe {number} {{\n\t{written(row)}\n}}"


def _new_model_lines(top: Model) -> Iterator[str]:
    joints, meshes = _joints_of(top), [child for child in top.children if isinstance(child, Mesh)]
    yield f"MD5Version {top.version}"
    yield f"commandline {quoted(top.command_line)}"
    yield f"\nnumJoints {len(joints)}\nnumMeshes {len(meshes)}\n\njoints {{"
    yield from (f"\t{_bound_line(joint)}" for joint in joints)
    yield "}"
    for mesh in meshes:
        yield f"\nmesh {{\n\tshader {quoted(mesh.material)}"
        for word, table in ((b"vert", mesh.vertices), (b"tri", mesh.triangles), (b"weight", mesh.weights)):
            yield f"\n\tnum{word.decode()}s {len(table)}"
            yield from (f"\t{line}" for line in table_rows(word, np.asarray(table)))
        yield "}"


def new_animation(
    joints: Iterable[Joint], components: npt.ArrayLike, *, bounds: npt.ArrayLike | None = None, frame_rate: int = 24
) -> Document:
    """Make an animation of joints, components ``(frames, components)`` and boxes ``(frames, 2, 3)``."""
    frames = Frames.make(components, bounds)
    top = Animation(frame_rate=frame_rate, children=[*joints, frames])
    top.joint_count = len(top.children) - 1
    top.frame_count, width = frames.rows.shape
    top.component_count = width - BOUNDS_FLOATS
    return Document(FORMAT, [top])


def new_model(meshes: Iterable[Mesh], joints: Iterable[ModelJoint]) -> Document:
    """Make a model of meshes and joints."""
    mesh_records, joint_records = list(meshes), list(joints)
    top = Model(joint_count=len(joint_records), mesh_count=len(mesh_records), children=[*joint_records, *mesh_records])
    return Document(FORMAT, [top])


CODEC = Codec(
    decode,
    encode,
    (Animation, Joint, Frames, Model, Mesh, ModelJoint, CameraPath, Cut, CameraFrames, RawRun),
    recover=recover,
    mend=mend,
)
