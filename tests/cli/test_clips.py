"""Files with several clips: `info` lists them, `--clip` chooses one, and without it the first is used with a
message."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.curves import Track
from keyframer.scene import Channel, Clip, Scene
from tests.cli.running import Run
from tests.rendering.simple import moving_scene


@pytest.fixture
def two_clips(tmp_path: Path) -> Path:
    """Write a file that moves to the right in the clip ``walk`` and to the left in ``2``."""
    scene: Scene = moving_scene()
    scene.clips[0].name = "walk"
    left = Track("position", np.array([0.0, 10.0]), np.array([[0.0, 0, 0], [-8, 0, 0]]))
    scene.clips.append(Clip("2", [Channel(0, left)], 0.0, 10.0, 20.0))
    path = tmp_path / "two.glb"
    keyframer.save(scene, path)
    return path


def x_values(text: str) -> list[float]:
    return [float(row["x"]) for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.parametrize(("clip", "x"), [("walk", 4.0), ("2", -8.0), ("1", 4.0)])
def test_sample(run: Run, two_clips: Path, clip: str, x: float) -> None:
    ran = run("sample", two_clips, "--frames", "10", "--clip", clip, "--format", "csv")
    assert (ran.code, x_values(ran.out), ran.err) == (0, [pytest.approx(x)], "")


def test_first_clip_is_used_with_a_message_by_default(run: Run, two_clips: Path) -> None:
    ran = run("sample", two_clips, "--frames", "10", "--format", "csv")
    assert (ran.code, x_values(ran.out)) == (0, [pytest.approx(4.0)])
    assert ran.err == f"keyframer: {two_clips}: using the first of 2 clips; --clip chooses: walk, 2\n"
    assert run("sample", two_clips, "--frames", "10", "-q").err == ""


@pytest.mark.parametrize("command", ["sample", "plot", "thumbnail"])
@pytest.mark.parametrize("clip", ["run", "3", "0", "-1", ""])
def test_unknown_clip_is_reported(run: Run, two_clips: Path, tmp_path: Path, command: str, clip: str) -> None:
    output = ["-o", tmp_path / "out.png"] if command != "sample" else []
    ran = run(command, two_clips, f"--clip={clip}", *output)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.strip().endswith(f"in /: no clip is named {clip!r} (available: walk, 2)")
    assert not (tmp_path / "out.png").exists()


def test_plot_and_thumbnail_of_a_clip(run: Run, two_clips: Path, tmp_path: Path) -> None:
    texts = [run("plot", two_clips, "--terminal", "--clip", clip).out for clip in ("walk", "2")]
    assert "3 keys" in texts[0]
    assert "2 keys" in texts[1]
    pictures = []
    for clip in ("walk", "2"):
        assert run("thumbnail", two_clips, "--clip", clip, "--to", "gif", "-o", tmp_path / f"{clip}.gif").code == 0
        pictures.append(Image.open(io.BytesIO((tmp_path / f"{clip}.gif").read_bytes())))
    seconds = [sum(_durations(picture)) / 1000 for picture in pictures]
    assert seconds == [pytest.approx(1.0, abs=0.06), pytest.approx(0.5, abs=0.06)]


def test_thumbnails_of_many_files(run: Run, two_clips: Path, tmp_path: Path) -> None:
    """The picture is the same as for one file; a file without the clip fails."""
    shown = ("--clip", "2", "--to", "gif", "--size", "32")
    assert run("thumbnail", two_clips, *shown, "-o", tmp_path / "one.gif").code == 0
    assert run("batch", "thumbnail", two_clips, *shown, "-o", tmp_path / "out", "-j", "1").code == 0
    (film,) = (tmp_path / "out").glob("*.gif")
    assert film.read_bytes() == (tmp_path / "one.gif").read_bytes()
    assert run("thumbnail", two_clips, *shown[2:], "-o", tmp_path / "first.gif").code == 0
    assert film.read_bytes() != (tmp_path / "first.gif").read_bytes()
    ran = run("batch", "thumbnail", two_clips, "--clip", "run", "-o", tmp_path / "none", "-j", "1")
    assert ran.code == 3
    assert "no clip is named 'run' (available: walk, 2)" in ran.err


def _durations(film: Image.Image) -> list[int]:
    durations = []
    for number in range(film.n_frames):
        film.seek(number)
        durations.append(film.info["duration"])
    return durations


def test_diff_of_one_clip(run: Run, two_clips: Path, tmp_path: Path) -> None:
    other = keyframer.load(two_clips)
    other.clips[1].channels[0].track.values *= 2
    keyframer.save(other, tmp_path / "other.glb")
    both = [two_clips, tmp_path / "other.glb", "--what", "motion"]
    assert run("diff", *both, "--clip", "walk").code == 0
    assert run("diff", *both, "--clip", "2").code == 1


def test_info_names_the_clip_of_each_track(run: Run, two_clips: Path) -> None:
    ran = run("info", "--all", two_clips, "--no-color")
    assert ran.code == 0
    rows = [line.split() for line in ran.out.splitlines() if "position" in line and "linear" in line]
    assert [row[-1] for row in rows] == ["walk", "2"]
