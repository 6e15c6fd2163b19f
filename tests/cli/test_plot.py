"""``keyframer plot``: SVG, PNG and text, selection of tracks, motion paths, and refused arguments."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

import keyframer
from tests.building import files as w
from tests.cli.running import EXAMPLE, Run, spawn
from tests.cli.test_hostile_names import UNSAFE
from tests.samples import sample_files

SVG = "{http://www.w3.org/2000/svg}"


def svg_texts(text: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(text).iter(f"{SVG}text")]


def test_curves_of_chosen_tracks(run: Run) -> None:
    ran = run("plot", EXAMPLE, "--node", "Rotor", "--track", "rotation")
    assert (ran.code, ran.err) == (0, "")
    shown = svg_texts(ran.out)
    assert "Rotor: rotation (tcb, 3 keys, repeat)" in shown
    assert "degrees" in shown
    assert "frames (30 per second)" in shown
    assert run("plot", EXAMPLE, "--node", "Rotor", "--track", "rotation").out == ran.out


def test_all_animated_tracks_are_plotted_by_default(run: Run) -> None:
    shown = svg_texts(run("plot", EXAMPLE).out)
    assert any(text.startswith("Camera: fov") for text in shown)
    few = run("plot", EXAMPLE, "--most", "2")
    assert sum(" keys, " in text for text in svg_texts(few.out)) == 2
    assert "plotting 2 of 7 tracks (--most, --node and --track choose)" in few.err
    paths = run("plot", EXAMPLE, "--motion", "--node", "*", "--most", "2")
    assert "nodes (--most and --node choose)" in paths.err
    span = svg_texts(run("plot", EXAMPLE, "--node", "Camera", "--span", "500:600").out)
    assert {"500", "600"} <= set(span)


def test_svg_and_png_files(run: Run, tmp_path: Path) -> None:
    assert run("plot", EXAMPLE, "-o", tmp_path / "a.svg").code == 0
    ET.parse(tmp_path / "a.svg")
    assert run("plot", EXAMPLE, "-o", tmp_path / "a.png").code == 0
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.format == "PNG"
    again = run("plot", EXAMPLE, "-o", tmp_path / "a.svg")
    assert again.code == 3
    assert "exists" in again.err
    assert run("plot", EXAMPLE, "-o", tmp_path / "a.svg", "-f").code == 0
    assert run("plot", EXAMPLE, "-o", f"{tmp_path}/many/").code == 0
    assert (tmp_path / "many" / "windmill.3ds.svg").is_file()
    png = spawn("plot", EXAMPLE, "--to", "png")
    assert png.stdout.startswith(b"\x89PNG")


def test_plot_in_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    out = run("plot", EXAMPLE, "--terminal").out
    assert "◆" in out
    assert "\x1b" not in out  # not a terminal
    assert max(map(len, out.splitlines())) <= 70
    assert "frames (30 per second)" in out
    motion = run("plot", EXAMPLE, "--terminal", "--motion", "--node", "Camera").out
    assert "Camera: frames 0 ○ to 100 ●; x -80..70" in motion


def test_terminal_is_the_default_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for arguments in ([EXAMPLE], [EXAMPLE, EXAMPLE], [EXAMPLE, "--motion"]):
        ran = run("plot", *arguments)
        assert ran.code == 0
        assert "<svg" not in ran.out
        assert "\x1b[" in ran.out
    assert run("plot", EXAMPLE, "--to", "svg").out.startswith("<svg")
    assert run("plot", EXAMPLE, "-o", "-").out.startswith("<svg")
    assert run("plot", EXAMPLE, "-o", tmp_path / "a.svg").out == ""
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


def test_motion(run: Run, tmp_path: Path) -> None:
    out = run("plot", EXAMPLE, "--motion").out
    assert {"Camera", "Camera.target", "x", "x, y, z in units of 0.0254 m"} <= set(svg_texts(out))
    assert out.count("key at") == 5
    assert run("plot", EXAMPLE, "--motion", "-o", tmp_path / "m.png").code == 0
    shorter = run("plot", EXAMPLE, "--motion", "--node", "Camera", "--span", "10:20").out
    assert {"10", "20"} <= set(svg_texts(shorter))
    still = run("plot", sample_files("3ds")[0], "--motion")
    assert still.code == 3
    assert "no node moves" in still.err


def test_raw_channels(run: Run) -> None:
    path = next(path for path in sample_files("midtown") if path.name == "document-channels.anim")
    ran = run("plot", path, "--track", "raw")
    assert ran.code == 0
    assert any("raw" in text for text in svg_texts(ran.out))
    assert run("plot", EXAMPLE, "--track", "raw").code == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        ([EXAMPLE, "--span", "5"], 2),
        ([EXAMPLE, "--span", "5:2"], 2),
        ([EXAMPLE, "--span", "0:inf"], 2),
        ([EXAMPLE, "--most", "0"], 2),
        ([EXAMPLE, EXAMPLE], 2),
        ([EXAMPLE, "--node", "Nobody"], 3),
        ([EXAMPLE, "--track", "taste"], 3),
        ([EXAMPLE, "--motion", "--node", "Nobody"], 3),
    ],
)
def test_wrong_usage(run: Run, arguments: list[str | Path], code: int) -> None:
    assert run("plot", *arguments).code == code


@pytest.mark.parametrize("style", [[], ["--motion"], ["--terminal"], ["--terminal", "--motion"]])
def test_hostile_names_are_escaped(run: Run, tmp_path: Path, style: list[str]) -> None:
    document = keyframer.read(EXAMPLE)
    from keyframer.formats.threeds.records import NodeHeader

    for header in document.find(NodeHeader):
        header.name = b"<script>\x1b[31m" + header.name[:4] + b"]]>&"
    path = tmp_path / "<b>\x1b.3ds"
    path.write_bytes(keyframer.encode(document))
    ran = run("plot", path, *style)
    assert ran.code in (0, 3)
    assert not UNSAFE.search(ran.out + ran.err)
    if "--terminal" not in style and ran.code == 0:
        assert "<script" not in ran.out
        ET.fromstring(ran.out)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 3e38])
@pytest.mark.parametrize("how", ["svg", "png", "terminal", "motion"])
def test_non_finite_keys_are_not_drawn(run: Run, tmp_path: Path, number: float, how: str) -> None:
    """The picture is drawn without them, and without a warning (warnings are errors)."""
    node = w.node(b"Box", 0, -1, w.track(0xB020, w.key(0, 1, 2, 3), w.key(9, number, 2, number), w.key(20, 4, 5, 6)))
    (tmp_path / "a.3ds").write_bytes(w.main(w.chunk(0xB000, node)))
    out = tmp_path / f"out.{'svg' if how == 'motion' else how}"
    arguments = {"terminal": ["--terminal", "--no-color"], "motion": ["--motion", "-o", out]}.get(how, ["-o", out])
    ran = run("plot", tmp_path / "a.3ds", *arguments)
    assert ran.code == 0, ran.err
    assert "Warning" not in ran.err
    if how in ("svg", "motion"):
        assert not re.search(r'(points|cx|cy|x|y)="[^"]*(nan|inf)', out.read_text())
    elif how == "png":
        assert out.read_bytes().startswith(b"\x89PNG")
