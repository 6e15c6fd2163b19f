"""The report on every real file: repeatable, and errors only in damaged files."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

import keyframer
from tests.corpus import CORPUS, invalid_files, needs_corpus, threeds_files

ERRORS = {
    "assimp__assimp__pyramob-3ec2cfe0.3DS": "a transfer in text mode took 11 bytes away, so lengths and faces are off",
}
"""Real files with errors, and why; a file that the original programs read well has none."""

NOT_DATA = {"SCENE_REST_POSE", "SCENE_SIGN_FLIP"}
"""warnings on what a file means, not on how it is written"""


@cache
def reports() -> dict[str, keyframer.Report]:
    others = [
        *(CORPUS / "makbot").glob("*.3DS"),
        *(CORPUS / "hale3d").glob("*.anim"),
        *(CORPUS / "hale3d").glob("*.mdl"),
    ]
    return {path.name: keyframer.check(path) for path in [*threeds_files(), *others]}


@needs_corpus
def test_only_damaged_files_have_errors() -> None:
    damaged = {name for name, report in reports().items() if report.count("error")}
    assert damaged == set(ERRORS)
    assert len(reports()) >= 540
    assert all(report.verdict != "not readable" for report in reports().values())


@needs_corpus
def test_most_files_are_clean() -> None:
    """Warnings are only for unusual data: 502 of 537 real files have none. Long names, bits of the editor and vertices
    that a rule places are usual: 17 files, one and 45 had no other warnings."""
    real = [reports()[path.name] for path in threeds_files()]
    verdicts = Counter(report.verdict for report in real)
    assert len(real) == 537
    assert verdicts["clean"] >= 502
    assert verdicts["damaged"] == len(ERRORS)
    warned = Counter(
        code for report in real for code in {issue.code for issue in report.issues if issue.severity.label == "warning"}
    )
    assert not {"SEM_NAME_TOO_LONG", "SEM_UNKNOWN_FLAG_BITS"} & set(warned)
    assert sum(count for code, count in warned.items() if code not in NOT_DATA) <= 26
    infos = Counter(code for report in real for code in report.counts)
    assert infos["SEM_NAME_TOO_LONG"] == 17
    assert warned["IO_TEXT_MODE"] == len(ERRORS)


@needs_corpus
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("blitz-research__blitz3d__skull.3ds", {"STRUCT_CHUNK_SLACK"}),
        ("CelestiaProject__Celestia__eros.3ds", {"STRUCT_CHUNK_MISPLACED"}),
        ("debian__gl-117-data__tent1.3ds", {"DATA_NON_FINITE"}),
        ("jumalauta__kaihdin.3ds", {"DATA_TIME_NEGATIVE"}),
        ("blitz-research__blitz3d__claw.3DS", set()),  # two keys at frame 83 are a jump
        ("epitron__3dspin__chopper.3ds", set()),  # track bits 10 and 11
        ("open-stage__blender-dmx__Body.3ds", set()),  # a name of 16 bytes
        ("bob_lamp_update.mdl", set()),
    ],
)
def test_known_issues_of_real_files(name: str, codes: set[str]) -> None:
    reported = {issue.code for issue in reports()[name].issues if issue.severity.label != "info"}
    assert codes <= reported
    assert reported - codes <= NOT_DATA


@needs_corpus
def test_real_animation_with_one_name_for_all_joints() -> None:
    report = reports()["bob_lamp_update.anim"]
    assert report.verdict == "clean"
    assert report.counts == {"SEM_DUPLICATE_NAME": 1}


@needs_corpus
def test_files_that_are_not_3ds_are_not_readable() -> None:
    for path in invalid_files():
        report = keyframer.check(path)
        assert report.verdict == "not readable"
        assert report.issues[0].code in ("IO_EMPTY", "IO_UNRECOGNISED")
