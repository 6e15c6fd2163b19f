"""Signatures: ``file`` and FIDO know our files with them, and say nothing about files that have no signature."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path
from shutil import which
from xml.etree import ElementTree

import pytest

from keyframer.describing import DESCRIPTIONS
from keyframer.formats import FORMATS, detect
from keyframer.formats.contract import HEAD_SIZE
from tests.corpus import CORPUS, animation_files, more_animation_files
from tests.samples import all_samples, unhex
from tests.slow import SLOW

SAMPLES = [path for _, path in all_samples() if path.suffix != ".xml"]  # a scene file has no signature
WITHOUT_SIGNATURE = ("midtown", "nodeanim", "vue")
TITLES = {signature.title: known.name for known in FORMATS for signature in known.signatures}
PUIDS = {
    signature.pronom or f"keyframer/{known.name}": known.name for known in FORMATS for signature in known.signatures
}

needs_file = pytest.mark.skipif(which("file") is None, reason="file(1) is not installed")


def _corpus() -> list[Path]:
    """Return the real files; none if there is no corpus."""
    return [*animation_files(), *more_animation_files(), *(CORPUS / "hale3d").glob("*.mdl")]


def _format_of(path: Path) -> str | None:
    """Return the format that Keyframer detects, if it has a signature."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_SIZE)
    detected = detect(head, size=path.stat().st_size).format
    return detected.name if detected is not None and detected.name not in WITHOUT_SIGNATURE else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of magic and pronom."""
    folder = tmp_path_factory.mktemp("signatures")
    for kind in ("magic", "pronom"):
        for name, text in DESCRIPTIONS[kind]().items():
            (folder / name).write_text(text)
    return folder


def _file(folder: Path, paths: list[Path], *options: str) -> list[str]:
    listed = folder / "list"
    listed.write_text("".join(f"{path}\n" for path in paths))
    command = ["file", "-b", *options, "-m", str(folder / "keyframer.magic"), "-f", str(listed)]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout.splitlines()


@needs_file
def test_file_knows_samples_and_corpus(folder: Path) -> None:
    paths = [*SAMPLES, *_corpus()]
    known = {}
    for path, answer in zip(paths, _file(folder, paths), strict=True):
        known[path] = next((name for title, name in TITLES.items() if answer.startswith(title)), None)
    assert known == {path: _format_of(path) for path in paths}
    assert {path.parent.name for path in SAMPLES if known[path] is None} == set(WITHOUT_SIGNATURE)


@needs_file
def test_file_takes_no_other_file_for_ours(folder: Path) -> None:
    tiff, text, demo = folder / "a.tif", folder / "a.txt", folder / "a.anim"
    tiff.write_bytes(b"MM\0*\0\0\0\x08" + bytes(40))
    text.write_text("MMORPG is a game, == is an operator\n")
    demo.write_bytes(bytes(100))
    answers = _file(folder, [tiff, text, demo])
    assert not any(answer.startswith(title) for answer in answers for title in TITLES)


@needs_file
def test_magic_registers_extensions_that_only_one_format_has(folder: Path) -> None:
    named = {path.name: path for path in SAMPLES}
    chosen = ("windmill.3ds", "project.prj", "library.mli", "maxscript.u3d", "arm-length.mdl", "wave-length.anim")
    answers = _file(folder, [named[name] for name in chosen], "--extension")
    assert answers == ["3ds", "prj", "mli", "u3d", "mdl", "???"]  # many formats have .anim


@needs_file
def test_a_block_of_bytes_is_one_test_with_a_mask(folder: Path) -> None:
    assert (folder / "keyframer.magic").read_text().count("\t3D Studio project") == 3  # 0002, 3D3D, C000 to DFFF
    for first in (0xBF, 0xC0, 0xDF, 0xE0):
        path = folder / f"{first:x}.prj"
        path.write_bytes(unhex("3d c2  0c 00 00 00  01") + bytes([first]) + unhex("06 00 00 00"))
        assert _file(folder, [path])[0].startswith("3D Studio project") == (0xC0 <= first <= 0xDF)


def test_fido_knows_samples_and_corpus(folder: Path) -> None:
    """FIDO uses PRONOM's signatures and ours."""
    paths = [*SAMPLES, *_corpus()[:: 1 if SLOW else 12]]
    listed = folder / "fido-list"
    listed.write_text("".join(f"{path}\n" for path in paths))
    formats = ["-matchprintf", "%(info.filename)s\t%(info.puid)s\n", "-nomatchprintf", ""]
    command = [sys.executable, "-m", "fido.fido", "-q", *formats, "-loadformats", str(folder / "keyframer-pronom.xml")]
    run = subprocess.run([*command, "-input", str(listed)], capture_output=True, check=True, text=True, timeout=300)
    found: dict[Path, set[str]] = {path: set() for path in paths}
    for line in run.stdout.splitlines():
        name, puid = line.split("\t")
        found[Path(name)].add(PUIDS.get(puid, puid))
    wrong = {path.name: answers for path, answers in found.items() if answers != ({_format_of(path)} - {None})}
    # PRONOM's own signature of FoxPro memos also fits one of the possible layouts of node animation; .mod is, by its
    # extension, several kinds of music.
    music = {"fmt/162", "fmt/716", "x-fmt/386", "x-fmt/436"}
    assert wrong == {"big_u32_u32_u16_text.nanim": {"x-fmt/342"}, "figure.mod": music, "flat.mod": music}


def test_patterns_of_pronom_say_the_same_as_regular_expressions(folder: Path) -> None:
    root = ElementTree.parse(folder / "keyframer-pronom.xml").getroot()
    patterns = {
        str(signature.findtext("name")): str(signature.findtext("pattern/pronom_pattern"))
        for signature in root.iter("signature")
    }
    assert patterns["U3D (UTO!) scene"] == "55544F21"
    assert patterns["3D Studio material library"] == "AA3D{4}(0200|FFAF)"
    assert patterns["3ds Max ASCII scene"].startswith("{0-32}(2A334453")
    extensions = [element.text for element in root.iter("extension")]
    assert "u3d" in extensions
    assert "anim" not in extensions


def _horde3d() -> list[bytes]:
    """Animations of Horde3D of both versions, which begin with the four bytes of Hale3D; one entity, one frame."""
    entity = b"Hips".ljust(256, b"\0")
    frame = struct.pack("<10f", 0, 0, 0, 1, 0, 1, 0, 1, 1, 1)
    return [struct.pack("<4s3I", b"H3DA", version, 1, 1) + entity + bytes(version - 2) + frame for version in (2, 3)]


@needs_file
def test_file_takes_no_horde3d_animation_for_hale3d(folder: Path) -> None:
    paths = sorted((CORPUS / "horde3d").glob("*.anim"))
    for number, data in enumerate(_horde3d()):
        paths.append(folder / f"{number}.anim")
        paths[-1].write_bytes(data)
    assert not any("Hale3D" in answer for answer in _file(folder, paths))
    assert "Hale3D animation" in _file(folder, [path for path in SAMPLES if path.name == "wave-length.anim"])[0]


def test_pronom_and_detection_take_no_horde3d_animation_for_hale3d(folder: Path) -> None:
    tree = ElementTree.parse(folder / "keyframer-pronom.xml")
    patterns = {
        str(signature.findtext("name")): re.compile(str(signature.findtext("pattern/regex")).encode())
        for signature in tree.iter("signature")
    }
    real = [path.read_bytes() for path in sorted((CORPUS / "horde3d").glob("*.anim"))]
    for data in [*_horde3d(), *real]:
        assert [title for title, pattern in patterns.items() if pattern.match(data)] == ["Horde3D animation"]
        found = detect(data, name="a.anim").format
        assert found is not None
        assert found.name == "horde3d"
    hale3d = next(path for path in SAMPLES if path.name == "wave-length.anim").read_bytes()
    assert patterns["Hale3D animation"].match(hale3d)
