"""HTML for notebooks: registered by type name, computed when shown, and safe."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.curves import Track
from keyframer.notebooks import channel_html, clip_html, document_html, pose_html, scene_html, track_html
from keyframer.scene import Node, Scene, TextureMap
from tests.cli.running import EXAMPLE
from tests.exchange.test_gltf_textures import square


class Html:
    """The part of IPython's formatter that is used."""

    def __init__(self) -> None:
        self.registered: dict[tuple[str, str], Callable[[object], str]] = {}

    def for_type_by_name(self, module: str, name: str, function: Callable[[object], str]) -> None:
        self.registered[module, name] = function


class Shell:
    def __init__(self) -> None:
        self.html = Html()
        self.display_formatter = type("Formatter", (), {"formatters": {"text/html": self.html}})


def test_every_type_is_registered_under_its_real_name() -> None:
    shell = Shell()
    keyframer.load_ipython_extension(shell)
    scene = keyframer.load(EXAMPLE)
    clip = scene.clips[0]
    shown = [
        scene,
        keyframer.pose(scene, frames=[0]),
        clip,
        clip.channels[0],
        clip.channels[0].track,
        keyframer.read(EXAMPLE),
    ]
    for value in shown:
        function = shell.html.registered[type(value).__module__, type(value).__name__]
        text = function(value)
        assert text.startswith(("<div>", "<svg", "<code>"))
        assert len(repr(value)) < 200
        assert "\n" not in repr(value)
    assert len(shell.html.registered) == len(shown)


def _pixels(text: str) -> np.ndarray:
    match = re.search(r"base64,([^\"]+)", text)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(match[1]))).convert("RGB")).astype(int)


@pytest.mark.parametrize("suffix", [".3ds", ".glb", ".gltf"])
def test_images_beside_the_file_and_inside_it_are_shown(tmp_path: Path, suffix: str) -> None:
    """A colourless wall with a green image: beside a 3D Studio file or a glTF text, or inside a binary glTF file."""
    Image.new("RGB", (4, 4), (0, 255, 0)).save(tmp_path / "WALL.PNG")
    scene = square(texture1=TextureMap("WALL.PNG"))
    path = tmp_path / f"wall{suffix}"
    keyframer.save(scene, path, **({} if suffix == ".3ds" else {"texture_path": [tmp_path]}))
    if suffix == ".glb":
        (tmp_path / "WALL.PNG").unlink()
    elif suffix == ".gltf":
        path.write_text(json.dumps({**json.loads(path.read_text()), "images": [{"uri": "WALL.PNG"}]}))
    middle = _pixels(scene_html(keyframer.load(tmp_path / f"wall{suffix}")))[96, 96]
    assert middle[1] > 100
    assert max(middle[0], middle[2]) < 40


def test_scene_is_shown_as_a_picture() -> None:
    text = scene_html(keyframer.load(EXAMPLE))
    match = re.search(r"base64,([A-Za-z0-9+/=]+)", text)
    with Image.open(io.BytesIO(base64.b64decode(match.group(1)))) as picture:
        assert picture.size == (192, 192)
    scene = keyframer.load(EXAMPLE)
    assert pose_html(keyframer.pose(scene, frames=[50])) != text


def test_html_is_about_the_object_and_small() -> None:
    scene = keyframer.load(EXAMPLE)
    posed = keyframer.pose(scene, frames=[0, 10])
    channel = scene.clips[0].channels[0]
    for value, text in ((scene, scene_html(scene)), (posed, pose_html(posed)), (channel, channel_html(channel))):
        assert html.escape(repr(value)) in text
        assert len(text) < 50_000
    assert "<svg" in channel_html(channel)


def test_names_are_escaped_in_html() -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    some, none = Track("fov", [0, 1], [0, 1]), Track("fov", [], [])
    some.kind = none.kind = evil
    for text in (scene_html(Scene(nodes=[Node(evil)], title=evil)), track_html(some), track_html(none)):
        assert "<script" not in text
        assert "\x1b" not in text


def test_documents_and_clips_are_shown_as_tables() -> None:
    assert "<td>NodeHeader</td>" in document_html(keyframer.read(EXAMPLE))
    odd = keyframer.decode(EXAMPLE.read_bytes() + b"tail")
    assert "STRUCT_TRAILING_DATA" in document_html(odd)
    assert "<td>rotation</td>" in clip_html(keyframer.load(EXAMPLE).clips[0])
