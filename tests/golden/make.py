"""Makes the golden files: ``python -m tests.golden.make`` writes at least two small files for every code that a file
alone can cause, each with its exact report. Read the diff before committing it: users rely on reports.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import keyframer
from keyframer.catalogue import CATALOGUE
from keyframer.checking import report_record
from tests.building import files as w
from tests.hostile.threats import THREATS
from tests.samples.horde3d import make as horde3d

FOLDER = Path(__file__).parent / "files"
MOST_BYTES = 1_500
WANTED = 2

EXTENSIONS = {
    "3ds": "3ds", "uto3d": "u3d", "hale3d": "h3d", "midtown": "mm2", "nodeanim": "nanim", "ase": "ase",
    "horde3d": "h3anim",
}  # fmt: skip

LIMITS = {
    "LIMIT_FILE_SIZE": keyframer.Limits(file_size=20),
    "LIMIT_RECORDS": keyframer.Limits(records=3),
    "LIMIT_DEPTH": keyframer.Limits(depth=2),
    "LIMIT_NAME": keyframer.Limits(name=4),
    "LIMIT_COPIES": keyframer.Limits(copies=10),
}
"""Small files cannot break the limits that there are by default: these are read with lower ones."""

NOT_BY_A_FILE = {
    "IO_READ_FAILED": "the system says so, not the file",
    "IO_CHANGED_DURING_READ": "somebody else writes to the file meanwhile",
    "IO_MANIFEST_MISMATCH": "a manifest says so, not the file",
    "SEM_SOURCE_OUTDATED": "only glTF files embed a source",
    "LIMIT_SAMPLES": "the user asks for too many times",
    "LIMIT_KEYS": "a conversion would make too many keys",
    "LIMIT_NODES": "a conversion would write too many nodes",
    "LIMIT_FACES": "a picture would show too many faces",
    "LIMIT_PIXELS": "pictures would have too many pixels",
    "LIMIT_IMAGE_BYTES": "images beside a file would take too much room",
    "LIMIT_ARCHIVE_BYTES": "an archive would take too much room",
    "LIMIT_TIME": "a batch worker has a budget of time",
    "LIMIT_MEMORY": "a batch worker has a budget of memory",
    "LINK_SKELETON_MISMATCH": "two files do not fit together",
    "SEM_EXTENSION_UNKNOWN": "only glTF has extensions, and glTF files are no documents",
    "LINK_NOT_SHOWN": "only glTF has several scenes, and glTF files are no documents",
    **dict.fromkeys(("PROFILE_REFUSED", "PROFILE_IGNORED"), "the user asks for the rules of an engine"),
    **{
        code: "only archives of stage lighting cause it: tests/stage/test_rules.py has the exact reports"
        for code in CATALOGUE
        if code.startswith("STAGE_")
    },
    "RUN_OUTPUT_COLLISION": "two inputs want one output",
    "RUN_OUTPUT_REFUSED": "an output exists, or cannot be written",
    "RUN_PILLOW_MISSING": "a package is missing",
    "RUN_REFUSED": "an input that a batch run does not take",
    "RUN_WORKER_KILLED": "a batch worker died",
    "RUN_INTERNAL_ERROR": "a mistake of ours in a batch run",
}
"""Codes that no file alone can cause, and why."""

Case = tuple[str, bytes]
_BOX = w.mesh(w.points(*w.TRIANGLE))
_MATRIX = w.chunk(0x4160, w.floats(2, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 3))


def _moved_box(position: tuple[float, float, float], *parts: bytes) -> bytes:
    moved = w.node(b"Box", 0, -1, w.track(0xB020, w.key(0, *position)))
    return w.main(w.chunk(0x3D3D, w.mesh(w.points(*w.TRIANGLE), *parts)), w.chunk(0xB000, moved))


def _target_below_camera(kind: int, goal: int) -> bytes:
    """A target below the camera or light that is aimed at it."""
    return w.keyframer(w.node(b"Eye", 0, -1, kind=kind), w.node(b"Eye", 1, 0, kind=goal))


def _max_rotations(*angles: float) -> bytes:
    header = w.chunk(0xB00A, struct.pack("<h", 5) + b"MAXSCENE\0" + struct.pack("<i", 100))
    keys = [w.key(number, angle, 0, 0, 1) for number, angle in enumerate(angles)]
    return w.keyframer(header, w.node(b"$$$DUMMY", 0, -1, w.track(0xB021, *keys)))


def _signalling(chunk_id: int, floats: int) -> bytes:
    return w.editor(w.chunk(chunk_id, bytes.fromhex("0100a07f") * floats))


def _weighted(weight: float) -> bytes:
    skin = b"\1" + struct.pack("<3i", 1, 1, 1) + struct.pack("<3i", 3, 3, 3) + w.floats(weight, 1, 1)
    return w.u3d(objects=[w.u3d_mesh(flags=4, skin=skin)], materials=[w.u3d_material()], bones=[w.u3d_base(b"b", 3)])


def _rotating(flags: int, *angles: float) -> bytes:
    """A node that rotates about z; ``flags`` is the kind of curve."""
    keys = [w.nanim_key(time / 4, angle, 0, 0, 1, tcb=(0.0,) * 5 * (flags == 1)) for time, angle in enumerate(angles)]
    return w.nanim(w.nanim_node(b"hip", flags, rotations=keys))


def _bezier(name: bytes) -> bytes:
    keys = [w.nanim_key(0.0, 1, 2, 3), w.nanim_key(1.0, 1, 2, 3)]
    return w.nanim(w.nanim_node(name, 2, keys))


def _shared_weights(count: int) -> bytes:
    return w.h3dm([w.model_mesh(vertices=((0, 3),) * count)], [w.model_joint()])


_WITH_CR_LF = w.main(w.chunk(0x3D3D, w.chunk(0x1100, b"a\r\nb\r\nc\0"), _BOX), w.chunk(0xB000, w.node(b"Box")))
_WITH_LF = _WITH_CR_LF.replace(b"\r\n", b"\n\n")  # as long as before

EXTRA: dict[str, list[Case]] = {
    "IO_EMPTY": [("3ds", b""), ("hale3d", b"")],
    "IO_TEXT_MODE": [
        ("3ds", _WITH_CR_LF.replace(b"\r\n", b"\n")),  # a transfer that removes CR
        ("3ds", _WITH_LF.replace(b"\n", b"\r\n")),  # one that adds it
    ],
    "LIMIT_FILE_SIZE": [("3ds", w.editor(_BOX)), ("hale3d", w.h3da([w.joint()]))],
    "LIMIT_RECORDS": [("3ds", w.editor(_BOX)), ("hale3d", w.h3da([w.joint()] * 3))],
    "LIMIT_DEPTH": [("3ds", w.editor(_BOX)), ("3ds", w.keyframer(w.node()))],
    "LIMIT_NAME": [("3ds", w.editor(w.mesh(name=b"Cuboid"))), ("uto3d", w.u3d(bones=[w.u3d_base(b"pelvis")]))],
    "LIMIT_COPIES": [("hale3d", _shared_weights(9)), ("hale3d", _shared_weights(20))],
    "STRUCT_CHUNK_MISPLACED": [("3ds", w.keyframer(w.chunk(0x4110, bytes(2))))],
    "STRUCT_CHUNK_ORDER": [("nodeanim", w.chunk(2, w.nanim_node()) + w.nanim_header(1, b"run"))],
    "STRUCT_TAG_MISMATCH": [("uto3d", w.u3d()[:6] + b"MAIM" + w.u3d()[10:])],
    "STRUCT_NAME_SUSPECT": [("hale3d", w.h3da([w.joint(b"leg", position=(2.2, 2.2, 2.2))], [w.BOX] * 2))],
    "STRUCT_SYNTAX": [
        ("ase", w.ase("*TM_POS 1 2 here")),
        ("ase", w.ase("*MESH_VERTEX_LIST {\n*MESH_VERTEX 0 1 2 x\n}")),
    ],
    "STRUCT_NOT_REPRODUCIBLE": [("3ds", _signalling(0x0100, 1)), ("3ds", _signalling(0x1500, 3))],
    "SEM_EMPTY_DOCUMENT": [("3ds", w.chunk(0x4D4D)), ("uto3d", w.u3d())],
    "SEM_AMBIGUOUS_DIALECT": [
        ("nodeanim", w.nanim(name=b"", author=b"")),
        ("nodeanim", w.nanim(w.nanim_node(b""), name=b"", author=b"")),
    ],
    "SEM_MANY_CHANNELS": [
        ("midtown", w.clip(*[w.channel(b"", 3)] * 1_001, frames=0)),
        ("midtown", w.clip(*[w.channel(b"", 3, kind=2)] * 1_002, frames=0)),
    ],
    "SEM_MOTION_NOT_PLAYED": [
        ("midtown", w.clip(*[w.channel(w.floats(*[0.5] * 6), 6)] * 2, frames=1)),
        ("midtown", w.clip(w.channel(w.floats(*[0.5] * 9), 9), w.channel(w.floats(*[0.5] * 6), 6), frames=1)),
    ],
    "SEM_DEEP_HIERARCHY": [
        ("hale3d", w.h3da([w.joint(b"\0", n - 1) for n in range(1_002)])),
        ("hale3d", w.h3dm([], [w.model_joint(b"\0", n - 1) for n in range(1_100)])),
    ],
    "SEM_NAME_TOO_LONG": [
        ("3ds", w.editor(w.mesh(name=b"Cylinder001"))), ("nodeanim", w.nanim(w.nanim_node(b"x" * 256))),
    ],
    "SEM_NAME_EMPTY": [("3ds", w.editor(w.mesh(name=b""))), ("hale3d", w.h3da([w.joint(b"\0")]))],
    "LINK_TARGET_CYCLE": [("3ds", _target_below_camera(0xB003, 0xB004)), ("3ds", _target_below_camera(0xB007, 0xB006))],
    "LINK_UNRESOLVED_NAME": [
        ("3ds", w.editor(w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2), inside=w.chunk(0x4130, b"red\0\0\0"))))),
        ("3ds", w.main(w.chunk(0x3D3D), w.chunk(0xB000, w.node(b"Nobody")))),
    ],
    "LINK_RANGE_OVERLAP": [
        ("hale3d", w.h3da([w.joint(b"a\0", -1, 7), w.joint(b"b\0", -1, 1, 2)], [(*w.BOX, 0, 0, 0)])),
    ],
    "DATA_VALUE_HUGE": [("3ds", w.keyframer(w.node(b"a", 0, -1, w.track(0xB022, w.key(0, 1, 1, 1e20)))))],
    "DATA_QUATERNION_LENGTH": [
        ("uto3d", w.u3d(bones=[w.u3d_base(b"b", 3, at=w.place(turn=(0, 0, 0, 2)))])),
        ("uto3d", w.u3d(cameras=[w.u3d_base(b"c", 3, target=-1, at=w.place(turn=(1, 1, 0, 0))) + w.floats(45, 1, 9)])),
    ],
    "DATA_SCALE_INVALID": [("uto3d", w.u3d(bones=[w.u3d_base(b"b", 3)], scale=0.0))],
    "DATA_WEIGHT_SUM": [("uto3d", _weighted(0.5)), ("uto3d", _weighted(2.0))],
    "SEC_PATH_URL": [("3ds", w.editor(w.chunk(0x1100, b"ftp://x/y.tga\0")))],
    "SCENE_REST_POSE": [("3ds", _moved_box((9, 9, 9), _MATRIX)), ("3ds", _moved_box((0, 0, 70), _MATRIX))],
    "SCENE_SIGN_FLIP": [("3ds", _max_rotations(0.0, 6.2, 0.1)), ("3ds", _max_rotations(0.1, -6.1, 0.1, 6.1))],
    "SCENE_DEFAULT_RIG": [("midtown", w.retail()), ("midtown", w.retail(2, 60))],
    "SCENE_NO_HIERARCHY": [("horde3d", horde3d.old()), ("horde3d", horde3d.wave())],
    "SCENE_BEZIER_SMOOTH": [("nodeanim", _bezier(b"hip")), ("nodeanim", _bezier(b"leg"))],
    "SCENE_ROTATION_GUESSED": [("nodeanim", _rotating(4, 0, 90, 90, 90)), ("nodeanim", _rotating(1, 0.2, 0.3))],
    "SCENE_NO_KEYS": [
        ("uto3d", w.u3d(bones=[w.u3d_base(b"b", 3)], controllers=[w.controller(3, 1, 2, count=4)])),
    ],
}  # fmt: skip


def cases() -> dict[str, list[Case]]:
    """Small files for every code: those in EXTRA, then files of the threat tables that cause it, existing ones first,
    then the smallest.
    """
    files: dict[str, list[Case]] = {code: list(EXTRA.get(code, ())) for code in CATALOGUE if code not in NOT_BY_A_FILE}
    attacks = [
        (name, data)
        for name, rows in THREATS.items()
        for attacks in rows.values()
        for _, data, code in attacks
        if len(data) <= MOST_BYTES and code is not None
    ]
    causes = {code: [case for case in attacks if code in check(case, code).counts] for code in files}
    for code, known in files.items():
        formats = {name for name, _ in known}
        here = {path.read_bytes() for path in (FOLDER / code).glob("*")}
        order = {case: (case[1] not in here, case[0] in formats, len(case[1])) for case in causes[code]}
        for case in sorted(causes[code], key=order.__getitem__):
            if len(known) < WANTED and case not in known:
                known.append(case)
    return files


def check(case: Case, code: str) -> keyframer.Report:
    name, data = case
    return keyframer.check(data, format=name, limits=LIMITS.get(code))


def report_text(case: Case, code: str) -> str:
    """The exact report, as stored next to the file."""
    record = report_record(check(case, code), "")
    del record["file"]
    return json.dumps(record, indent=1, ensure_ascii=True) + "\n"


def format_of(path: Path) -> str:
    return next(name for name, extension in EXTENSIONS.items() if path.suffix == f".{extension}")


def main() -> None:
    for code, known in cases().items():
        folder = FOLDER / code
        folder.mkdir(parents=True, exist_ok=True)
        wanted: set[str] = set()
        for number, case in enumerate(known, 1):
            path = folder / f"{number}.{EXTENSIONS[case[0]]}"
            path.write_bytes(case[1])
            path.with_suffix(".json").write_text(report_text(case, code), "utf-8", newline="\n")
            wanted |= {path.name, path.with_suffix(".json").name}
        for path in folder.iterdir():
            if path.name not in wanted:
                path.unlink()


if __name__ == "__main__":
    main()
