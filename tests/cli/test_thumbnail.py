"""``keyframer thumbnail``: kinds of pictures, output paths, messages, and refused arguments."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.scene import Material
from tests.cli.running import EXAMPLE, Run, spawn
from tests.corpus import CORPUS, needs_corpus
from tests.rendering.simple import scene_of, turned_square


def opened(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        picture.load()
        return picture


def test_picture_of_the_example(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "a.png"
    ran = run("thumbnail", EXAMPLE, "-o", out)
    assert (ran.code, ran.out) == (0, "")
    assert "1 image not found beside the file (searched: " in ran.err
    assert "STONE.PNG" in ran.err
    picture = opened(out)
    assert (picture.format, picture.size) == ("PNG", (256, 256))
    assert run("thumbnail", EXAMPLE, "-o", tmp_path / "b.png", "-q").err == ""
    assert out.read_bytes() == (tmp_path / "b.png").read_bytes()


def test_two_sided_shows_the_back_of_faces(run: Run, tmp_path: Path) -> None:
    keyframer.save(scene_of(turned_square(), materials=[Material("one-sided")]), tmp_path / "back.3ds")
    shown = []
    for options in ([], ["--two-sided"]):
        assert run("thumbnail", tmp_path / "back.3ds", "-o", tmp_path / "a.png", "--force", *options).code == 0
        shown.append(len(np.unique(np.asarray(opened(tmp_path / "a.png")).reshape(-1, 3), axis=0)) > 1)
    assert shown == [False, True]


def test_picture_has_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    once = spawn("thumbnail", EXAMPLE, "-q", "--size", "64", PYTHONHASHSEED="1")
    again = spawn("thumbnail", EXAMPLE, "-q", "--size", "64", PYTHONHASHSEED="2")
    assert once.returncode == 0
    assert once.stdout == again.stdout
    with Image.open(io.BytesIO(once.stdout)) as picture:
        assert picture.size == (64, 64)


@pytest.mark.parametrize(("name", "kind"), [("a.gif", "GIF"), ("a.apng", "PNG"), ("a.webp", "WEBP"), ("A.GIF", "GIF")])
def test_playback(run: Run, tmp_path: Path, name: str, kind: str) -> None:
    assert run("thumbnail", EXAMPLE, "--size", "32x24", "--pictures", "5", "-o", tmp_path / name).code == 0
    with Image.open(tmp_path / name) as picture:
        assert (picture.format, picture.size, picture.n_frames) == (kind, (32, 24), 5)


@pytest.mark.parametrize("kind", ["gif", "apng", "webp"])
@pytest.mark.parametrize(
    ("frames", "milliseconds"),
    [("0:30:3", [100] * 11), ("0,15,90", [500, 2500, 2500]), ("30,0", [1000, 1000])],
)
def test_selected_frames_play_at_the_rate_of_the_file(
    run: Run, tmp_path: Path, kind: str, frames: str, milliseconds: list[int]
) -> None:
    """The windmill plays 30 frames a second."""
    path = tmp_path / f"film.{kind}"
    assert run("thumbnail", EXAMPLE, "--size", "16", "--frames", frames, "-o", path).code == 0
    film = Image.open(io.BytesIO(path.read_bytes()))
    durations = []
    for number in range(film.n_frames):
        film.seek(number)
        film.load()
        durations.append(round(film.info["duration"]))
    assert durations == milliseconds
    assert film.info["loop"] == 0


def test_sheets_single_frames_and_outputs_without_an_extension(run: Run, tmp_path: Path) -> None:
    assert run("thumbnail", EXAMPLE, "--size", "20", "--sheet", "3x2", "-o", tmp_path / "s.png").code == 0
    assert opened(tmp_path / "s.png").size == (60, 40)
    assert run("thumbnail", EXAMPLE, "--size", "20", "--frames", "0:40:10", "-o", tmp_path / "f.png").code == 0
    assert opened(tmp_path / "f.png").size == (80, 40)
    assert run("thumbnail", EXAMPLE, "--size", "20", "--to", "png", "-o", tmp_path / "plain").code == 0
    assert opened(tmp_path / "plain").format == "PNG"
    frames = []
    for frame in ("0", "50"):
        run("thumbnail", EXAMPLE, "--size", "64", "--frame", frame, "--camera", "fit", "-o", tmp_path / f"{frame}.png")
        frames.append((tmp_path / f"{frame}.png").read_bytes())
    assert frames[0] != frames[1]


def test_unreadable_file_among_many(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    shutil.copy(EXAMPLE, tmp_path / "in" / "a.3ds")
    shutil.copy(EXAMPLE, tmp_path / "in" / "sub" / "b.3ds")
    (tmp_path / "in" / "bad.3ds").write_bytes(b"rubbish")
    ran = run("thumbnail", "-r", tmp_path / "in", "--size", "16", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "bad.3ds: IO_UNRECOGNISED" in ran.err
    pictures = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.png"))
    assert pictures == ["a.3ds.png", "sub/b.3ds.png"]
    assert run("thumbnail", tmp_path / "in" / "a.3ds", "--size", "16", "-o", ".gif").code == 0
    assert opened(tmp_path / "in" / "a.gif").format == "GIF"


class TestKinds:
    @pytest.mark.parametrize("name", ["a.jpg", "a.jpeg", "a.JPG"])
    def test_jpeg(self, run: Run, tmp_path: Path, name: str) -> None:
        assert run("thumbnail", EXAMPLE, "--size", "32x24", "-o", tmp_path / name).code == 0
        picture = opened(tmp_path / name)
        assert (picture.format, picture.size) == ("JPEG", (32, 24))
        assert run("thumbnail", EXAMPLE, "--size", "16", "--sheet", "2x2", "-o", tmp_path / f"s{name}").code == 0
        assert opened(tmp_path / f"s{name}").format == "JPEG"

    @pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="the program ffmpeg is not installed")
    def test_mp4(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "a.mp4"
        assert run("thumbnail", EXAMPLE, "--size", "33x24", "--pictures", "10", "-o", path).code == 0
        probe = [
            "ffprobe",
            "-v",
            "error",
            "-show_entries",
            "stream=codec_name,width,height:format=duration",
            "-of",
            "json",
        ]
        probed = json.loads(subprocess.run([*probe, str(path)], capture_output=True, check=True).stdout)
        (stream,) = probed["streams"]
        assert (stream["codec_name"], stream["width"], stream["height"]) == ("h264", 34, 24)  # even, as H.264 requires
        assert float(probed["format"]["duration"]) == pytest.approx(10 / 3, abs=0.2)

    def test_mp4_without_ffmpeg(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        ran = run("thumbnail", EXAMPLE, "-o", tmp_path / "a.mp4")
        assert ran.code == 2
        assert "mp4 is written by the program ffmpeg, which is not installed here" in ran.err

    @pytest.mark.parametrize("name", ["a.bmp", "a.tiff", "a.mov", ".bmp"])
    def test_other_extensions_are_refused(self, run: Run, tmp_path: Path, name: str) -> None:
        ran = run("thumbnail", EXAMPLE, "-o", tmp_path / name if name[0] != "." else name)
        assert ran.code == 2
        assert "pictures cannot be written (only .png, .jpg, " in ran.err
        assert list(tmp_path.iterdir()) == []
        assert run("plot", EXAMPLE, "-o", tmp_path / "a.jpg").code == 2

    @pytest.mark.parametrize("arguments", [["-o", "a.gif", "--to", "png"], ["-o", "a.jpg", "--background", "none"]])
    def test_contradicting_options_are_refused(self, run: Run, arguments: list[str]) -> None:
        assert run("thumbnail", EXAMPLE, *arguments).code == 2

    def test_folder_may_have_any_name(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.3ds").write_bytes(EXAMPLE.read_bytes())
        assert run("thumbnail", "-r", tmp_path / "in", "--size", "16", "-o", tmp_path / "out.v2").code == 0
        assert opened(tmp_path / "out.v2" / "a.3ds.png").format == "PNG"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [EXAMPLE, "--size", "0"],
        [EXAMPLE, "--size", "9999999"],
        [EXAMPLE, "--size", "1x2x3"],
        [EXAMPLE, "--size", "٣"],
        [EXAMPLE, "--sheet", "0x3"],
        [EXAMPLE, "--sheet", "99x99"],
        [EXAMPLE, "--pictures", "0"],
        [EXAMPLE, "--frames", "0:100000"],
        [EXAMPLE, "--frames", "0:9", "--frame", "3"],
        [EXAMPLE, "--background", "blue"],
        [EXAMPLE, "--sheet", "2x2", "--to", "gif"],
        [EXAMPLE, EXAMPLE],
    ],
)
def test_wrong_usage(run: Run, arguments: list[str | Path]) -> None:
    ran = run("thumbnail", *arguments)
    assert ran.code == 2
    assert "(see keyframer thumbnail --help)" in ran.err


def test_unknown_camera_is_reported(run: Run, tmp_path: Path) -> None:
    ran = run("thumbnail", EXAMPLE, "--camera", "Nobody\x1b[31m", "-o", tmp_path / "a.png")
    assert ran.code == 3
    assert "no camera is named" in ran.err
    assert "\x1b" not in ran.err
    assert not (tmp_path / "a.png").exists()


def test_images_in_texture_paths_are_used(run: Run, tmp_path: Path) -> None:
    maps = tmp_path / "maps" / "deep"
    maps.mkdir(parents=True)
    Image.new("RGB", (8, 8), (0, 255, 0)).save(maps / "stone.png")
    plain = tmp_path / "plain.png"
    run("thumbnail", EXAMPLE, "--size", "32", "--no-textures", "-o", plain)
    out = tmp_path / "a.png"
    ran = run("thumbnail", EXAMPLE, "--size", "32", "--texture-path", tmp_path / "maps", "-o", out)
    assert "1 image not found beside the file (searched: " in ran.err
    assert "STONE.PNG" in ran.err
    assert out.read_bytes() == plain.read_bytes()
    ran = run(
        "thumbnail",
        EXAMPLE,
        "--size",
        "32",
        "--texture-path",
        tmp_path / "maps",
        "--texture-recursive",
        "-o",
        out,
        "-f",
    )
    assert "STONE.PNG: found as stone.png, in another case, in a subfolder" in ran.err
    assert out.read_bytes() != plain.read_bytes()


def test_only_the_file_and_its_images_are_opened(tmp_path: Path) -> None:
    """A path in the file that leads out of its folder is not followed."""
    data = EXAMPLE.read_bytes().replace(b"STONE.PNG", b"../ab.png")
    assert data != EXAMPLE.read_bytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.3ds").write_bytes(data)
    Image.new("RGB", (8, 8)).save(tmp_path / "ab.png")
    watched = (
        "import sys; opened = []; "
        "sys.addaudithook(lambda event, values: opened.append(str(values)) "
        "if event in ('open', 'socket.connect', 'subprocess.Popen') else None); "
        "from keyframer.cli import main; code = main(sys.argv[1:]); "
        "print(code, any('ab.png' in one or 'socket' in one for one in opened))"
    )
    arguments = ["thumbnail", str(tmp_path / "in" / "a.3ds"), "--size", "16", "-o", str(tmp_path / "o.png")]
    ran = subprocess.run([sys.executable, "-c", watched, *arguments], capture_output=True, text=True, check=True)
    assert "1 image not found beside the file (searched: " in ran.stderr
    assert ran.stdout.split() == ["0", "False"]


@needs_corpus
@pytest.mark.parametrize(
    "name",
    [
        "assimp__assimp__jeep1.3ds",
        "blitz-research__blitz3d__mak_robotic.3DS",
        "CelestiaProject__Celestia__hubble-6969c70f.3ds",
        "qt__qt3d__penguin.3ds",
        "mrdoob__three.js__portalgun.3ds",
        "helix-toolkit__helix-toolkit__VWBus.3ds",
        "OS2World__LIB-Lib3ds__2101.3DS",
        "castle-engine__demo-models__p47d.3ds",
        "epitron__3dspin__duck.3ds",
        "netpipe__IrrlichtDemos__snowman.3ds",
    ],
)
def test_real_files_are_lit_and_framed(run: Run, tmp_path: Path, name: str) -> None:
    """The pictures of these ten files were inspected. Asserted: inside the frame, filling it, neither dark nor
    overexposed."""
    out = tmp_path / "a.png"
    run("thumbnail", CORPUS / "3ds" / name, "--background", "none", "--camera", "fit", "-o", out)
    pixels = np.asarray(opened(out).convert("RGBA")).astype(int)
    seen = pixels[:, :, 3] > 0
    assert not np.concatenate([seen[0], seen[-1], seen[:, 0], seen[:, -1]]).any()
    assert max(seen.any(axis=0).sum(), seen.any(axis=1).sum()) > 215
    light = pixels[:, :, :3].max(axis=2)[seen]
    assert 40 < light.mean() < 250
    assert light.std() > 8
