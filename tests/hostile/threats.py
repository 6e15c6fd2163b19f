"""The threat tables of the safety document as files: format -> row -> attacks, each with the expected code.

An attack is (what, bytes, code). If the code is None, the file is valid apart from what its row says, and is kept.
"""

from __future__ import annotations

import struct

from tests.building import files as w

Attack = tuple[str, bytes, str | None]
NAN, INF = float("nan"), float("inf")

HUGE = 0xFFFFFFFF
_SIZES = (0, 1, 5, 0x80000000, HUGE)


def _length_code(size: int) -> str:
    return "STRUCT_CHUNK_TOO_SMALL" if size < 6 else "STRUCT_CHUNK_OVERRUN"


def _position(*keys: bytes, count: int | None = None, flags: int = 0) -> bytes:
    return w.keyframer(w.node(b"Box", 0, -1, w.track(0xB020, *keys, count=count, flags=flags)))


def _names(name: bytes) -> bytes:
    return w.editor(w.mesh(w.points(*w.TRIANGLE), name=name))


def _map(name: bytes) -> bytes:
    return w.editor(w.material(b"red", w.texture(name)))


def _spot(hotspot: float, falloff: float) -> bytes:
    cone = w.chunk(0x4610, w.floats(0, 0, 0, hotspot, falloff))
    return w.editor(w.chunk(0x4000, b"s\0", w.chunk(0x4600, w.floats(1, 2, 3), cone)))


def _zeros(chunk_id: int, rows: list[tuple[float, ...]], layout: str, name: bytes = b"") -> bytes:
    """A mesh with a table of which the rows from the tenth to the fortieth are zero, and a name before it."""
    rows[10:40] = [(0,) * len(rows[0])] * 30
    points = b"" if chunk_id == 0x4110 else w.points(*((float(n), 1.0, 0.0) for n in range(52)))
    table = b"".join(struct.pack(layout, *row) for row in rows)
    return w.editor(w.mesh(points, w.chunk(chunk_id, name, struct.pack("<H", len(rows)), table)))


_MESH = w.points(*w.TRIANGLE)
_COUNTED = {0x4110: 12, 0x4120: 8, 0x4140: 8}

THREEDS: dict[str, list[Attack]] = {
    "main id": [
        ("not a top chunk", struct.pack("<HI", 0x4D4E, 6), "IO_UNRECOGNISED"),
        ("a chunk of the inside", w.chunk(0x4100), "IO_UNRECOGNISED"),
        ("two bytes", b"MM", "IO_UNRECOGNISED"),
    ],
    "chunk length": [
        *((f"{n:#x} inside", w.editor(w.chunk(0x0100, bytes(4), length=n)), _length_code(n)) for n in _SIZES),
        *((f"{n:#x} unknown", w.editor(w.chunk(0x7777, length=n)), _length_code(n)) for n in _SIZES),
        ("beyond its parent", w.editor(w.chunk(0x1200, w.chunk(0x0011, bytes(3), length=10))), "STRUCT_CHUNK_OVERRUN"),
        ("one below its header", w.chunk(0x4D4D, length=5), "STRUCT_CHUNK_TOO_SMALL"),
    ],
    "main length": [
        ("longer", w.chunk(0x4D4D, w.chunk(0x0002, bytes(4)), length=100), "STRUCT_TRUNCATED"),
        ("all ones", w.chunk(0x4D4D, w.chunk(0x0002, bytes(4)), length=HUGE), "STRUCT_TRUNCATED"),
        ("shorter", w.main() + b"tail", "STRUCT_TRAILING_DATA"),
    ],
    "nesting": [
        ("an editor in an editor", w.editor(w.chunk(0x3D3D, w.chunk(0x3D3D))), "STRUCT_CHUNK_MISPLACED"),
        ("unknown in unknown", w.editor(w.chunk(0x7777, w.chunk(0x7777))), "STRUCT_UNKNOWN_CHUNK"),
    ],
    "number of chunks": [("20,000 of six bytes", w.editor(w.chunk(0x7777) * 20_000), "STRUCT_UNKNOWN_CHUNK")],
    "counted lists": [
        *(
            (f"{kind:04x}: more than there is", w.editor(w.mesh(w.chunk(kind, b"\xff\xff" + bytes(size)))), code)
            for kind, size in _COUNTED.items()
            for code in ("STRUCT_COUNT_EXCEEDS_DATA",)
        ),
        *(
            (f"{kind:04x}: less", w.editor(w.mesh(w.chunk(kind, b"\0\0" + bytes(size - 3)))), "STRUCT_CHUNK_SLACK")
            for kind, size in _COUNTED.items()
        ),
        *((f"{kind:04x}: none", w.editor(w.mesh(w.chunk(kind, b"\0\0"))), None) for kind in _COUNTED),
        ("4130: more", w.editor(w.mesh(_MESH, w.faces((0, 1, 2), inside=w.chunk(0x4130, b"a\0\xff\xff")))),
         "STRUCT_COUNT_EXCEEDS_DATA"),
        ("lists twice", w.editor(w.mesh(_MESH, _MESH)), "STRUCT_DUPLICATE_CHUNK"),
        ("order swapped", w.editor(w.mesh(w.faces((0, 1, 2)), _MESH)), None),
    ],
    "face corners": [
        ("outside", w.editor(w.mesh(_MESH, w.faces((0, 1, 3)))), "LINK_INDEX_OUT_OF_RANGE"),
        ("65535", w.editor(w.mesh(_MESH, w.faces((0, 1, 65535)))), "LINK_INDEX_OUT_OF_RANGE"),
        ("no vertices", w.editor(w.mesh(w.faces((0, 1, 2)))), "LINK_INDEX_OUT_OF_RANGE"),
    ],
    "face numbers of 4130": [
        ("outside", w.editor(w.material(), w.mesh(_MESH, w.faces(
            (0, 1, 2), inside=w.chunk(0x4130, b"red\0", struct.pack("<HH", 1, 1))))), "LINK_INDEX_OUT_OF_RANGE"),
    ],
    "4140 against 4110": [
        ("fewer", w.editor(w.mesh(_MESH, w.chunk(0x4140, b"\1\0", bytes(8)))), "LINK_COUNT_MISMATCH"),
        ("more", w.editor(w.mesh(_MESH, w.chunk(0x4140, b"\4\0", bytes(32)))), "LINK_COUNT_MISMATCH"),
    ],
    "4150": [
        ("not four bytes a face", w.editor(w.mesh(_MESH, w.faces((0, 1, 2), inside=w.chunk(0x4150, bytes(5))))),
         "STRUCT_CHUNK_SLACK"),
        ("of another number of faces", w.editor(w.mesh(_MESH, w.faces((0, 1, 2), inside=w.chunk(0x4150, bytes(8))))),
         "LINK_COUNT_MISMATCH"),
    ],
    "names": [
        ("no NUL in the chunk", w.editor(w.chunk(0x4000, b"Box")), "STRUCT_STRING_UNTERMINATED"),
        ("NUL in the next chunk", w.editor(w.chunk(0x4000, b"Box") + w.chunk(0x1101)), "STRUCT_STRING_UNTERMINATED"),
        ("70,000 bytes", _names(b"x" * 70_000), "SEM_NAME_TOO_LONG"),
        ("more than a mebibyte", _names(b"x" * (1024 * 1024 + 1)), "LIMIT_NAME"),
        ("controls", _names(b"\x1b[31m"), "SEC_NAME_CONTROL_CHARS"),
        ("markup", _names(b"<b>x"), "SEC_NAME_MARKUP"),
        ("bidi", _names("\u202egnp".encode()), "SEC_NAME_BIDI"),
        ("a formula", _names(b"=A1"), "SEC_NAME_FORMULA"),
        ("not UTF-8", _names(b"\xff\x81"), "SEM_NAME_ENCODING"),
        ("material", w.editor(w.material(b"\x07")), "SEC_NAME_CONTROL_CHARS"),
        ("node", w.keyframer(w.node(b"<i>")), "SEC_NAME_MARKUP"),
        ("morph key", w.keyframer(w.node(b"a", 0, -1, w.track(0xB026, w.key(0) + b"Box"))),
         "STRUCT_STRING_UNTERMINATED"),
        ("process", w.editor(w.mesh(w.chunk(0x4181, b"x"))), "STRUCT_STRING_UNTERMINATED"),
    ],
    "file names": [
        ("up and away", _map(b"..\\..\\x.tga"), "SEC_PATH_TRAVERSAL"),
        ("root", _map(b"/etc/passwd"), "SEC_PATH_ABSOLUTE"),
        ("drive", _map(b"c:\\x.tga"), "SEC_PATH_ABSOLUTE"),
        ("UNC", _map(b"\\\\host\\x"), "SEC_PATH_UNC"),
        ("URL", _map(b"http://x/y"), "SEC_PATH_URL"),
        ("device", _map(b"NUL"), "SEC_PATH_RESERVED"),
        ("stream", _map(b"a.png::$DATA"), "SEC_PATH_RESERVED"),
        ("background", w.editor(w.chunk(0x1100, b"..\\x\0")), "SEC_PATH_TRAVERSAL"),
        ("projector", w.editor(w.chunk(0x4000, b"L\0", w.chunk(0x4600, bytes(12), w.chunk(
            0x4610, bytes(20), w.chunk(0x4653, b"\\\\h\\x\0"))))), "SEC_PATH_UNC"),
    ],
    "key count": [
        ("all ones", _position(w.key(0, 0, 0, 0), count=HUGE), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("wraps 32 bits", _position(w.key(0, 0, 0, 0), count=0x0E38E38F), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("one too many", _position(w.key(0, 0, 0, 0), count=2), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("hide keys", w.keyframer(w.node(b"a", 0, -1, w.track(0xB029, count=HUGE))), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("floats that are announced but not there", _position(w.key(0, 0, 0, 0, flags=31)), "STRUCT_TRUNCATED"),
    ],
    "key times": [
        ("negative", _position(w.key(-1, 0, 0, 0)), "DATA_TIME_NEGATIVE"),
        ("unsorted", _position(w.key(9, 0, 0, 0), w.key(3, 0, 0, 0)), "DATA_KEYS_NOT_INCREASING"),
        ("twice", _position(w.key(9, 0, 0, 0), w.key(9, 0, 0, 0)), "DATA_KEYS_NOT_INCREASING"),
        ("2^31-1", _position(w.key(2**31 - 1, 0, 0, 0)), "DATA_TIME_HUGE"),
    ],
    "key flags": [("bits 5 to 15", _position(w.key(0, 0, 0, 0, flags=0xFFE0)), "SEM_UNKNOWN_FLAG_BITS")],
    "numbers": [
        ("NaN", _position(w.key(0, NAN, 0, 0)), "DATA_NON_FINITE"),
        ("infinity", _position(w.key(0, INF, 0, 0)), "DATA_NON_FINITE"),
        ("1e38", _position(w.key(0, 1e38, 0, 0)), "DATA_VALUE_HUGE"),
        ("denormal", _position(w.key(0, 1e-44, 0, 0)), None),
        ("tension 2", _position(w.key(0, 0, 0, 0, flags=1, extras=(2.0,))), "DATA_TCB_OUT_OF_RANGE"),
        ("ease -1", _position(w.key(0, 0, 0, 0, flags=8, extras=(-1.0,))), "DATA_TCB_OUT_OF_RANGE"),
        ("tension NaN", _position(w.key(0, 0, 0, 0, flags=1, extras=(NAN,))), "DATA_NON_FINITE"),
        ("vertex", w.editor(w.mesh(w.points((NAN, 0, 0)))), "DATA_NON_FINITE"),
        ("fog", w.editor(w.chunk(0x2200, w.floats(INF, 0, 0, 0))), "DATA_NON_FINITE"),
    ],
    "rows of zeros": [
        ("faces", _zeros(0x4120, [(n, n + 1, n + 2, 7) for n in range(50)], "<4H"), "DATA_ZERO_ROWS"),
        ("faces of a material", _zeros(0x4130, [(n,) for n in range(50)], "<H", b"wood\0"), "DATA_ZERO_ROWS"),
        ("vertices", _zeros(0x4110, [(1.0, n, 0.0) for n in range(50)], "<3f"), "DATA_ZERO_ROWS"),
    ],
    "lenses and cones": [
        ("lens 0", w.editor(w.chunk(0x4000, b"c\0", w.chunk(0x4700, bytes(32)))), "DATA_OUT_OF_RANGE"),
        ("hotspot above falloff", _spot(60, 40), "DATA_OUT_OF_RANGE"),
        ("falloff above 180", _spot(10, 200), "DATA_OUT_OF_RANGE"),
    ],
    "rotation axis": [
        ("zero", w.keyframer(w.node(b"a", 0, -1, w.track(0xB021, w.key(0, 1, 0, 0, 0)))), "DATA_ZERO_AXIS"),
        ("a huge angle", w.keyframer(w.node(b"a", 0, -1, w.track(0xB021, w.key(0, 1e7, 0, 0, 1)))), "DATA_ANGLE_HUGE"),
    ],
    "matrix": [
        ("zeros", w.editor(w.mesh(_MESH, w.chunk(0x4160, bytes(48)))), "DATA_MATRIX_SINGULAR"),
        ("NaN", w.editor(w.mesh(_MESH, w.chunk(0x4160, w.floats(*[NAN] * 12)))), "DATA_MATRIX_SINGULAR"),
    ],
    "hierarchy": [
        ("self", w.keyframer(w.node(b"a", 0, 0)), "LINK_PARENT_CYCLE"),
        ("circle of two", w.keyframer(w.node(b"a", 0, 1), w.node(b"b", 1, 0)), "LINK_PARENT_CYCLE"),
        ("circle of three", w.keyframer(w.node(b"a", 0, 2), w.node(b"b", 1, 0), w.node(b"c", 2, 1)),
         "LINK_PARENT_CYCLE"),
        ("missing", w.keyframer(w.node(b"a", 0, 9)), "LINK_PARENT_MISSING"),
        ("a negative id", w.keyframer(w.node(b"a", 0, -32768)), "LINK_PARENT_MISSING"),
        ("ambiguous", w.keyframer(w.node(b"a", 0), w.node(b"b", 0), w.node(b"c", 2, 0)), "LINK_DUPLICATE_ID"),
        ("forward", w.keyframer(w.node(b"a", 0, 1), w.node(b"b", 1)), "LINK_PARENT_AFTER_CHILD"),
    ],
    "segment": [
        ("huge", w.keyframer(w.chunk(0xB008, struct.pack("<iI", 0, 0x7FFFFFFF))), "DATA_FRAME_RANGE_HUGE"),
        ("all ones", w.keyframer(w.chunk(0xB008, struct.pack("<iI", 0, HUGE))), "DATA_FRAME_RANGE_INVERTED"),
        ("backwards", w.keyframer(w.chunk(0xB008, struct.pack("<ii", 9, 3))), "DATA_FRAME_RANGE_INVERTED"),
    ],
    "fixed sizes": [
        *(
            (f"{kind:04x} shorter", w.editor(w.chunk(0x4000, b"x\0", w.chunk(kind, bytes(size - 1)))),
             "STRUCT_CHUNK_TOO_SMALL")
            for kind, size in ((0x4700, 32), (0x4600, 12))
        ),
        ("4610 shorter", w.editor(w.chunk(0x4000, b"x\0", w.chunk(0x4600, bytes(12), w.chunk(0x4610, bytes(19))))),
         "STRUCT_CHUNK_TOO_SMALL"),
        ("b013 shorter", w.keyframer(w.node(b"a", 0, -1, w.chunk(0xB013, bytes(11)))), "STRUCT_CHUNK_TOO_SMALL"),
        ("0002 shorter", w.chunk(0x4D4D, w.chunk(0x0002, bytes(3))), "STRUCT_CHUNK_TOO_SMALL"),
        ("0002 longer", w.chunk(0x4D4D, w.chunk(0x0002, struct.pack("<I", 3), b"x")), "STRUCT_CHUNK_SLACK"),
        ("b013 longer", w.keyframer(w.node(b"a", 0, -1, w.chunk(0xB013, bytes(13)))), "STRUCT_CHUNK_SLACK"),
    ],
    "same name": [("5,000 objects", w.editor(w.mesh(_MESH) * 5_000), "SEM_DUPLICATE_NAME")],
}  # fmt: skip

_FRAME = (*w.BOX, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_MOVING = w.joint(b"hip\0", -1, 63, 0)

HALE3D: dict[str, list[Attack]] = {
    "ID": [
        ("big endian", b"AD3H" + bytes(20), "IO_UNRECOGNISED"),
        ("wrong", b"H3DX" + bytes(20), "IO_UNRECOGNISED"),
    ],
    "version": [
        ("0", w.h3da([w.joint()], version=0), "SEM_UNKNOWN_VERSION"),
        ("all ones", w.h3da([w.joint()], version=HUGE), "SEM_UNKNOWN_VERSION"),
        ("of a model", w.h3dm([], [w.model_joint()], version=7), "SEM_UNKNOWN_VERSION"),
    ],
    "frame count": [
        ("206 GB", w.h3da([_MOVING], [_FRAME], frame_count=HUGE), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("wraps", w.h3da([_MOVING], [_FRAME], frame_count=0x15555556), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("one too many", w.h3da([_MOVING], [_FRAME], frame_count=2), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("one too few", w.h3da([_MOVING], [_FRAME] * 2, frame_count=1), "STRUCT_TRAILING_DATA"),
    ],
    "frame rate": [
        ("0", w.h3da([_MOVING], [_FRAME], rate=0), "DATA_RATE_INVALID"),
        ("all ones", w.h3da([_MOVING], [_FRAME], rate=HUGE), "DATA_RATE_INVALID"),
    ],
    "joint count": [
        ("all ones", w.h3da([_MOVING], [_FRAME], joint_count=HUGE), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("none", w.h3da([], [w.BOX]), None),
        ("of a model", b"H3DM" + struct.pack("<III", 1, 0, HUGE), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("meshes of a model", b"H3DM" + struct.pack("<III", 1, HUGE, 0), "STRUCT_COUNT_EXCEEDS_DATA"),
    ],
    "component count": [
        ("all ones", w.h3da([_MOVING], [_FRAME], components=HUGE), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("x 4 is 0 in 32 bits", w.h3da([_MOVING], [_FRAME], components=0x40000000), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("all ones, no frames", w.h3da([_MOVING], components=HUGE), "SEM_EMPTY_TRACK"),
    ],
    "parent": [
        ("self", w.h3da([w.joint(parent=0)]), "LINK_PARENT_CYCLE"),
        ("circle", w.h3da([w.joint(parent=1), w.joint(parent=0)]), "LINK_PARENT_CYCLE"),
        ("too high", w.h3da([w.joint(parent=1)]), "LINK_PARENT_MISSING"),
        ("-2", w.h3da([w.joint(parent=-2)]), "LINK_PARENT_MISSING"),
        ("-2^31", w.h3da([w.joint(parent=-(2**31))]), "LINK_PARENT_MISSING"),
        ("after its child", w.h3da([w.joint(b"a\0", 1), w.joint(b"b\0")]), "LINK_PARENT_AFTER_CHILD"),
        ("in a model", w.h3dm([], [w.model_joint(parent=0)]), "LINK_PARENT_CYCLE"),
    ],
    "flags": [("bits 6 to 31", w.h3da([w.joint(flags=0xFFFFFFC0)], [w.BOX]), "SEM_UNKNOWN_FLAG_BITS")],
    "start index": [
        ("outside", w.h3da([w.joint(flags=1, start=6)], [_FRAME]), "LINK_INDEX_OUT_OF_RANGE"),
        ("wraps", w.h3da([w.joint(flags=1, start=HUGE)], [_FRAME]), "LINK_INDEX_OUT_OF_RANGE"),
        ("overlap", w.h3da([w.joint(b"a\0", -1, 3, 0), w.joint(b"b\0", -1, 3, 1)], [_FRAME]), "LINK_RANGE_OVERLAP"),
    ],
    "name": [
        ("no NUL to the end", w.h3da([struct.pack("<iII", -1, 0, 0) + b"x" * 29]), "STRUCT_STRING_UNTERMINATED"),
        (
            "slides into the numbers",
            w.h3da([w.joint(b"hip", position=(1.1, 1.1, 1.1))], [_FRAME]),
            "STRUCT_NAME_SUSPECT",
        ),
        ("more than a mebibyte", w.h3da([w.joint(b"x" * (1024 * 1024 + 1) + b"\0")]), "LIMIT_NAME"),
        ("hostile", w.h3da([w.joint(b"\x1b[2J\0")]), "SEC_NAME_CONTROL_CHARS"),
        ("path of a material", w.h3dm([w.model_mesh(b"../x\0")], [w.model_joint()]), "SEC_PATH_TRAVERSAL"),
    ],
    "floats": [
        ("NaN in the base", w.h3da([w.joint(position=(NAN, 0, 0))]), "DATA_NON_FINITE"),
        ("no real w", w.h3da([_MOVING], [(*w.BOX, 0, 0, 0, 1, 1, 1)]), "DATA_QUATERNION_INVALID"),
        ("NaN in a frame", w.h3da([_MOVING], [(*w.BOX, 0, 0, 0, NAN, 0, 0)]), "DATA_QUATERNION_INVALID"),
    ],
    "bounding box": [
        ("inverted", w.h3da([_MOVING], [(1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0)]), "DATA_BOUNDS_INVERTED"),
        ("NaN", w.h3da([_MOVING], [(NAN, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0)]), "DATA_BOUNDS_INVERTED"),
    ],
    "depth": [
        ("2,000 joints in a row", w.h3da([w.joint(b"j\0", n - 1) for n in range(2_000)]), "SEM_DEEP_HIERARCHY"),
    ],
    "end": [("trailing bytes", w.h3da([_MOVING], [_FRAME]) + b"x", "STRUCT_TRAILING_DATA")],
    "links of a model": [
        ("vertex", w.h3dm([w.model_mesh(triangles=((0, 1, 3),))], [w.model_joint()]), "LINK_INDEX_OUT_OF_RANGE"),
        ("weight", w.h3dm([w.model_mesh(vertices=((0, 4),))], [w.model_joint()]), "LINK_INDEX_OUT_OF_RANGE"),
        ("joint", w.h3dm([w.model_mesh(weights=(0, -1, 0))], [w.model_joint()]), "LINK_INDEX_OUT_OF_RANGE"),
    ],
}

_COUNTS = ("objects", "cameras", "lights", "materials", "controllers", "bones")


def _one_count(at: int, value: int) -> bytes:
    """Return a scene with one object, one material and one controller, in which one count is wrong."""
    counts = [1, 0, 0, 1, 1, 0]
    counts[at] = value
    return w.u3d(objects=[w.u3d_mesh()], materials=[w.u3d_material()], controllers=[w.controller()], counts=counts)


def _one_mesh(at: int, value: int) -> bytes:
    counts = [3, 1, 0, 0]
    counts[at] = value
    return w.u3d(objects=[w.u3d_mesh(counts=counts)], materials=[w.u3d_material()])


def _skinned(skin: bytes, **bones: object) -> bytes:
    return w.u3d(objects=[w.u3d_mesh(flags=4, skin=skin)], materials=[w.u3d_material()], bones=[w.u3d_base(b"b", 3)])


_RED = [w.u3d_material()]


def _scene(**parts: object) -> bytes:
    return w.u3d(**{"objects": [w.u3d_mesh()], "materials": _RED, **parts})  # type: ignore[arg-type]


_TCB = w.u3d_key(0, 0, 0, 0, flags=1, extras=(9.0,))

UTO3D: dict[str, list[Attack]] = {
    "header counts": [
        *((f"{name} negative", _one_count(at, -1), "STRUCT_COUNT_NEGATIVE") for at, name in enumerate(_COUNTS)),
        *(
            (f"{name} 2^31-1", _one_count(at, 2**31 - 1), "STRUCT_COUNT_EXCEEDS_DATA")
            for at, name in enumerate(_COUNTS)
        ),
        ("too small", _one_count(0, 0), "STRUCT_TAG_MISMATCH"),
    ],
    "first, last, rate, delta, scale": [
        ("2^31 frames", _scene(last=2**31 - 1), "DATA_FRAME_RANGE_HUGE"),
        ("backwards", _scene(first=5, last=-5), "DATA_FRAME_RANGE_INVERTED"),
        ("delta 0", _scene(delta=0), "DATA_RATE_INVALID"),
        ("rate 0", _scene(rate=0), "DATA_RATE_INVALID"),
        ("scale NaN", _scene(scale=NAN), "DATA_NON_FINITE"),
        ("scale 0", _scene(scale=0.0), None),
    ],
    "counts of a mesh": [
        *((f"number {at} negative", _one_mesh(at, -1), "STRUCT_COUNT_NEGATIVE") for at in range(4)),
        *((f"number {at} 2^31-1", _one_mesh(at, 2**31 - 1), "STRUCT_COUNT_EXCEEDS_DATA") for at in range(4)),
        *((f"number {at} wraps", _one_mesh(at, 0x15555556), "STRUCT_COUNT_EXCEEDS_DATA") for at in range(4)),
    ],
    "skin type": [
        *((f"{kind}", _skinned(bytes([kind])), "SEM_UNKNOWN_ENUM") for kind in (2, 255)),
    ],
    "bones a vertex": [
        ("negative", _skinned(b"\1" + struct.pack("<3i", -1, 0, 0)), "STRUCT_COUNT_NEGATIVE"),
        ("2^31-1", _skinned(b"\1" + struct.pack("<3i", 2**31 - 1, 0, 0)), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("sum", _skinned(b"\1" + struct.pack("<3i", 10**8, 10**8, 10**8)), "STRUCT_COUNT_EXCEEDS_DATA"),
    ],
    "indices": [
        ("negative", _scene(objects=[w.u3d_mesh(corners=((0, 1, -1),))]), "LINK_INDEX_OUT_OF_RANGE"),
        ("too high", _scene(objects=[w.u3d_mesh(corners=((0, 1, 3),))]), "LINK_INDEX_OUT_OF_RANGE"),
    ],
    "ids": [
        ("bone that is not there", _skinned(b"\0" + struct.pack("<3i", 3, 3, 99)), "LINK_UNRESOLVED_ID"),
        ("owner that is not there", _scene(controllers=[w.controller(77)]), "LINK_UNRESOLVED_ID"),
        ("target that is not there", _scene(cameras=[w.u3d_camera(target=77)]), "LINK_UNRESOLVED_ID"),
        ("material that is not there", _scene(objects=[w.u3d_mesh(face_material=77)]), "LINK_UNRESOLVED_ID"),
        ("twice and used", _scene(bones=[w.u3d_base(b"a", 3), w.u3d_base(b"b", 3), w.u3d_base(b"c", 4, 3)]),
         "LINK_DUPLICATE_ID"),
        ("twice in two sections", _scene(bones=[w.u3d_base(b"a", 1)]), "LINK_DUPLICATE_ID"),
    ],
    "parent": [
        ("self", _scene(bones=[w.u3d_base(b"a", 3, 3)]), "LINK_PARENT_CYCLE"),
        ("circle", _scene(bones=[w.u3d_base(b"a", 3, 4), w.u3d_base(b"b", 4, 3)]), "LINK_PARENT_CYCLE"),
        ("circle across sections", _scene(objects=[w.u3d_mesh(parent=3)], bones=[w.u3d_base(b"b", 3, 1)]),
         "LINK_PARENT_CYCLE"),
        ("missing: a root with a warning", _scene(bones=[w.u3d_base(b"a", 3, 9)]), "LINK_PARENT_MISSING"),
    ],
    "light type": [
        ("3", _scene(lights=[w.u3d_light(kind=3)]), "SEM_UNKNOWN_ENUM"),
        ("all ones", _scene(lights=[w.u3d_light(kind=HUGE)]), "SEM_UNKNOWN_ENUM"),
    ],
    "controller type and scheme": [
        ("type 6", _scene(controllers=[w.controller(kind=6)]), "SEM_UNKNOWN_ENUM"),
        ("type 255", _scene(controllers=[w.controller(kind=255)]), "SEM_UNKNOWN_ENUM"),
        ("scheme 3", _scene(controllers=[w.controller(scheme=3)]), "SEM_UNSUPPORTED_SCHEME"),
        ("scheme 255", _scene(controllers=[w.controller(scheme=255)]), "SEM_UNSUPPORTED_SCHEME"),
        ("Bezier: a header only", _scene(controllers=[w.controller(scheme=2, count=9)]), "SCENE_NO_KEYS"),
        ("type 5: a header only", _scene(controllers=[struct.pack("<Bi", 5, 255)]), None),
    ],
    "keys": [
        ("count 2^31-1", _scene(controllers=[w.controller(count=2**31 - 1)]), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("count negative", _scene(controllers=[w.controller(count=-1)]), "STRUCT_COUNT_NEGATIVE"),
        ("flags all ones", _scene(controllers=[w.controller(scheme=1, keys=[w.u3d_key(
            0, 0, 0, 0, flags=255, extras=[0.0] * 5)])]), "SEM_UNKNOWN_FLAG_BITS"),
        ("tension 9", _scene(controllers=[w.controller(scheme=1, keys=[_TCB])]), "DATA_TCB_OUT_OF_RANGE"),
        ("before the beginning", _scene(controllers=[w.controller(keys=[w.u3d_key(-9, 0, 0, 0)])]),
         "DATA_TIME_NEGATIVE"),
    ],
    "names": [
        ("no NUL to the end", w.u3d(counts=[1, 0, 0, 0, 0, 0])[:54] + b"MESH" + b"x" * 90,
         "STRUCT_STRING_UNTERMINATED"),
        ("more than a mebibyte", _scene(objects=[w.u3d_mesh(b"x" * (1024 * 1024 + 1))]), "LIMIT_NAME"),
        ("markup", _scene(objects=[w.u3d_mesh(b"<img>")]), "SEC_NAME_MARKUP"),
    ],
    "version": [("9.0", _scene(version=b"\x09\x00"), "SEM_UNKNOWN_VERSION")],
}  # fmt: skip

_MOVE = w.nanim_key(0.0, 1, 2, 3)
_NODE = w.nanim_node(b"hip", 4, [_MOVE])


def _sized(first: int | None = None, second: int | None = None) -> bytes:
    body = struct.pack("<i", 0) + b"walk\0me\0" + struct.pack("<h", 1)
    return w.chunk(1, body, length=first) + w.chunk(2, _NODE, length=second)


NODEANIM: dict[str, list[Attack]] = {
    "chunk size": [
        ("0", _sized(second=0), "STRUCT_CHUNK_TOO_SMALL"),
        ("3", _sized(second=3), "STRUCT_CHUNK_TOO_SMALL"),
        ("all ones", _sized(second=HUGE), "STRUCT_CHUNK_OVERRUN"),
        ("first all ones", _sized(first=HUGE), "STRUCT_CHUNK_OVERRUN"),
    ],
    "chunks": [
        ("2 before 1", w.chunk(2, _NODE) + w.nanim_header(1), "STRUCT_CHUNK_ORDER"),
        ("no chunk 2", w.nanim_header(1), "STRUCT_CHUNK_MISSING"),
        ("no chunk 1", w.chunk(2, _NODE), "STRUCT_CHUNK_MISSING"),
        ("1 twice", w.nanim_header(1) + w.nanim(_NODE), "STRUCT_DUPLICATE_CHUNK"),
        ("2 twice", w.nanim(_NODE) + w.chunk(2, _NODE), "STRUCT_DUPLICATE_CHUNK"),
        ("unknown", w.nanim(_NODE) + w.chunk(9, b"?"), "STRUCT_UNKNOWN_CHUNK"),
    ],
    "node count": [
        ("-1", w.nanim(_NODE, count=-1), "STRUCT_COUNT_NEGATIVE"),
        ("more", w.nanim(_NODE, count=2), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("fewer", w.nanim(_NODE, _NODE, count=1), "STRUCT_CHUNK_SLACK"),
    ],
    "flags": [
        ("TCB and LINEAR", w.nanim(w.nanim_node(b"hip", 5, [w.nanim_key(0, 1, 2, 3, tcb=[0.0] * 5)])),
         "SEM_CONTRADICTORY_FLAGS"),
        ("0", w.nanim(w.nanim_node(b"hip", 0, [_MOVE])), "SEM_UNKNOWN_ENUM"),
        ("all ones", w.nanim(w.nanim_node(b"hip", -1, [w.nanim_key(0, 1, 2, 3, tcb=[0.0] * 5)])),
         "SEM_UNKNOWN_FLAG_BITS"),
        ("of the header", w.nanim(_NODE, flags=8), "SEM_UNKNOWN_FLAG_BITS"),
    ],
    "key counts": [
        ("negative", w.nanim(w.nanim_node(counts=(-1, 0, 0))), "STRUCT_COUNT_NEGATIVE"),
        ("2^31-1", w.nanim(w.nanim_node(counts=(0, 2**31 - 1, 0))), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("sum 2^32", w.nanim(w.nanim_node(counts=(2**30, 2**31 - 1, 2**30))), "STRUCT_COUNT_EXCEEDS_DATA"),
    ],
    "time": [
        ("NaN", w.nanim(w.nanim_node(translations=[w.nanim_key(NAN, 1, 2, 3), _MOVE])), "DATA_NON_FINITE"),
        ("-Inf", w.nanim(w.nanim_node(translations=[w.nanim_key(-INF, 1, 2, 3), _MOVE])), "DATA_NON_FINITE"),
        ("unsorted", w.nanim(w.nanim_node(translations=[w.nanim_key(2, 1, 2, 3), _MOVE])), "DATA_KEYS_NOT_INCREASING"),
        ("negative", w.nanim(w.nanim_node(translations=[w.nanim_key(-2, 1, 2, 3), _MOVE])), "DATA_TIME_NEGATIVE"),
        ("1e30", w.nanim(w.nanim_node(translations=[w.nanim_key(1e30, 1, 2, 3)])), "DATA_TIME_HUGE"),
    ],
    "axis and angle": [
        ("zero axis", w.nanim(w.nanim_node(rotations=[w.nanim_key(0, 1, 0, 0, 0)])), "DATA_ZERO_AXIS"),
        ("NaN", w.nanim(w.nanim_node(rotations=[w.nanim_key(0, NAN, 0, 0, 1)])), "DATA_NON_FINITE"),
        ("a huge angle", w.nanim(w.nanim_node(rotations=[w.nanim_key(0, 1e9, 0, 0, 1)])), "DATA_ANGLE_HUGE"),
        ("tension 9", w.nanim(w.nanim_node(flags=1, translations=[w.nanim_key(0, 1, 2, 3, tcb=[9.0, 0, 0, 0, 0])])),
         "DATA_TCB_OUT_OF_RANGE"),
    ],
    "strings": [
        ("name", w.nanim(_NODE, name=b"<script>"), "SEC_NAME_MARKUP"),
        ("author", w.nanim(_NODE, author=b"=cmd()"), "SEC_NAME_FORMULA"),
        ("node", w.nanim(w.nanim_node("\u202ehip".encode(), 4, [_MOVE])), "SEC_NAME_BIDI"),
    ],
}  # fmt: skip

_ROW = w.floats(*[0.5] * 6)

MIDTOWN: dict[str, list[Attack]] = {
    "whole file": [
        ("text", b"type: a\nname: b\n" * 8, "IO_UNRECOGNISED"),
        ("another format", w.h3da([_MOVING], [_FRAME]), "IO_UNRECOGNISED"),
        ("bytes left over", w.retail() + b"abc", "STRUCT_TRAILING_DATA"),
        ("compressed", b"cmp\0" + bytes(40), "IO_UNRECOGNISED"),
    ],
    "channels": [
        ("all ones", w.clip(w.channel(_ROW, 6), frames=1, count=HUGE), "IO_UNRECOGNISED"),
        ("one too many", w.clip(w.channel(_ROW, 6), frames=1, count=2), "STRUCT_TRUNCATED"),
        ("none, with huge frames", w.retail(HUGE, 6, rows=_ROW), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("1,001", w.clip(*[w.channel(w.floats(1, 1, 1), 3)] * 1_001, frames=1), "SEM_MANY_CHANNELS"),
    ],
    "frames x floats": [
        ("wraps 64 bits", w.retail(HUGE, HUGE, rows=_ROW), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("wraps 32 bits", w.retail(0x10000, 0x10002, rows=_ROW), "STRUCT_COUNT_EXCEEDS_DATA"),
        ("no frame of 2^32-1", w.retail(0, HUGE, rows=b""), "SEM_EMPTY_TRACK"),
    ],
    "no floats": [
        ("retail", w.retail(HUGE, 0, rows=b""), "SEM_ZERO_WIDTH_FRAMES"),
        ("second channel", w.clip(w.channel(_ROW, 6), w.channel(b"", 0), frames=1), "SEM_ZERO_WIDTH_FRAMES"),
    ],
    "floats % 3": [
        ("7", w.clip(w.channel(w.floats(*[0.5] * 7), 7), frames=1), "SEM_RPH_WIDTH"),
        ("2", w.clip(w.channel(w.floats(0.5, 0.5), 2), frames=1), "SEM_RPH_WIDTH"),
    ],
    "channel type": [("7", w.clip(w.channel(_ROW, 6, kind=7), frames=1), "SEM_RPH_WIDTH")],
    "numbers": [
        ("distance NaN", w.retail(distance=NAN), "DATA_NON_FINITE"),
        ("angle NaN", w.retail(rows=w.floats(*[NAN] * 12)), "DATA_NON_FINITE"),
        ("angle 1e38", w.retail(rows=w.floats(*[1e38] * 12)), "DATA_ANGLE_HUGE"),
    ],
}

_ASE_MESH = "*MESH {\n*MESH_VERTEX_LIST {\n*MESH_VERTEX 0 0 0 0\n*MESH_VERTEX 1 1 0 0\n*MESH_VERTEX 2 0 1 0\n}\n%s}"
_ASE_FACE = "*MESH_FACE_LIST {\n*MESH_FACE %s: A: %s B: 1 C: 2 AB: 1 BC: 1 CA: 1 *MESH_SMOOTHING %s *MESH_MTLID %s\n}\n"


def _ase_mesh(old: str = "", new: str = "", faces: str = "") -> bytes:
    """Return a triangle with one change."""
    return w.ase_object(_ASE_MESH.replace(old, new, 1) % faces)


def _ase_face(number: int = 0, corner: int = 0, groups: int = 1, material: int = 0) -> bytes:
    return _ase_mesh(faces=_ASE_FACE % (number, corner, groups, material))


_ONE_MATERIAL = b'*MATERIAL_LIST {\n\t*MATERIAL_COUNT 1\n\t*MATERIAL 0 {\n\t\t*MATERIAL_NAME "red"\n\t}\n}\n'


def _ase_without_material() -> bytes:
    """Return a triangle that refers to a material behind the end of the list."""
    with_reference = _ase_face().replace(b"*MESH {", b"*MATERIAL_REF 3\n*MESH {")
    return with_reference.replace(b"*GEOMOBJECT", _ONE_MATERIAL + b"*GEOMOBJECT", 1)


def _ase_skin(*lines: str) -> bytes:
    rows = "\n".join(lines)
    return _ase_mesh() + f"*MESH_SOFTSKINVERTS {{\n{rows}\n}}\n".encode()


def _ase_keys(keyword: str, *rows: str) -> bytes:
    lines = "\n".join(rows)
    return w.ase_object(f'*TM_ANIMATION {{\n*NODE_NAME "Box"\n*{keyword} {{\n{lines}\n}}\n}}')


def _ase_moves(*keys: str) -> bytes:
    return _ase_keys("CONTROL_POS_LINEAR", *(f"*CONTROL_POS_KEY {key}" for key in keys))


ASE: dict[str, list[Attack]] = {
    "whole file": [
        ("no star", b"3DSMAX_ASCIIEXPORT 200\n", "IO_UNRECOGNISED"),
        ("another version", w.ase(version=999), "SEM_UNKNOWN_VERSION"),
        ("junk between lines", w.ase("hello"), "STRUCT_SYNTAX"),
        ("UTF-16 that ends in the middle", w.ase().decode().encode("utf-16-le") + b"*", None),
        ("half a surrogate pair", w.ase().decode().encode("utf-16-be") + b"\xd8\x00", "STRUCT_SYNTAX"),
    ],
    "braces": [
        ("never closed", w.ase("*SCENE {"), "STRUCT_SYNTAX"),
        ("closed twice", w.ase("*SCENE {\n}\n}"), "STRUCT_SYNTAX"),
        ("deeper than allowed", w.ase("*A {\n" * 300), "LIMIT_DEPTH"),
        ("in a name", w.ase_object("*NODE_PARENT \"} {\""), "LINK_PARENT_MISSING"),
    ],
    "names": [
        ("without an end", w.ase("*NODE_NAME \"Box"), "STRUCT_SYNTAX"),
        ("control characters", w.ase_object("", name="Bo\x1b[31mx"), "SEC_NAME_CONTROL_CHARS"),
        ("code page 1252", w.ase_object("", name="B\xf6x"), "SEM_NAME_ENCODING"),
        ("empty", w.ase_object("", name=""), "SEM_NAME_EMPTY"),
        ("a path", w.ase("*MAP_DIFFUSE {\n*BITMAP \"..\\..\\x.tga\"\n}"), "SEC_PATH_TRAVERSAL"),
        ("its own parent", w.ase_object("*NODE_PARENT \"Box\""), "LINK_PARENT_CYCLE"),
    ],
    "numbers": [
        ("text", w.ase("*SCENE {\n*SCENE_FIRSTFRAME now\n}"), "STRUCT_SYNTAX"),
        ("too few", w.ase("*TM_POS 1 2"), "STRUCT_SYNTAX"),
        ("of Windows", w.ase("*TM_POS 1.#QNAN 1.#INF -1.#IND"), "DATA_NON_FINITE"),
        ("two dots", _ase_mesh("2 0 1 0", "2 0 1.2.3 0"), "STRUCT_SYNTAX"),
        ("a rate of 0", w.ase("*SCENE {\n*SCENE_FRAMESPEED 0\n}"), "DATA_RATE_INVALID"),
        ("a segment of 2^40 frames", w.ase(f"*SCENE {{\n*SCENE_LASTFRAME {1 << 40}\n}}"), "DATA_FRAME_RANGE_HUGE"),
        ("no such axis", _ase_keys("CONTROL_ROT_TCB", "*CONTROL_TCB_ROT_KEY 0 0 0 0 1 0 0 0 0 0"), "DATA_ZERO_AXIS"),
    ],
    "tables": [
        ("count too large", w.ase("*MESH {\n*MESH_NUMVERTEX 999999999\n}"), None),
        ("count too small", _ase_mesh("{\n", "{\n*MESH_NUMVERTEX 1\n"), "LINK_COUNT_MISMATCH"),
        ("rows of two lengths", _ase_mesh("2 0 1 0", "2 0 1"), "STRUCT_SYNTAX"),
        ("a row number out of range", _ase_mesh("2 0 1 0", "9 0 1 0"), "LINK_INDEX_OUT_OF_RANGE"),
        ("a row number of 2^52", _ase_mesh("2 0 1 0", f"{1 << 52} 0 1 0"), "LINK_INDEX_OUT_OF_RANGE"),
        ("a corner out of range", _ase_face(0, 7, 1, 0), "LINK_INDEX_OUT_OF_RANGE"),
        ("a negative corner", _ase_face(0, -1, 1, 0), "LINK_INDEX_OUT_OF_RANGE"),
        ("smoothing group 33", _ase_face(0, 0, 33, 0), None),
        ("a material id of 2^40", _ase_face(0, 0, 1, 1 << 40), "STRUCT_SYNTAX"),
        ("no such material", _ase_without_material(), "LINK_UNRESOLVED_ID"),
    ],
    "keys": [
        ("not in order", _ase_moves("160 0 0 0", "0 1 1 1"), "DATA_KEYS_NOT_INCREASING"),
        ("before the start", _ase_moves("-160 0 0 0"), "DATA_TIME_NEGATIVE"),
        ("at the end of time", _ase_moves(f"{1 << 50} 0 0 0"), "DATA_TIME_HUGE"),
        ("none", _ase_keys("CONTROL_POS_TRACK"), "SEM_EMPTY_TRACK"),
        ("a huge turn", _ase_keys("CONTROL_ROT_LINEAR", "*CONTROL_ROT_KEY 0 0 0 1 1e9"), "DATA_ANGLE_HUGE"),
        ("tension", _ase_keys("CONTROL_POS_TCB", "*CONTROL_TCB_POS_KEY 0 0 0 0 5 0 0 0 0"), "DATA_TCB_OUT_OF_RANGE"),
    ],
    "skins": [
        ("no such bone", _ase_skin("Box", "1", '1\t"nobody"\t1.0'), "LINK_UNRESOLVED_NAME"),
        ("no such object", _ase_skin("Ball", "1", '1\t"Box"\t1.0'), "LINK_UNRESOLVED_NAME"),
        ("too many vertices", _ase_skin("Box", "4", "0", "0", "0", '1\t"Box"\t1.0'), "LINK_COUNT_MISMATCH"),
    ],
}  # fmt: skip


THREATS: dict[str, dict[str, list[Attack]]] = {
    "3ds": THREEDS,
    "hale3d": HALE3D,
    "uto3d": UTO3D,
    "nodeanim": NODEANIM,
    "midtown": MIDTOWN,
    "ase": ASE,
}
