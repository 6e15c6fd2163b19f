"""All operations on an input, and the promises that must hold for every input.

An operation returns its outcome as a short text (which guides the choice of further inputs), or raises: any exception
is a finding. `Broken` is a broken promise without another exception.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import keyframer
from keyframer.batch.job import Job
from keyframer.batch.job_execution import perform
from keyframer.cli import main
from keyframer.formats import FORMATS
from keyframer.inspecting.text_build import build_bytes
from keyframer.issues import IssueLog
from tests.building.editing import dump_text
from tests.cli.running import check_schema
from tests.fuzz.mutating import Input

STAGE = ("mvr", "gdtf")
LARGEST_MEMBER = 1 << 20
"""bytes of a member of an archive, by `keyframer.Limits.archive_bytes`"""


class Broken(AssertionError):
    """A promise was broken."""


@dataclass
class Place:
    """An input on disk, with its companions, in a separate folder that is emptied first."""

    folder: Path
    given: Input

    def __post_init__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "out").mkdir(parents=True)
        self.files = [self.path]
        """the input and its companions"""
        self.path.write_bytes(self.given.data)
        for name, content in self.given.companions:
            self.files.append(self.folder / (f"in{name}" if name.startswith(".") else name))
            self.files[-1].write_bytes(content)

    @property
    def path(self) -> Path:
        return self.folder / f"in{self.given.suffix}"

    def out(self, name: str) -> Path:
        """Return the path of an output that does not exist yet."""
        path = self.folder / "out" / name
        path.unlink(missing_ok=True)
        return path


# -- the library ------------------------------------------------------------------------------------------------------


def located(error: keyframer.FormatError, given: Input) -> str:
    in_member = given.kind in STAGE and not error.path.startswith("/")  # then the path begins with its name
    if not error.code or not error.message or "\n" in str(error) or not (error.path.startswith("/") or in_member):
        raise Broken(f"not located: {error!r}")
    if not 0 <= error.offset <= (LARGEST_MEMBER if in_member else len(given.data)):
        raise Broken(f"{error.code} lies outside of the file")
    return error.code


def decode(place: Place) -> str:
    """Decoding raises an error with a location, or returns a document that encodes to the same bytes."""
    data = place.given.data
    try:
        document = keyframer.decode(data, format=place.given.kind)
    except keyframer.FormatError as error:
        return located(error, place.given)
    if keyframer.encode(document) != data:
        raise Broken("other bytes on the way back")
    return codes(document.issues)


def codes(issues: IssueLog) -> str:
    return " ".join(sorted(issues.counts)) or "clean"


def check(place: Place) -> str:
    """Every issue of the report is located in the file, and the verdict matches the issues."""
    report = keyframer.check(place.path, format=place.given.kind)
    for issue in report.issues:
        if not place.given.companions:  # otherwise the cause may be in the companion
            located(issue.as_error(), place.given)
    if (report.verdict == "clean") != (report.issues.total == report.count("info")):
        raise Broken(f"the verdict {report.verdict} does not fit the findings")
    return f"{report.verdict} {codes(report.issues)}"


def load(place: Place) -> str:
    """Strict loading is refused exactly if salvaging reports something unsafe; what is loaded is posed, with finite
    matrices. (Vertices of a damaged file may be non-finite.)"""
    strict, salvaged = _loaded(place, False), _loaded(place, True)
    if isinstance(salvaged, str):
        if not isinstance(strict, str):
            raise Broken(f"salvaging refuses ({salvaged}) what is loaded strictly")
        return salvaged
    unsafe = salvaged.issues.first_unsafe()
    if (unsafe is not None) != isinstance(strict, str):
        raise Broken(f"strictly {strict if isinstance(strict, str) else 'loaded'}, salvaged with {unsafe}")
    pose = keyframer.pose(salvaged, frames=[0, 1.5, -3, 1e9])
    for number, node in enumerate(salvaged.nodes):
        if node.mesh is not None:
            pose.vertices(number)
    if not np.isfinite(pose.world).all():
        raise Broken("the pose has non-finite matrices")
    return codes(salvaged.issues)


def _loaded(place: Place, salvage: bool) -> keyframer.Scene | str:
    try:
        return keyframer.load(place.path, format=place.given.kind, salvage=salvage)
    except keyframer.FormatError as error:
        return located(error, place.given) if not place.given.companions else error.code


def dump(place: Place) -> str:
    """Building the dumped text gives the same bytes."""
    try:
        document = keyframer.decode(place.given.data, format=place.given.kind)
    except keyframer.FormatError as error:
        return error.code
    if build_bytes(dump_text(document))[1] != place.given.data:
        raise Broken("the text twin builds other bytes")
    return "same"


def view(place: Place) -> str:
    """Answer all requests that the page of the viewer makes."""
    from keyframer.exchange.opening import open_file
    from keyframer.viewer import LoadedFile, ViewedFile

    data = place.given.data
    loaded = LoadedFile(open_file(place.path, format=place.given.kind))
    try:
        loaded.scene = loaded.opened.scene(salvage=True)
    except keyframer.FormatError as error:
        loaded.failure = error
    viewed = ViewedFile("in", lambda: loaded)
    _strict_json(viewed.scene().decode())
    model = viewed.model()
    for number in range(min(viewed.track_count, 8)):
        _strict_json((viewed.track(number) or b"null").decode())
    _strict_json(viewed.records().decode())
    for number in range(min(viewed.page_count, 4)):
        _strict_json((viewed.record_page(number) or b"null").decode())
    if b"".join(viewed.block(number) or b"" for number in range(viewed.block_count)) != data:
        raise Broken("the blocks are not the file")
    return "nothing" if model is None else "model"


def _strict_json(text: str) -> object:
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(word: str) -> object:
    raise Broken(f"{word} in JSON")


# -- the command ------------------------------------------------------------------------------------------------------

_NOISE = re.compile(r"Traceback|[A-Za-z]+Warning\b|Error:|Exception|site-packages|[\x00-\x08\x0b-\x1f\x7f]")
_CODE = re.compile(r"\b[A-Z]+_[A-Z_]+\b")


def command(*arguments: str | Path, fine: tuple[int, ...] = (0, 1, 3)) -> tuple[int, str, str]:
    """Run a command in this process; the exit code must be one of those for files, and stderr contains only
    messages."""
    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    text, stderr = raw.getvalue().decode("utf-8", "replace"), err.getvalue()
    if code not in fine:
        raise Broken(f"exit code {code}: {stderr[-300:]}")
    if noise := _NOISE.search(stderr):
        raise Broken(f"noise on stderr: {stderr[max(0, noise.start() - 80) : noise.end() + 80]!r}")
    if any(not line.startswith(("keyframer: ", " ")) for line in stderr.splitlines()):
        raise Broken(f"not a message: {stderr[:300]!r}")
    if code == 3 and not stderr and not text:
        raise Broken("exit code 3 without a word")
    return code, text, stderr


def _outcome(code: int, stderr: str) -> str:
    return f"{code} {' '.join(sorted(set(_CODE.findall(stderr))))}"


def _from(place: Place) -> tuple[str, ...]:
    kind = place.given.kind
    return () if kind in ("zip", "text") else ("--from", kind)


def identify(place: Place) -> str:
    code, text, _ = command("identify", place.path)
    return f"{code} {text.split(':', 1)[-1][:40]}"


def info(place: Place) -> str:
    code, text, stderr = command("info", place.path, "--format", "json", *_from(place))
    check_schema("info", _strict_json(text))
    return _outcome(code, stderr)


def check_archive(place: Place) -> str:
    code, text, stderr = command("check", place.path, "--all-files", "--format", "json", *_from(place))
    _strict_json(text)
    return _outcome(code, stderr)


def sample(place: Place) -> str:
    code, text, stderr = command("sample", place.path, "--format", "json", "--salvage", "-q", *_from(place))
    if text:
        check_schema("sample", _strict_json(text))
    return _outcome(code, stderr)


def plot(place: Place) -> str:
    code, _, stderr = command("plot", place.path, "-o", place.out("plot.svg"), "--salvage", "-q", *_from(place))
    return _outcome(code, stderr)


def plot_terminal(place: Place) -> str:
    code, _, stderr = command("plot", place.path, "--terminal", "--no-color", "--salvage", "-q", *_from(place))
    return _outcome(code, stderr)


def plot_motion(place: Place) -> str:
    arguments = ("--motion", "-o", place.out("motion.svg"), "--salvage", "-q")
    code, _, stderr = command("plot", place.path, *arguments, *_from(place))
    return _outcome(code, stderr)


def thumbnail(place: Place) -> str:
    arguments = ("-o", place.out("picture.png"), "--size", "32", "--salvage", "-q")
    code, _, stderr = command("thumbnail", place.path, *arguments, *_from(place))
    return _outcome(code, stderr)


def diff(place: Place) -> str:
    """A file does not differ from itself, neither in structure nor in motion."""
    twin = place.folder / "out" / f"in{place.given.suffix}"
    shutil.copy(place.path, twin)
    arguments = ("--salvage", "-q", "--format", "json", *_from(place))
    code, text, stderr = command("diff", place.path, twin, *arguments)
    if text:
        check_schema("diff", _strict_json(text))
    return _outcome(code, stderr)


def build(place: Place) -> str:
    """A text is refused with a location, or built into a file that can be read and written again."""
    out = place.out("built.bin")
    code, _, stderr = command("build", place.path, "-o", out)
    if code == 0:
        built = out.read_bytes()
        named = json.loads(place.given.data.decode("utf-8-sig"))["format"]
        with contextlib.suppress(keyframer.FormatError):
            if keyframer.encode(keyframer.decode(built, format=named)) != built:
                raise Broken("what was built changes when it is read and written")
    return _outcome(code, stderr)


TARGETS = (("gltf", ".glb"), ("gltf", ".gltf"), *((known.name, known.extensions[0]) for known in FORMATS))
TARGETS = tuple((name, ".anim" if name == "hale3d" else ending) for name, ending in TARGETS)


def convert(target: str, ending: str) -> Callable[[Place], str]:
    def run(place: Place) -> str:
        """The written file passes our own check without errors and loads again."""
        out = place.out(f"made{ending}")
        for old in out.parent.glob("made*"):
            old.unlink()
        code, _, stderr = command("convert", place.path, "-o", out, "--to", target, "--salvage", "-q", *_from(place))
        if out.exists() != (code in (0, 1)):
            raise Broken(f"exit code {code}, and the output is {'there' if out.exists() else 'missing'}")
        if out.exists():
            allowed: set[str] = set()
            if target == place.given.kind:
                for path in place.files:  # unchanged parts are copied, also those of a companion
                    allowed |= set(keyframer.check(path, format=target).issues.counts)
            if target in STAGE and isinstance(refusal := _loaded(place, False), str):
                allowed.add(refusal)  # models are kept as they are, damaged ones too
            read_again(out, target, allowed)
        return _outcome(code, stderr)

    return run


def read_again(path: Path, format: str, allowed: set[str]) -> None:
    """Check and load a written file; ``allowed`` are the codes of the original, whose unchanged parts are copied."""
    report = keyframer.check(path, format=format)
    if worst := [issue for issue in report.issues if issue.severity.label == "error" and issue.code not in allowed]:
        raise Broken(f"we wrote {format} with {worst[0].code}: {worst[0].message}")
    try:
        keyframer.load(path, format=format)
    except keyframer.FormatError as error:
        if error.code in allowed:
            return
        raise Broken(f"we wrote {format} that we refuse: {error.code}: {error.message}") from None


def batch(name: str, ending: str, options: dict[str, object]) -> Callable[[Place], str]:
    def run(place: Place) -> str:
        """A batch returns a result for the file, never an internal error."""
        if place.given.kind not in ("zip", "text"):
            options["from"] = place.given.kind
        result = perform(Job(name, str(place.path), str(place.out(f"in{ending}")), dict(options)))
        error = result["error"]
        if error and error["code"] == "RUN_INTERNAL_ERROR":
            raise Broken(error["message"])
        json.dumps(result, allow_nan=False)
        return str(error and error["code"])

    return run


@dataclass(frozen=True)
class Operation:
    name: str
    run: Callable[[Place], str]
    share: int
    """how many of a thousand inputs it is done to"""
    kinds: tuple[str, ...] = ()
    """only these (empty: all but text and zip)"""

    def suits(self, kind: str) -> bool:
        return kind in self.kinds if self.kinds else kind not in ("text", "zip")


_DOCUMENTS = tuple(known.name for known in FORMATS)
_ALL = (*_DOCUMENTS, "gltf", *STAGE, "zip", "text")

OPERATIONS: tuple[Operation, ...] = (
    Operation("identify", identify, 1000, _ALL),
    Operation("decode", decode, 1000, _DOCUMENTS),
    Operation("check", check, 250),
    Operation("load", load, 250),
    Operation("info", info, 60),
    Operation("dump", dump, 100, _DOCUMENTS),
    Operation("build", build, 1000, ("text",)),
    Operation("sample", sample, 40),
    *(Operation(f"convert {name}{ending}", convert(name, ending), 20) for name, ending in TARGETS),
    *(Operation(f"convert {name}.{name}", convert(name, f".{name}"), 150, (name,)) for name in STAGE),
    Operation("plot svg", plot, 15),
    Operation("plot terminal", plot_terminal, 15),
    Operation("plot motion", plot_motion, 15),
    Operation("diff", diff, 20),
    Operation("thumbnail", thumbnail, 25),
    Operation("view", view, 25),
    Operation("batch convert", batch("convert", ".glb", {"salvage": True}), 15),
    Operation("batch check", batch("check", ".check.json", {}), 15),
    Operation("batch info", batch("info", ".info.json", {}), 15),
    Operation("batch identify", batch("identify", ".identify.json", {}), 15, (*_DOCUMENTS, "gltf", *STAGE)),
    Operation("batch thumbnail", batch("thumbnail", ".png", {"size": "16"}), 15),
    Operation("batch catalogue", batch("catalogue", "", {}), 15),
    Operation("archive identify", identify, 500, ("zip",)),
    Operation("archive check", check_archive, 300, ("zip",)),
    Operation("archive info", info, 200, ("zip",)),
    Operation("archive convert", lambda place: _convert_archive(place), 200, ("zip",)),
)


def _convert_archive(place: Place) -> str:
    folder = place.folder / "out" / "made"
    shutil.rmtree(folder, ignore_errors=True)
    code, _, stderr = command("convert", place.path, "-o", folder, "--all-files", "--to", "gltf", "--salvage", "-q")
    return _outcome(code, stderr)
