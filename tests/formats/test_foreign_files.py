"""Well-known formats that Keyframer does not read are named by their first bytes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import keyframer
from keyframer import formats
from keyframer.checking import check
from keyframer.formats import FORMATS, Format, detect
from keyframer.formats.contract import Match
from keyframer.formats.foreign_files import NOT_READ, STRANGERS
from keyframer.salvaging import salvage
from tests.cli.running import Run

BEGINNINGS = {
    b"IDPO\x06\0\0\0": "Quake model (MDL)",
    b"IDP2\x08\0\0\0": "Quake II model (MD2)",
    b"IDP3\x0f\0\0\0": "Quake III model (MD3)",
    b"IDST\x0a\0\0\0": "Half-Life model (MDL)",
    b"IDSQ\x0a\0\0\0": "Half-Life sequences (MDL)",
    b"MDL2\0": "3D GameStudio model (MDL)",
    b"MDL5\0": "3D GameStudio model (MDL)",
    b"MDL7\0": "3D GameStudio model (MDL)",
    b"MS3D000000\x04\0\0\0": "MilkShape 3D model (MS3D)",
    b"// MilkShape 3D ASCII\r\n": "MilkShape 3D text",
    b"FORM\0\0\x10\0LWO2": "LightWave object (LWO)",
    b"FORM\0\0\x10\0LWOBPNTS": "LightWave object (LWO)",
    b"LWSC\r\n3\r\n": "LightWave scene (LWS)",
    b'<?xml version="1.0"?>\n<COLLADA xmlns="x">': "Collada scene (DAE)",
    b'\xef\xbb\xbf<?xml version="1.0"?>\r\n<!-- x -->\r\n<COLLADA>': "Collada scene (DAE)",
    b"Kaydara FBX Binary  \0\x1a\0": "FBX scene",
    b"; FBX 7.3.0 project file\n": "FBX scene",
    b"xof 0302txt 0032\n": "DirectX model (X)",
    b"xof 0303bzip0032": "DirectX model (X)",
    b"Caligari V00.01ALH": "trueSpace file (COB)",
    b"//Maya ASCII 4.0 scene\n": "Maya scene (MA)",
    b"FOR4\0\0\x10\0Maya": "Maya scene (MB)",
    b"FOR8\0\0\0\0\0\0\0\0\0\0\x10\0Maya": "Maya scene (MB)",
    b"animVersion 1.1;\nmayaVersion 2016;\n": "Maya animation curves (ANIM)",
    b"%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n--- !u!74 &7400000\n": "Unity asset, such as an animation (ANIM)",
    b"%YAML 1.1\r\n%TAG !u! tag:unity3d.com,2011:\r\n": "Unity asset, such as an animation (ANIM)",
    struct.pack(">7i", 9994, *[0] * 5, 50) + struct.pack("<2i", 1000, 3): "ESRI shapefile (SHP)",
    b"axel f".ljust(1080, b"\0") + b"M.K." + bytes(1024): "music module (MOD)",
    b"song".ljust(1080, b"\0") + b"6CHN": "music module (MOD)",
    b"BLENDER-v279": "Blender file (BLEND)",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "OLE container, such as a scene of 3ds Max (MAX)",
}


@pytest.mark.parametrize("padding", [0, 200])
@pytest.mark.parametrize("beginning", BEGINNINGS, ids=repr)
def test_strangers_are_named(beginning: bytes, padding: int) -> None:
    """If a registered format recognises one of these, its entry leaves the table, and this list."""
    detection = detect(beginning + bytes(padding), name="x.anim")
    assert (detection.format, detection.score) == (None, 0.0)
    assert detection.reason == f"{BEGINNINGS[beginning]}: {NOT_READ}"


def test_every_entry_is_tested_and_is_of_no_registered_format() -> None:
    assert {entry.title for entry in STRANGERS} <= set(BEGINNINGS.values())
    own = [choice for known in FORMATS for entry in known.signatures for choice in entry.sequences[0][1]]
    for entry in STRANGERS:
        for beginning in entry.sequences[0][1]:
            assert not any(beginning.startswith(choice) for choice in own), entry.title


@pytest.mark.parametrize(
    "data", [b"IDP9....", b"FORM\0\0\x10\0AIFF", b"MDL1\0\0", b"MDL8\0\0", b"H3DA\x09\0\0\0", b"<x/>"]
)
def test_similar_beginnings_are_not(data: bytes) -> None:
    assert NOT_READ not in detect(data + bytes(40)).reason


class Md2(Format):
    name = "md2"
    title = "Quake II"
    extensions = (".md2",)

    def sniff(self, head: bytes, size: int) -> Match | None:
        return Match(0.5, "begins with IDP2") if head.startswith(b"IDP2") else None


def test_a_registered_format_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, Md2()))
    detection = detect(b"IDP2\x08\0\0\0")
    assert detection.format is not None
    assert (detection.format.name, detection.reason) == ("md2", "begins with IDP2")


def test_identify_names_them_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "grunt.md2").write_bytes(b"IDP2\x08\0\0\0" + bytes(60))
    ran = run("identify", tmp_path / "grunt.md2")
    assert (ran.code, ran.out) == (3, f"{tmp_path}/grunt.md2: Quake II model (MD2): not a format Keyframer reads\n")
    (record,) = json.loads(run("identify", "--format", "json", tmp_path / "grunt.md2").out)["files"]
    assert (record["format"], record["title"], record["certainty"]) == (None, "Quake II model (MD2)", "none")
    ran = run("info", tmp_path / "grunt.md2")
    assert ran.code == 3
    told = f"keyframer: {tmp_path}/grunt.md2: Quake II model (MD2): not a format Keyframer reads\n"
    assert ran.err == told
    assert run("convert", tmp_path / "grunt.md2", tmp_path / "grunt.glb").err == told


@pytest.mark.parametrize("operation", ["identify", "check", "convert"])
def test_the_report_of_an_archive_counts_them_by_name(run: Run, tmp_path: Path, operation: str) -> None:
    for name, data in (("a.md2", b"IDP2a"), ("b.md2", b"IDP2b"), ("c.anim", b"BLENDERx"), ("d.3ds", b"unknown")):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(data)
    run("batch", operation, "--all-files", tmp_path / "in", "-o", tmp_path / "out", "-j", "1", "-q")
    head = run("batch", "report", tmp_path / "out").out.partition("\n\n")[0].splitlines()
    assert head[1:] == [
        "Quake II model (MD2): 2 files, not a format Keyframer reads",
        "Blender file (BLEND): 1 file, not a format Keyframer reads",
    ]
    page = run("batch", "report", tmp_path / "out", "--format", "html").out
    assert '<td>Quake II model (MD2)</td><td class="n">2</td>' in page


def test_strangers_are_neither_damaged_nor_salvaged(tmp_path: Path) -> None:
    path = tmp_path / "grunt.md2"
    path.write_bytes(b"IDP2\x08\0\0\0" + bytes(60))
    assert check(path).verdict == "not readable"
    for use in (keyframer.load, lambda path: keyframer.load(path, salvage=True), salvage):
        with pytest.raises(keyframer.FormatError, match=r"Quake II model \(MD2\): not a format Keyframer reads"):
            use(path)
