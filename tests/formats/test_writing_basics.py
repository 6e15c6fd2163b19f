"""Code shared by all writers: tolerances, invalid time bases, valid names."""

from __future__ import annotations

import math
from itertools import chain, count
from random import Random

import numpy as np
import pytest

from keyframer.curves import RotationForm, Track
from keyframer.formats.kit.scene_writing import (
    Tolerance,
    UniqueByteNames,
    check_max_error,
    frames_per_second,
    units_per_second,
)
from keyframer.formats.threeds.records import Frames
from keyframer.formats.uto3d.sections import Main
from keyframer.scene import Clip, Node, Scene
from keyframer.text import encode_name
from tests.building.editing import write
from tests.building.scenes import as_read_from_a_file, triangle
from tests.growth import assert_linear

NAN, INF = math.nan, math.inf


# --- how far motion may be off ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0.0, -1.0, NAN, INF])
def test_an_invalid_max_error_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="max_error must be positive"):
        check_max_error(wrong)


@pytest.mark.parametrize(
    ("kind", "form", "allowed", "unit"),
    [
        ("position", RotationForm.NONE, 0.05, "scene unit"),
        ("rotation", RotationForm.AXIS_ANGLE_RELATIVE, 0.1, "degree"),
        ("scale_axes", RotationForm.QUATERNION_ABSOLUTE, 0.1, "degree"),
        ("fov", RotationForm.NONE, 0.1, "degree"),
        ("roll", RotationForm.NONE, 0.1, "degree"),
        ("hotspot", RotationForm.NONE, 0.1, "degree"),
        ("falloff", RotationForm.NONE, 0.1, "degree"),
        ("scale", RotationForm.NONE, 0.001, "1"),
        ("color", RotationForm.NONE, 0.001, "1"),
    ],
)
def test_each_kind_of_track_has_its_own_tolerance(kind: str, form: RotationForm, allowed: float, unit: str) -> None:
    """A scene of 50 units and ten times the default error: 1e-3 of its size, ten times 0.01 degrees."""
    scene = Scene(nodes=[Node("a"), Node("b", position=np.array([50.0, 0.0, 0.0]))])
    width = {"degree": 1, "scene unit": 3, "1": 3}[unit] if form is RotationForm.NONE else 4
    track = Track(kind, np.zeros(1), np.zeros((1, width)) if width > 1 else np.zeros(1), form=form)
    allowed_error, _, words = Tolerance.of(scene, 1e-3).for_track(track)
    assert (allowed_error, words) == (pytest.approx(allowed), unit)


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "fps", "units"),
    [
        ({"rate": 24.0}, 24.0, 24.0),
        ({"rate": 4800.0, "units_per_frame": 200.0}, 24.0, 4800.0),
        ({"rate": 0.0}, 30.0, 30.0),
        ({"rate": NAN, "units_per_frame": 160.0}, 30.0, 4800.0),
        ({"rate": -5.0, "units_per_frame": 0.0}, 30.0, 30.0),
        ({"rate": INF}, 30.0, 30.0),
    ],
)
def test_an_invalid_time_base_becomes_30_frames_per_second(stored: dict[str, float], fps: float, units: float) -> None:
    with as_read_from_a_file():
        clip = Clip(**stored)  # type: ignore[arg-type]
    assert (frames_per_second(clip), units_per_second(clip)) == (fps, units)


@pytest.mark.parametrize(
    ("format", "start", "end", "stored", "became"),
    [
        ("3ds", 2.0, 9.0, (2, 9), None),
        ("3ds", 0.0, 9.25, (0, 9), ("frames", 0, 9)),
        ("3ds", NAN, 9.0, (0, 9), ("frames", 0, 9)),
        ("uto3d", 0.0, 30.0, (0, 30), None),
        ("uto3d", 5.0, 30.0, (5, 30), None),
        ("uto3d", 0.0, 10.5, (0, 10), ("frames", 0, 10)),
        ("uto3d", 0.0, 0.4, (0, 160), ("ticks", 0, 160)),
    ],
)
def test_the_active_segment(
    format: str, start: float, end: float, stored: tuple[int, int], became: tuple[str, int, int] | None
) -> None:
    scene = Scene([Node("box", mesh=0)], [triangle()], clips=[Clip(start=start, end=end)])
    document, report, loaded = write(format, scene)
    header = document.first(Frames if format == "3ds" else Main)
    names = ("start", "end") if format == "3ds" else ("first_frame", "last_frame")
    assert tuple(getattr(header, name) for name in names) == stored
    args = [loss.args for loss in report if loss.type.key == "CLIP_RANGE_CHANGED:segment"]
    assert args == ([] if became is None else [dict(zip(("unit_name", "first", "last"), became, strict=True))])
    if became is None:
        ticks = 1 if format == "3ds" else 160
        assert (loaded.clips[0].start, loaded.clips[0].end) == (stored[0] * ticks, stored[1] * ticks)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding", "raw"),
    [
        ("Box", None, b"Box"),
        ("Gl\u00e4ser", None, b"Gl\xe4ser"),
        ("\u00c3\u00a4", None, b"\xc3\x83\xc2\xa4"),  # in code page 1252 it would be read as a UTF-8 letter
        ("\u65e5\u672c", None, "\u65e5\u672c".encode()),
        ("\u65e5\u672c", "shift_jis", b"\x93\xfa\x96\x7b"),
        ("\u65e5\u672c", "cp1252", b"__"),
        ("a\0b", None, b"a_b"),
        ("what?", None, b"what?"),
    ],
)
def test_names_as_bytes(text: str, encoding: str | None, raw: bytes) -> None:
    assert encode_name(text, encoding) == raw


def test_shortened_names_are_unique() -> None:
    names = UniqueByteNames(4, reserved=[b"ROOT"])
    assert [names.claim(name) for name in ("root", "Boxes", "boxer", "BOXE", "", "unna")] == [
        b"roo2",
        b"Boxe",
        b"box2",
        b"BOX3",
        b"unna",
        b"unn2",
    ]


def test_a_repeated_name_gets_the_first_free_number() -> None:
    """As if all numbers from 2 were tried."""
    random = Random(1)
    names, taken = UniqueByteNames(6), set[str]()
    for _ in range(4_000):
        wanted = "".join(random.choice("ab1") for _ in range(random.randint(1, 9)))
        numbered = (wanted[: 6 - len(str(number))] + str(number) for number in count(2))
        free = next(name for name in chain([wanted[:6]], numbered) if name not in taken)
        assert names.claim(wanted) == free.encode()
        taken.add(free)


def test_thousands_of_long_names_take_linear_time() -> None:
    def claimed(amount: int) -> None:
        names = UniqueByteNames(10)
        for number in range(10_000, 10_000 + amount):
            names.claim(f"dummy.{number}")

    assert_linear(claimed, 1_000, 8_000, times=8)


def test_names_are_cut_at_characters() -> None:
    """Characters of two or three bytes, and combining characters."""
    russian, japanese = "\u041a\u043e\u0440\u043e\u0431\u043a\u0430", "\u7bb1\u306e\u4e2d\u8eab"
    assert UniqueByteNames(10).claim(russian).decode() == russian[:5]
    assert UniqueByteNames(10).claim(japanese).decode() == japanese[:3]
    assert UniqueByteNames(6).claim("boxe\u0301\u0301").decode() == "box"
    assert UniqueByteNames(6).claim("\u0301" * 9) == b"unname"
    names = UniqueByteNames(10)
    claimed = [names.claim(japanese) for _ in range(12)]
    assert [name.decode()[-1] for name in claimed[:3]] == [japanese[2], "2", "3"]
    assert all(len(name) <= 10 and names.decode(name).isprintable() for name in claimed)
    assert claimed[-1].decode() == japanese[:2] + "12"
    assert UniqueByteNames(4).claim("\u00e4\u00f6\u00fc\u00df\u00e9") == "\u00e4\u00f6\u00fc\u00df".encode("cp1252")


def test_names_without_a_limit_are_numbered_as_by_the_reader() -> None:
    names = UniqueByteNames()
    assert [names.claim(name) for name in ("a", "a", "A", "a.2")] == [b"a", b"a.2", b"A.3", b"a.2.2"]


def test_the_original_bytes_of_a_name_are_used_if_the_name_is_unchanged() -> None:
    names = UniqueByteNames()
    assert names.claim("\u00e4", b"\xe4") == b"\xe4"
    assert names.claim("b", b"other") == b"b"
    assert names.decode(b"\xe4") == "\u00e4"
    assert UniqueByteNames().claim("", fallback="bone") == b"bone"


def test_more_names_than_a_limit_of_one_character_allows() -> None:
    """Every name is unique even if that exceeds the limit."""
    names = UniqueByteNames(1)
    claimed = [names.claim("a") for _ in range(12)]
    assert len(set(claimed)) == 12
