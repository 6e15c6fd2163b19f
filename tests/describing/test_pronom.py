"""PRONOM: Siegfried's identifiers are ours, and submissions for what the registry lacks have its form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pygfried
import pytest
from tools.make_submissions import make

from keyframer.describing import DESCRIPTIONS
from keyframer.formats import detect
from keyframer.formats.contract import HEAD_SIZE
from tests.cli.running import Run
from tests.corpus import CORPUS, needs_corpus
from tests.samples import FOLDER as SAMPLES
from tests.samples import all_samples

PLAIN = {"UNKNOWN", "x-fmt/111", "x-fmt/263", "fmt/101"}
"""what Siegfried says of files that it does not know: nothing, text, zip archive, or XML"""


def _identifiers(path: Path) -> tuple[str | None, str]:
    """Return the identifier that we give a file, and that of Siegfried."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_SIZE)
    found = detect(head, size=path.stat().st_size, name=path.name).format
    return None if found is None else found.pronom_of(head), pygfried.identify(str(path))


def _has_early_editor(path: Path) -> bool:
    """Whether the signatures of PRONOM match: the editor comes first, or right after the version, which is 3 or 4."""
    return re.match(rb"(?s)MM.{4}(\x02\0\x0a\0\0\0[\3\4].{3})?==", path.read_bytes()[:32]) is not None


def _disagreements(paths: list[Path]) -> list[tuple[str, str | None, str]]:
    answers = {path: _identifiers(path) for path in paths if path.stat().st_size}
    return [
        (path.name, ours, theirs)
        for path, (ours, theirs) in answers.items()
        if (ours or "UNKNOWN") != theirs and not (ours is None and theirs in PLAIN)
    ]


def test_samples_have_the_identifiers_of_siegfried() -> None:
    """The differences are those of docs/describing.md: files whose editor is not where PRONOM looks for it, and models
    of Midtown Madness 2, of which it knows only the extension, that of music."""
    wrong = _disagreements([path for _, path in all_samples()])
    assert {each for each in wrong if each[0].endswith(".mod")} == {
        ("figure.mod", None, "fmt/162"),
        ("flat.mod", None, "fmt/162"),
    }
    others = [each for each in wrong if not each[0].endswith(".mod")]
    assert others == [("oddities.3ds", "x-fmt/19", "UNKNOWN"), ("tracks.3ds", "x-fmt/19", "UNKNOWN")]
    assert not any(_has_early_editor(SAMPLES / "3ds" / name) for name, _, _ in others)


@needs_corpus
def test_real_files_have_the_identifiers_of_siegfried() -> None:
    ours = {".3ds", ".prj", ".mli", ".ase", ".anim", ".mdl", ".b3d", ".mvr", ".gdtf", ".md5mesh", ".md5anim"}
    paths = [path for path in sorted(CORPUS.rglob("*")) if path.suffix.lower() in ours]
    named = {path.name: path for path in paths}
    wrong = [
        each
        for each in _disagreements(paths)
        if not (each[1:] == ("x-fmt/19", "UNKNOWN") and not _has_early_editor(named[each[0]]))
        and not (each[1] is None and named[each[0]].suffix.lower() == ".3ds")  # a page of HTML with that name
    ]
    assert wrong == []
    assert len(paths) > 600


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("windmill.3ds", "x-fmt/19"), ("project.prj", "fmt/1831"), ("library.mli", None), ("bare_editor.3ds", None)],
)
def test_each_kind_of_file_of_3d_studio_has_its_own_identifier(run: Run, name: str, identifier: str | None) -> None:
    answer = run("identify", SAMPLES / "3ds" / name, "--format", "json")
    assert json.loads(answer.out)["files"][0]["pronom"] == identifier


def test_signatures_match_no_file_of_another_format() -> None:
    """All files of this repository, but damaged ones, and of the corpus that we do not take for one of our formats."""
    root = ElementTree.fromstring(DESCRIPTIONS["pronom"]()["keyframer-pronom.xml"])
    patterns = [re.compile(element.text.encode()) for element in root.iter("regex") if element.text]
    repository = SAMPLES.parents[1]
    strangers = 0
    for folder in (repository / "tests", repository / "docs", repository / "examples", CORPUS):
        for path in folder.rglob("*"):
            if path.is_file() and not {"node_modules", "crashers", "golden"} & {*path.parts} and path.stat().st_size:
                with path.open("rb") as stream:
                    head = stream.read(HEAD_SIZE)
                if detect(head, size=path.stat().st_size, name=path.name).format is None:
                    strangers += 1
                    assert not any(pattern.match(head) for pattern in patterns), path.name
    assert strangers > 300


def test_submissions_are_complete(tmp_path: Path) -> None:
    """The fields that the registry requires (its README), a signature that matches the files beside it, and no PUID."""
    make(tmp_path)
    files = sorted(tmp_path.glob("pronom/*/submissions/*.json"))
    names = {path.stem for path in files}
    containers: list[str] = []
    assert names >= {"3d-studio-material-library", "u3d-uto-scene", "3ds-max-ascii-scene", "mvr-show", "gdtf-fixture"}
    assert names >= {"doom-3-md5-mesh-animation-or-camera", "horde3d-geometry", "horde3d-animation"}
    assert not any("blitz" in name or name == "3d-studio-scene" for name in names)
    for path in files:
        values = json.loads(path.read_text())
        assert values["formatName"]
        assert len(values["formatDescription"]) > 80
        samples = sorted((path.parent / "files").iterdir())
        assert samples, path
        for signature in values["internalSignatures"]:
            (sequence,) = signature["byteSequences"]
            assert sequence["positionType"] == "Absolute from BOF"
        if values["internalSignatures"]:
            sequences = [each["byteSequences"][0] for each in values["internalSignatures"]]
            for sample in samples:
                head = sample.read_bytes()[:200]
                assert any(_matches(each["byteSequence"], each["maxOffset"], head) for each in sequences), sample
        else:
            (container,) = values["containerSignatures"]
            containers.append(container["id"])  # the registry's scripts give all other numbers themselves
            assert container["containerType"] == "ZIP"
            assert all(container["files"][0]["path"].encode() in sample.read_bytes() for sample in samples)
        endings = {each["externalSignature"] for each in values["externalSignatures"]}
        assert {sample.suffix[1:].lower() for sample in samples} <= endings | {"anim", "mdl", "3ds"}
    assert all(name.isdecimal() for name in containers)
    assert len(set(containers)) == len(containers) == 2
    for folder in ("pronom", "file", "kaitai", "mime"):
        assert (tmp_path / folder / "LETTER.md").stat().st_size > 200
    again = tmp_path / "again"
    make(again)
    assert {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()} == {
        path.relative_to(tmp_path): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and again not in path.parents
    }


def _matches(pattern: str, slack: int, data: bytes) -> bool:
    """Match PRONOM's syntax, as DROID does: bytes in hex, ``{n}`` any n bytes, ``(a|b)`` one of several."""
    parts = re.findall(r"\{(\d+)\}|\(([0-9A-F|]+)\)|([0-9A-F]{2})", pattern)
    regex = "".join(
        f".{{{skipped}}}"
        if skipped
        else f"(?:{'|'.join(map(_bytes, choices.split('|')))})"
        if choices
        else _bytes(byte)
        for skipped, choices, byte in parts
    )
    return re.match(rf"(?s).{{0,{slack}}}{regex}".encode(), data) is not None


def _bytes(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in bytes.fromhex(text))


def test_samples_need_a_submission_and_a_folder(run: Run, tmp_path: Path) -> None:
    alone = run("formats", "--samples", tmp_path)
    assert (alone.code, "--pronom-submission" in alone.err) == (2, True)
    nowhere = run("formats", "--pronom-submission", tmp_path / "out", "--samples", tmp_path / "none")
    assert (nowhere.code, "there is no folder" in nowhere.err, (tmp_path / "out").exists()) == (2, True, False)
