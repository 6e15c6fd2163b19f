"""Data for the page: valid JSON, curves from our sampler, and an exported page with all of it."""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation
from keyframer.formats.contract import Format
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.viewer import ViewedFile, Viewer, packed_page, track_curves, viewed_file
from keyframer.viewer.json_data import columns
from keyframer.viewer.resources import Resources
from keyframer.viewer.standalone_page import Assets
from keyframer.viewer.track_curves import ClipCurves
from tests.cli.running import Run
from tests.cli.test_hostile_names import HOSTILE, UNSAFE
from tests.hostile.attacks import ATTACKS
from tests.hostile.expense import write_files
from tests.samples import all_samples
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, FILES, SAMPLES, assets, viewed
from tests.viewer.raw import ask, session
from tests.viewer_page import needs_page
from tests.waiting import PATIENCE


def json_of(file: ViewedFile, path: str) -> dict[str, object]:
    answer = Resources([file]).get(f"/data/0/{path}")
    parsed: dict[str, object] = json.loads(answer[1])
    return parsed


def test_a_damaged_file_has_a_map_of_its_bytes(tmp_path: Path) -> None:
    whole = EXAMPLE.read_bytes()
    damaged = tmp_path / "damaged.3ds"
    damaged.write_bytes(whole[:1024] + bytes(512) + whole[1536:])
    found = json_of(viewed(damaged)[0], "scene")["map"]
    assert isinstance(found, list)
    states = [state for start, end, state in found for _ in range(start, end)]
    spans = keyframer.salvage(damaged).spans
    assert states == [span.state for span in spans for _ in range(span.start, span.end)]
    assert "dropped" in states
    assert json_of(viewed(EXAMPLE)[0], "scene")["map"] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_issues_match_check_and_the_scene_is_built_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [str(issue) for issue in keyframer.check(path).issues]
    built = []
    to_scene = Format.to_scene

    def counted(self: Format, *arguments: Any) -> Scene:
        built.append(self.name)
        return to_scene(self, *arguments)

    monkeypatch.setattr(Format, "to_scene", counted)
    (file,) = viewed(path)
    assert [str(issue) for issue in file.report.issues] == wanted
    assert len(built) == (2 if file.report.damaged else 1)  # as it is for the report, and what salvage would recover


def test_curves_match_the_sampler() -> None:
    (file,) = viewed(EXAMPLE)
    scene = keyframer.load(EXAMPLE)
    for number, channel in enumerate(scene.clips[0].channels):
        track = json_of(file, f"track/{number}")
        curve = track["curve"]
        assert isinstance(curve, dict)
        times = np.array(curve["times"])
        wanted = keyframer.compile_track(channel.track)(times).reshape(len(times), -1)
        given = np.array(curve["values"]).T
        assert given == pytest.approx(wanted, rel=1e-5, abs=1e-5)
        assert set(channel.track.times) <= set(times)


def test_curve_passes_through_every_one_of_many_keys() -> None:
    """At any zoom, keys lie on the curve."""
    times = np.arange(5_000.0)
    track = keyframer.Track("position", times, np.random.default_rng(3).normal(size=(5_000, 3)))
    track_json: Any = ClipCurves(Clip(channels=[Channel(0, track)]), 0.0, 4_999.0).curve(0)
    points = dict(zip(track_json["curve"]["times"], track_json["curve"]["values"][0], strict=True))
    assert [points[time] for time in times] == track_json["keys"]["values"][0]


def test_curves_do_not_depend_on_other_requested_tracks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracks are sampled in groups; requested in reverse order, each is sampled with other tracks."""
    (file,) = viewed(SAMPLES / "3ds/tracks.3ds")
    scene = file.loaded.scene
    channels = scene.clips[0].channels
    together = [ClipCurves(scene.clips[0], 0.0, 30.0).curve(number) for number in range(len(channels))]
    monkeypatch.setattr(track_curves, "PORTION", 100)
    few_at_once = ClipCurves(scene.clips[0], 0.0, 30.0)
    assert [few_at_once.curve(number) for number in reversed(range(len(channels)))] == together[::-1]
    monkeypatch.setattr(track_curves, "PORTION", 1)
    alone = ClipCurves(scene.clips[0], 0.0, 30.0)
    assert [alone.curve(number) for number in range(len(channels))] == together
    assert len({str(track_json["components"]) for track_json in together}) > 2


def test_saved_model_keeps_its_motion() -> None:
    """The page saves the GLB that it shows."""
    (file,) = viewed(EXAMPLE)
    model = file.model()
    assert model is not None
    scene, saved = keyframer.load(EXAMPLE), keyframer.load(BytesIO(model))
    frames = np.linspace(scene.clips[0].start, scene.clips[0].end, 40)
    before, after = (keyframer.pose(some, frames=frames).world for some in (scene, saved))
    assert np.ptp(before, axis=0).max() > 1
    np.testing.assert_allclose(after, before, atol=3e-4 * np.abs(before[..., :3, 3]).max())


def test_page_of_many_tracks_reads_all_keys_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The played range of a clip is computed once, not for every track, and all tracks are compiled together."""
    spans: list[int] = []
    compiled: list[int] = []
    span, compile_all = viewed_file.written_span, track_curves.CurveBank
    monkeypatch.setattr(viewed_file, "written_span", lambda clip, fps: spans.append(1) or span(clip, fps))
    monkeypatch.setattr(track_curves, "CurveBank", lambda tracks: compiled.append(len(tracks)) or compile_all(tracks))
    sampled: list[int] = []
    sample = compile_all.evaluate_pairs
    monkeypatch.setattr(compile_all, "evaluate_pairs", lambda bank, *asked: sampled.append(1) or sample(bank, *asked))
    nodes = [Node(f"n{number}") for number in range(300)]
    moves = [
        Channel(number, keyframer.Track("position", np.array([0.0, 9.0]), np.array([[0, 0, 0], [1.0, 2, 3]])))
        for number in range(len(nodes))
    ]
    keyframer.save(Scene(nodes, clips=[Clip(channels=moves, end=9)]), tmp_path / "many.3ds")
    (file,) = viewed(tmp_path / "many.3ds")
    assert file.track_count == 900  # 3D Studio has keys for rotation and scale, too
    packed_page([file], assets(tmp_path))
    assert len(spans) == 1
    assert compiled == [900]
    assert len(sampled) < 10  # not once for each track


@pytest.mark.parametrize("scale", [1e-20, 1e-9, 1e-3, 1.0, 1e5, 1e11, 1e30])
def test_numbers_are_rounded_to_seven_digits(scale: float) -> None:
    values = np.random.default_rng(5).normal(size=(400, 3)) * scale
    values[3], values[4, 1], values[5] = 0.0, -0.0, np.rint(values[5])
    assert columns(values) == [[float(f"{value:.7g}") for value in column] for column in values.T.tolist()]
    values[7, 1] = np.nan
    assert columns(values)[1][7] is None


def test_curves_of_very_many_keys_have_fewer_samples_each() -> None:
    def steps(count: int) -> int:
        track = keyframer.Track("position", np.arange(5.0), np.eye(5, 3), Interpolation.TCB)
        track_json: Any = ClipCurves(Clip(channels=[Channel(0, track)] * count), 0.0, 4.0).curve(0)
        return (len(track_json["curve"]["times"]) - 1) // 4

    assert steps(1) == 24
    assert 6 < steps(7_000) < 24
    assert steps(15_000) == 6


def test_keys_have_the_values_of_the_file() -> None:
    (file,) = viewed(EXAMPLE)
    scene = keyframer.load(EXAMPLE)
    number = next(i for i, c in enumerate(scene.clips[0].channels) if c.track.kind == "rotation" and c.node == 6)
    keys = json_of(file, f"track/{number}")["keys"]
    assert isinstance(keys, dict)
    track = scene.clips[0].channels[number].track
    assert track.tension is not None
    assert track.ease_from is not None
    assert keys["tension"] == pytest.approx(track.tension, rel=1e-6)
    assert keys["ease_from"] == pytest.approx(track.ease_from, rel=1e-6)


@pytest.mark.parametrize("path", [path for _, path in all_samples()], ids=str)
def test_every_sample_can_be_described(path: Path) -> None:
    """JSON with NaN would be refused, so this also shows that there is none."""
    (file,) = viewed(path)
    resources = Resources([file])
    for each in resources.paths():
        answer = resources.get(each)
        if answer is not None and answer[0] == "application/json":
            json.loads(answer[1], parse_constant=lambda word: pytest.fail(word))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_escaped_and_short(name: str, tmp_path: Path) -> None:
    (file,) = viewed(hostile_file(HOSTILE[name], tmp_path))
    text = file.scene().decode()
    for part in (text, (file.clip(0) or b"").decode(), (file.losses() or b"").decode()):
        assert part.isascii()
        assert 2 < len(part) < 60_000
    assert not UNSAFE.search(json.dumps(json.loads(file.losses() or b""), ensure_ascii=False))
    for node in json.loads(text)["nodes"]:
        assert not UNSAFE.search(node["name"])


def packed(page: bytes) -> str:
    match = re.search(rb'<script type="application/octet-stream" id="packed">([A-Za-z0-9+/=]*)</script>', page)
    return match[1].decode()


def test_exported_page_contains_everything(tmp_path: Path) -> None:
    files = viewed(EXAMPLE, SAMPLES / "3ds/cut.3ds")
    page = packed_page(files, assets(tmp_path))
    whole = gzip.decompress(base64.b64decode(packed(page)))
    length = int.from_bytes(whole[:4], "little")
    index = json.loads(whole[4 : 4 + length])
    assert ["/data/0/model", len(files[0].model() or b"")] in index
    assert len(whole) == 4 + length + sum(size for _, size in index)
    assert not [path for path, _ in index if path == "/data/1/model"]
    assert packed_page(files, assets(tmp_path)) == page


def test_exported_page_allows_only_hashed_scripts(tmp_path: Path) -> None:
    page = packed_page(viewed(EXAMPLE), assets(tmp_path)).decode()
    csp = re.search('<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert "unsafe" not in csp[1]
    assert "http" not in csp[1]
    assert "require-trusted-types-for 'script'" in csp[1]
    parts = re.findall("<(?:script|style)[^>]*>(.*?)</(?:script|style)>", page, re.DOTALL)
    assert len(parts) == 3
    for part in parts:
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in csp[1]


class _Parts(HTMLParser):
    """The contents of scripts and styles as a browser finds them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.contents: list[str] = []
        self._inside = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._inside = True
            self.contents.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.contents[-1] += data


@pytest.mark.parametrize("hidden", ["</script>", "</SCRIPT >", "<script>", "<!--", "<!--<script>"])
def test_program_of_the_exported_page_cannot_end_its_own_script(hidden: str, tmp_path: Path) -> None:
    """A string of the program may contain what ends a script, or what makes a browser ignore its end."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    program, style = f"before('{hidden}'); after()", "a::after { content: '</style>' }"
    (tmp_path / "assets/index-x.js").write_text(program)
    (tmp_path / "assets/index-x.css").write_text(style)
    page = packed_page(viewed(SAMPLES / "3ds/tracks.3ds"), Assets(tmp_path)).decode()
    found_style, _, found_program = _Parts(page).contents
    assert hidden not in found_program
    assert found_program.replace(r"\x3c", "<") == program
    assert found_style.replace(r"<\/", "</") == style


@pytest.mark.parametrize("name", ["html", "markdown", "bidi"])
def test_names_are_not_markup_in_the_exported_page(name: str, tmp_path: Path) -> None:
    path = hostile_file(HOSTILE[name], tmp_path)
    page = packed_page(viewed(path), assets(tmp_path))
    assert HOSTILE[name] not in page
    assert page.count(b"<script") == 2


def test_view_command_exports_a_page(run: Run, tmp_path: Path) -> None:
    from keyframer.viewer.standalone_page import FOLDER

    out = tmp_path / "page.html"
    ran = run("view", EXAMPLE, "--export", out)
    if not (FOLDER / "index.html").is_file():
        assert ran.code == 2
        assert "make viewer" in ran.err
        return
    assert ran.code == 0
    assert out.stat().st_size > 100_000
    assert run("view", EXAMPLE, "--export", out).code == 2  # it exists
    assert run("view", EXAMPLE, SAMPLES / "3ds/cut.3ds", "--export", out, "-f").code == 3  # one could not be shown
    assert run("view").code == 2
    assert run("view", EXAMPLE, "--port", "99999").code == 2


@needs_page
def test_view_command_reports_why_it_cannot_serve(run: Run, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("view", EXAMPLE, "--no-open", "--port", str(viewer.port))
    assert ran.code == 3
    reason = os.strerror(errno.EADDRINUSE)
    assert ran.err == f"keyframer: 127.0.0.1:{viewer.port}: the server cannot be started: {reason}\n"

    def fail(url: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("keyframer.cli.view.BrowserHandoff", fail)
    monkeypatch.setattr(Viewer, "wait", lambda self: None)
    ran = run("view", EXAMPLE, "-q")
    assert ran.code == 0
    assert ran.err == f"keyframer: the browser cannot be opened: {os.strerror(errno.ENOSPC)}\n"


def test_textures_are_searched_only_below_the_given_folders(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    from PIL import Image

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "mill.3ds").write_bytes(EXAMPLE.read_bytes())
    Image.new("RGB", (4, 4), "red").save(tmp_path / "STONE.PNG")
    (plain,) = viewed(folder / "mill.3ds")
    assert b"image/png" not in (plain.model() or b"")
    (given,) = viewed(folder / "mill.3ds", "--texture-path", tmp_path)
    assert b"image/png" in (given.model() or b"")
    (none,) = viewed(folder / "mill.3ds", "--texture-path", tmp_path, "--no-textures")
    assert b"image/png" not in (none.model() or b"")


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
@needs_page
def test_view_command_serves_until_ctrl_c() -> None:
    command = [sys.executable, "-m", "keyframer", "view", str(EXAMPLE), "--no-open", "-q"]
    # a test run in the background inherits an ignored SIGINT: Ctrl-C must reach the command all the same
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed
    ) as running:
        match = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#[0-9a-f]{32}\n", running.stdout.readline())
        with urllib.request.urlopen(match[1], timeout=PATIENCE) as answer:
            assert b"<title>Keyframer</title>" in answer.read()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out, err) == (0, "", "")


def test_images_are_encoded_again(tmp_path: Path) -> None:
    """No byte of an image file, which may hide data, reaches the page; maps are those of the exporter."""
    from PIL import Image

    from tests.samples.make_3ds import chunk, f32, strz, triangle, u16

    Image.new("RGB", (8, 8), (200, 30, 30)).save(tmp_path / "skin.jpg", comment=b"hidden words")
    Image.new("L", (8, 8), 128).save(tmp_path / "holes.png")
    maps = [
        chunk(identity, chunk(0xA300, strz(name))) for identity, name in ((0xA200, "skin.jpg"), (0xA210, "holes.png"))
    ]
    uv = chunk(0x4140, u16(3), f32(0, 0, 1, 0, 0, 1))
    path = tmp_path / "mapped.3ds"
    path.write_bytes(
        chunk(
            0x4D4D,
            chunk(0x3D3D, chunk(0xAFFF, chunk(0xA000, strz("red")), *maps), chunk(0x4000, strz("Tri"), triangle(uv))),
        )
    )
    (file,) = viewed(path)
    model = file.model()
    assert b"hidden words" not in model
    assert b"\xff\xd8\xff" not in model
    length = int.from_bytes(model[12:16], "little")
    images = json.loads(model[20 : 20 + length])["images"]
    assert [image["mimeType"] for image in images] == ["image/png"]
    with Image.open(BytesIO(model[model.index(b"\x89PNG") :])) as drawn:
        assert drawn.mode == "RGBA"
        red, green, blue, alpha = drawn.getpixel((4, 4))  # type: ignore[misc]
    assert (abs(red - 200) < 8, abs(green - 30) < 8, abs(blue - 30) < 8) == (True, True, True)
    assert 0 < alpha < 255

    keyframer.save(keyframer.load(path), tmp_path / "mapped.glb")  # and so are those that a glTF file holds itself
    (inside,) = viewed(tmp_path / "mapped.glb")
    again = inside.model()
    assert again.count(b"\x89PNG") == 1
    with Image.open(BytesIO(again[again.index(b"\x89PNG") :])) as drawn:
        assert drawn.getpixel((4, 4)) == (red, green, blue, alpha)


@pytest.mark.parametrize(
    "attack",
    [
        *("one_huge_turn", "many_huge_turns", "loops_over_a_long_range", "keys_at_the_end_of_time"),
        *("u3d_to_the_end_of_time", "midtown_frames", "node_turns_without_end", "channels_that_share_a_sampler"),
    ],
)
def test_tracks_of_hostile_files_are_short(attack: str, tmp_path: Path) -> None:
    """However far apart the keys are and however often they repeat."""
    path, _ = write_files(ATTACKS[attack](), tmp_path / "in")
    (file,) = viewed(path)
    for number in range(min(file.track_count, 3)):
        answer = Resources([file]).get(f"/data/0/track/{number}")
        track = json.loads(answer[1])
        assert len(track["curve"]["times"]) <= track_curves.MOST_SAMPLES + len(track["keys"]["times"])


def test_exceeded_limit_is_an_error_answer(tmp_path: Path) -> None:
    (file,) = viewed(EXAMPLE)
    assert file.loaded.scene is not None
    file._budget.spent["samples"] = file._budget.total("samples")
    viewer = Viewer([file], assets=assets(tmp_path))
    try:
        answer = ask(viewer, "/data/0/model", Cookie=session(viewer))
    finally:
        viewer.close()
    assert answer.status == 422
    assert re.fullmatch(rb"\d+ samples requested, the limit is 8000000\n", answer.body)
