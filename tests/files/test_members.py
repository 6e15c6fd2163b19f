"""Members of containers are files like others: images and companions beside them are found, and nothing else."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.files.members import MOST_LEVELS
from tests.building import containers
from tests.building.files import editor, material, texture
from tests.building.gltf import triangle
from tests.building.images import picture
from tests.cli.running import EXAMPLE, Run
from tests.viewer.opening import SAMPLES

RED, GREEN, BLUE = (250, 10, 20), (10, 250, 20), (10, 20, 250)


def scene_with(*names: bytes) -> bytes:
    return editor(*(material(b"m%d" % number, texture(name)) for number, name in enumerate(names)))


@pytest.fixture
def disc(tmp_path: Path) -> Path:
    """A folder as on a disc: scenes in one folder, their images in another, a scene with its images beside it."""
    folder = tmp_path / "disc"
    for name in ("3DS4/MESHES", "3DS4/MAPS", "BESIDE/MAPS"):
        (folder / name).mkdir(parents=True)
    (folder / "3DS4/MESHES/HOUSE.3DS").write_bytes(scene_with(b"WOOD.TGA", b"STONEWAL.TGA", b"NONE.TGA"))
    (folder / "3DS4/MAPS/WOOD.TGA").write_bytes(picture("TGA", RED))
    (folder / "BESIDE/CAR.3DS").write_bytes(scene_with(b"PAINT.TGA", b"TYRE.TGA"))
    (folder / "BESIDE/PAINT.PNG").write_bytes(picture("PNG", GREEN))
    (folder / "BESIDE/MAPS/TYRE.TGA").write_bytes(picture("TGA", BLUE))
    shutil.copy(SAMPLES / "hale3d/arm-length.mdl", folder / "BESIDE/WAVE.MDL")
    shutil.copy(SAMPLES / "hale3d/wave-length.anim", folder / "BESIDE/WAVE.ANIM")
    return folder


@pytest.fixture(params=containers.MAKERS)
def image(request: pytest.FixtureRequest, disc: Path, tmp_path: Path) -> Path:
    """The disc as a container."""
    path = tmp_path / f"disc.{request.param}"
    containers.MAKERS[request.param](disc, path)
    return path


def statuses(run: Run, name: str, *more: str) -> dict[str, tuple[str, str | None]]:
    ran = run("info", "--format", "json", name, *more)
    assert ran.code == 0
    rows: list[dict[str, Any]] = ran.json()["files"][0]["tables"]["textures"]
    return {row["name"]: (row["status"], row["found"]) for row in rows}


def test_images_are_found_beside_members_and_in_maps(run: Run, image: Path) -> None:
    assert statuses(run, f"{image}!/BESIDE/CAR.3DS") == {
        "PAINT.TGA": ("guessed", "PAINT.PNG"),
        "TYRE.TGA": ("guessed", "MAPS/TYRE.TGA"),
    }
    assert statuses(run, f"{image}!/3DS4/MESHES/HOUSE.3DS") == {
        "WOOD.TGA": ("guessed", "../MAPS/WOOD.TGA"),
        "STONEWAL.TGA": ("missing", None),
        "NONE.TGA": ("missing", None),
    }


def test_images_are_found_in_another_archive_only_if_asked(run: Run, image: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "maps.zip", "w") as archive:
        archive.writestr("STONEWAL.TGA", picture("TGA", BLUE))
    member = f"{image}!/3DS4/MESHES/HOUSE.3DS"
    assert statuses(run, member)["STONEWAL.TGA"] == ("missing", None)
    found = statuses(run, member, "--texture-path", f"{tmp_path}/maps.zip")
    assert found["STONEWAL.TGA"] == ("found", f"{tmp_path}/maps.zip!/STONEWAL.TGA")


def test_companions_are_found_beside_members(run: Run, image: Path, disc: Path, tmp_path: Path) -> None:
    scene = keyframer.load(f"{image}!/BESIDE/WAVE.ANIM")
    assert len(scene.skins) == len(keyframer.load(disc / "BESIDE/WAVE.ANIM").skins) == 2
    assert run("convert", f"{image}!/BESIDE/WAVE.ANIM", tmp_path / "one.glb").code == 0
    assert run("convert", disc / "BESIDE/WAVE.ANIM", tmp_path / "two.glb").code == 0
    assert (tmp_path / "one.glb").read_bytes() == (tmp_path / "two.glb").read_bytes()


def test_everything_converts_as_from_the_folder(run: Run, image: Path, disc: Path, tmp_path: Path) -> None:
    for source, out in ((image, "image"), (disc / "BESIDE", "folder")):
        ran = run("batch", "convert", source, "-o", tmp_path / out, "-j", "1")
        assert ran.code == 0, ran.err
    made = {path.relative_to(tmp_path / "image" / image.name / "BESIDE"): path.read_bytes()
            for path in (tmp_path / "image" / image.name / "BESIDE").rglob("*.glb")}  # fmt: skip
    wanted = {path.relative_to(tmp_path / "folder"): path.read_bytes() for path in (tmp_path / "folder").rglob("*.glb")}
    assert made == wanted
    assert len(made) == 3
    again = run("batch", "convert", image, "-o", tmp_path / "image", "-j", "1")
    assert "4 already finished" in again.err


def test_a_folder_in_a_container_is_searched(run: Run, image: Path) -> None:
    assert run("identify", f"{image}!/BESIDE").out.count("\n") == 3
    assert "HOUSE.3DS: 3D Studio" in run("identify", f"{image}!/3DS4/MESHES").out
    ran = run("info", f"{image}!/NOTHING")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "no such member" in ran.err


def test_buffers_of_gltf_are_found_beside_it(tmp_path: Path) -> None:
    root, buffer = triangle()
    root["buffers"] = [{"uri": "deep/numbers.bin", "byteLength": len(buffer)}]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/a.gltf", json.dumps(root))
        archive.writestr("x/deep/numbers.bin", buffer)
    assert len(keyframer.load(f"{tmp_path}/a.zip!/x/a.gltf").meshes) == 1


def test_containers_in_containers(run: Run, disc: Path, tmp_path: Path) -> None:
    """Scenes are found down to the fourth level, with images beside them or in a folder MAPS above."""
    inner = tmp_path / "level.zip"
    containers.zipped(disc, inner)
    for level in range(2, MOST_LEVELS + 2):
        outer = tmp_path / f"outer{level}.zip"
        with zipfile.ZipFile(outer, "w") as archive:
            archive.write(inner, "IN/level.zip")
            archive.writestr("MAPS/STONEWAL.TGA", picture("TGA", BLUE))
        inner = outer
        ran = run("identify", outer)
        if level <= MOST_LEVELS:
            assert ran.code == 0
            assert ran.out.count("\n") == 4
            name = f"{outer}{'!/IN/level.zip' * (level - 1)}!/3DS4/MESHES/HOUSE.3DS"
            assert f"{name}: 3D Studio" in ran.out
            assert statuses(run, name)["STONEWAL.TGA"] == ("guessed", "../../../../MAPS/STONEWAL.TGA")
        else:
            assert ran.code == 3
            assert ran.err.count("\n") == 1
            assert "nested more than 4 levels deep" in ran.err


def test_no_name_leads_out_of_a_container(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    names = (b"..\\secret.png", b"../../secret.png", b"maps.zip!/secret.png", str(tmp_path / "secret.png").encode())
    path = tmp_path / "in" / "a.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.3ds", scene_with(*names))
        archive.writestr("../secret.png", picture())  # in the container it is at the top
    with zipfile.ZipFile(path.with_name("maps.zip"), "w") as archive:
        archive.writestr("secret.png", picture())
    found = statuses(run, f"{path}!/a.3ds")
    assert set(found.values()) == {("guessed", "secret.png")}  # the one at the top
    with pytest.raises(FileNotFoundError):
        keyframer.load(f"{path}!/../a.png")
    assert len(keyframer.load(f"{path}!/../a.3ds").materials) == 4  # the safe name


def test_members_are_read_by_path(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/mill.3ds", EXAMPLE.read_bytes())
    assert keyframer.read(f"{tmp_path}/a.zip!/x/mill.3ds").format.name == "3ds"
    with pytest.raises(FileNotFoundError):
        keyframer.read(f"{tmp_path}/a.zip!/y/mill.3ds")
    (tmp_path / "a.zip").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(FormatError, match="archive"):
        keyframer.read(f"{tmp_path}/a.zip!/x/mill.3ds")


@pytest.mark.parametrize("opener", [gzip.open, bz2.open, lzma.open])
def test_compressed_files(run: Run, tmp_path: Path, opener: Any) -> None:
    path = tmp_path / "mill.3ds.gz"
    with opener(path, "wb") as stream:
        stream.write(EXAMPLE.read_bytes())
    assert run("identify", path).out.startswith(f"{path}!/mill.3ds: 3D Studio")
    assert len(keyframer.load(f"{path}!/mill.3ds").nodes) == len(keyframer.load(EXAMPLE).nodes)


@pytest.mark.parametrize("name", ["fat16", "fat32"])
def test_larger_disks(disc: Path, tmp_path: Path, run: Run, name: str) -> None:
    path = tmp_path / f"{name}.ima"
    containers.floppy(disc, path)
    assert run("identify", path).out.count("\n") == 4


def test_other_inputs_are_not_taken_for_containers(run: Run, tmp_path: Path) -> None:
    """A program without an archive is one foreign file, as before."""
    path = tmp_path / "setup.exe"
    path.write_bytes(b"MZ" + bytes(60_000) + b"PK\3\4 is what a zip archive begins with")
    ran = run("identify", path)
    assert ran.code == 3
    assert "!/" not in ran.out + ran.err


def test_large_members_are_not_unpacked_to_see_what_they_are(tmp_path: Path, run: Run) -> None:
    """Only the beginning of ``big.bin`` is read: its last bytes do not fit its checksum."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mill.3ds", EXAMPLE.read_bytes())
        archive.writestr("big.bin", bytes(1 << 20) + b"end of the data")
    path.write_bytes(path.read_bytes().replace(b"end of the data", b"other last data"))
    ran = run("identify", path)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("kind", ["iso", "xorriso.iso"])
def test_deep_folders_and_long_names(tmp_path: Path, run: Run, kind: str) -> None:
    """Rock Ridge moves folders below the eighth level, and continues long names elsewhere."""
    deep = tmp_path / "disc" / "/".join("123456789") / "10"
    deep.mkdir(parents=True)
    for name in ("M.3DS", "n" * 120 + ".3ds"):
        shutil.copy(EXAMPLE, deep / name)
    if kind == "iso":  # without Joliet, whose names are shorter
        containers.by_program("genisoimage", "-quiet", "-R", "-o", "OUT", "FOLDER")(
            tmp_path / "disc", tmp_path / "a.iso"
        )
    else:
        containers.MAKERS[kind](tmp_path / "disc", tmp_path / "a.iso")
    listed = [line.split("!/")[1].split(": ")[0] for line in run("identify", tmp_path / "a.iso").out.splitlines()]
    assert listed == ["1/2/3/4/5/6/7/8/9/10/M.3DS", f"1/2/3/4/5/6/7/8/9/10/{'n' * 120}.3ds"]
