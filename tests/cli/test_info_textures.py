"""``keyframer info`` and the images that a file names: found, guessed, refused or missing; also inside glTF files."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.building.files import editor, material, texture
from tests.building.gltf import data_uri, glb, triangle
from tests.building.images import picture, png
from tests.cli.running import EXAMPLE, STYLES, Run, check_schema, spawn

NAMES = (
    b"Exact.png", b"PANELS.PNG", b"WOOD.TGA", b"STONEWAL.TGA", b"..\\..\\secret.png", b"C:\\MAPS\\PANELS.PNG",
    b"\\\\host\\share\\a.png", b"http://example.org/a.png", b"NUL", b"gone.png", b"broken.gif", b"bomb.png",
    b"LIST.IFL",
)  # fmt: skip


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "secret.png").write_bytes(picture())
    folder = tmp_path / "models" / "inside"
    (folder / "maps").mkdir(parents=True)
    for name in ("Exact.png", "Panels.png", "wood.png", "stonewall.tga", "a.png"):
        (folder / name).write_bytes(picture("TGA" if name.endswith("tga") else "PNG"))
    (folder / "broken.gif").write_bytes(b"GIF89a and no more")
    (folder / "bomb.png").write_bytes(png(60_000, 60_000, zlib.compress(b"")))
    (folder / "list.ifl").write_text("a.png 3\n")
    path = folder / "scene.3ds"
    path.write_bytes(editor(*(material(b"m%d" % number, texture(name)) for number, name in enumerate(NAMES))))
    return path


def rows(run: Run, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    ran = run("info", "--format", "json", *arguments)
    assert ran.code == 0
    check_schema("info", ran.json())
    return {row["name"]: row for row in ran.json()["files"][0]["tables"]["textures"]}


def test_status_of_every_image_name(run: Run, scene: Path) -> None:
    textures = rows(run, scene)
    assert {name: (row["status"], row["found"], row["rule"]) for name, row in textures.items()} == {
        "Exact.png": ("found", "Exact.png", "under its own name"),
        "PANELS.PNG": ("guessed", "Panels.png", "in another case"),
        "WOOD.TGA": ("guessed", "wood.png", "with another extension"),
        "STONEWAL.TGA": ("guessed", "stonewall.tga", "by its first eight characters"),
        "..\\..\\secret.png": ("missing", None, None),
        "C:\\MAPS\\PANELS.PNG": ("guessed", "Panels.png", "in another case"),
        "\\\\host\\share\\a.png": ("guessed", "a.png", "under its own name"),
        "http://example.org/a.png": ("refused", None, None),
        "NUL": ("refused", None, None),
        "gone.png": ("missing", None, None),
        "broken.gif": ("unusable", "broken.gif", "under its own name"),
        "bomb.png": ("unusable", "bomb.png", "under its own name"),
        "LIST.IFL": ("guessed", "list.ifl", "in another case"),
    }
    notes = {name: row["note"] for name, row in textures.items() if row["note"]}
    assert notes == {
        "..\\..\\secret.png": "SEC_PATH_TRAVERSAL: its path is not followed",
        "C:\\MAPS\\PANELS.PNG": "SEC_PATH_ABSOLUTE: its path is not followed",
        "\\\\host\\share\\a.png": "SEC_PATH_UNC: its path is not followed",
        "http://example.org/a.png": "SEC_PATH_URL: its path is not followed",
        "NUL": "SEC_PATH_RESERVED: its path is not followed",
        "broken.gif": notes["broken.gif"],
        "bomb.png": "more pixels than the limit of 67108864",
    }
    assert "not an image that can be read" in notes["broken.gif"]
    assert textures["Exact.png"]["image"] == "PNG, 6 x 4"
    assert textures["LIST.IFL"]["image"] == "an Autodesk image list (IFL): a.png, PNG, 6 x 4"
    assert textures["STONEWAL.TGA"]["used by"] == "material m3: texture1"


@pytest.mark.parametrize("style", STYLES)
def test_every_style_lists_the_images(run: Run, scene: Path, style: str) -> None:
    out = run("info", "--table", "textures", "--format", style, scene).out
    for word in ("guessed", "refused", "missing", "by its first eight characters"):
        assert word in out


def test_images_in_texture_paths_are_found(run: Run, scene: Path, tmp_path: Path) -> None:
    more = tmp_path / "more" / "deep"
    more.mkdir(parents=True)
    (more / "gone.png").write_bytes(picture())
    assert rows(run, scene, "--texture-path", tmp_path / "more")["gone.png"]["status"] == "missing"
    texture = rows(run, scene, "--texture-path", tmp_path / "more", "--texture-recursive")["gone.png"]
    assert (texture["status"], texture["found"]) == ("guessed", str(more / "gone.png"))
    assert texture["rule"] == "under its own name, in a subfolder"
    unseen = rows(run, scene, "--no-textures")
    assert {row["status"] for row in unseen.values()} == {"not looked for"}


def test_images_of_glTF(run: Run, tmp_path: Path) -> None:
    root, binary = triangle()
    root["images"] = [
        {"uri": "Skin.png"}, {"uri": "../secret.png"}, {"uri": "https://example.org/x.png"},
        {"uri": data_uri(picture()), "name": "painted"}, {"bufferView": 2, "mimeType": "image/png"},
    ]  # fmt: skip
    root["textures"] = [{"source": number} for number in range(5)]
    root["materials"] = [
        {"name": f"m{number}", "pbrMetallicRoughness": {"baseColorTexture": {"index": number}}} for number in range(5)
    ]
    root["bufferViews"].append({"buffer": 0, "byteOffset": 44, "byteLength": len(picture())})
    root["buffers"][0]["byteLength"] = 44 + len(picture())
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(picture())
    (folder / "skin.PNG").write_bytes(picture())
    (folder / "x.glb").write_bytes(glb(root, binary + picture()))
    textures = rows(run, folder / "x.glb")
    assert {name: (row["status"], row["found"], row["image"]) for name, row in textures.items()} == {
        "Skin.png": ("guessed", "skin.PNG", "PNG, 6 x 4"),
        "../secret.png": ("missing", None, None),
        "https://example.org/x.png": ("refused", None, None),
        "painted": ("embedded", "painted", "PNG, 6 x 4"),
        "image 4": ("embedded", "image 4", "PNG, 6 x 4"),
    }


def test_files_without_images_do_not_import_pillow(tmp_path: Path) -> None:
    """Importing Pillow and listing a folder cost more than the tables."""
    path = tmp_path / "bare.3ds"
    path.write_bytes(editor(material(b"bare")))
    script = "import sys; from keyframer.cli import main; main(['info', sys.argv[1]]); print('PIL' in sys.modules)"
    import subprocess

    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert b"Textures" not in spawn("info", path).stdout
    assert b"STONE.PNG" in spawn("info", "--table", "textures", EXAMPLE).stdout
