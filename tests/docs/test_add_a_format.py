"""The code of docs/add-a-format.md works in both places: as a separate package, with every command, and in a copy of
this repository, with the linters and the tests that iterate over formats."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.slow import SLOW
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-format.md").read_text(encoding="utf-8")
FILES = ["__init__.py", "document.py", "bridge.py"]


class Example(NamedTuple):
    """A format of the page: its name, the file of its tests, and the sample that these have."""

    name: str
    constant: str
    sample: str
    most_lines: int

    @property
    def tests(self) -> str:
        return f"test_{self.name}.py"

    @property
    def package(self) -> str:
        return f"keyframer_{self.name}"

    @property
    def suffix(self) -> str:
        return Path(self.sample).suffix


WAGTAIL = Example("wagtail", "TWO_BIRDS", "two_birds.wag", 150)
HERON = Example("heron", "WADING", "wading.hrn", 360)
EXAMPLES = {example.name: example for example in (WAGTAIL, HERON)}
REGISTRATION = re.compile(r"^```toml\n(\[project\.entry-points\.\"(.*?)\"\]\n(.*?) = \"(.*?)\"\n)```", re.M)

OWN_TESTS = """
import importlib, sys, keyframer
format, constant, sample = sys.argv[1:]
tests = importlib.import_module("test_" + format)
data = getattr(tests, constant)
for name in [name for name in dir(tests) if name.startswith("test_")]:
    getattr(tests, name)()
    print(name)
for size in range(1, len(data)):
    cut = data[:size]
    try:
        assert keyframer.encode(keyframer.decode(cut, format=format)) == cut
    except keyframer.FormatError as error:
        assert error.code and error.path
print("every prefix keeps the law")
open(sample, "wb").write(data)
"""

COMMANDS = """
import json, sys
from keyframer.cli import main
for arguments in json.loads(sys.argv[1]):
    print("$", *arguments, flush=True)
    code = main(arguments)
    sys.stdout.flush()
    differs = arguments[0] == "diff" and any(name.startswith("slow.") for name in arguments)
    assert code == differs, (arguments, code)
"""


def install(site: Path, package: str, entry_points: str) -> None:
    """Install a package as an installer does."""
    information = site / f"{package}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (information / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def run(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{ROOT / 'src'}"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def code_of(example: Example) -> dict[str, str]:
    """Return the files of a format, and its tests: a heading says which file the code below it is."""
    before, _, after = PAGE.partition("## 8. ")
    files = {}
    for section in re.split(r"^##+ ", before if example is WAGTAIL else after, flags=re.M)[1:]:
        title, block = section.split("\n", 1)[0], re.search(r"^```python\n(\"\"\".*?)^```", section, re.M | re.S)
        if block is not None:
            named = re.search(r"`(?:\w+/)?(\w+\.py)`", title)
            files[named[1] if named else example.tests] = block[1]
    return files


def poses_of(example: Example) -> str:
    found = re.findall(r"^```json\n(\{\"source\".*?)^```", PAGE, re.M | re.S)
    assert len(found) == len(EXAMPLES)
    return str(found[list(EXAMPLES).index(example.name)])


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_format_is_three_files_of_few_lines(example: Example) -> None:
    code = code_of(example)
    assert list(code) == [*FILES, example.tests]
    assert sum(code[name].count("\n") for name in FILES) + 2 <= example.most_lines


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the packages of the page in a folder."""
    site = tmp_path_factory.mktemp("site")
    declared = REGISTRATION.search(PAGE)
    assert declared is not None
    for example in EXAMPLES.values():
        (site / example.package).mkdir()
        for name, code in code_of(example).items():
            (site / (example.package if name in FILES else "") / name).write_text(code, encoding="utf-8")
        entry = f"[{declared[2]}]\n{declared[3]} = {declared[4]}\n".replace("wagtail", example.name)
        install(site, example.package, entry)
    return site


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy this repository, and add the formats to the copy as the page says."""
    copy = tmp_path_factory.mktemp("copy") / "keyframer"
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", "build", ".*")
    for folder in ("benchmarks", "blender", "docs", "examples", "src", "tests", "tools"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignored)
    for name in (".importlinter", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    for example in EXAMPLES.values():
        add_format(copy, example)
    assert run(copy / "src", copy, "tools/generate_docs.py").returncode == 0
    return copy


def add_format(copy: Path, example: Example) -> None:
    formats, samples = copy / "src/keyframer/formats", copy / "tests/samples" / example.name
    tests = copy / "tests/formats" / example.name
    for folder in (formats / example.name, tests, samples):
        folder.mkdir()
    for name, code in code_of(example).items():
        place = formats / example.name if name in FILES else tests
        code = code.replace(example.package, f"keyframer.formats.{example.name}")
        (place / name).write_text(code, encoding="utf-8")
    registry = (formats / "__init__.py").read_text(encoding="utf-8")
    (imported,) = re.findall(r"^from keyframer\.formats import (.*)$", registry, re.M)
    registry = registry.replace(imported, ", ".join(sorted([*imported.split(", "), example.name])))
    registry = re.sub(r"(^BUILT_IN.*?)^\)", rf"\1    {example.name}.FORMAT,\n)", registry, flags=re.M | re.S)
    (formats / "__init__.py").write_text(registry, encoding="utf-8")
    notes = "Birds were invented for the documentation.\n"
    (copy / f"docs/formats/notes/{example.name}.md").write_text(notes, encoding="utf-8")
    sample = f"import sys, test_{example.name} as t; sys.stdout.buffer.write(t.{example.constant})"
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{copy / 'src'}"}
    written = subprocess.run([sys.executable, "-c", sample], env=environment, capture_output=True, check=True)
    (samples / example.sample).write_bytes(written.stdout)
    (samples / f"{example.sample}.pose.json").write_text(poses_of(example), encoding="utf-8")


TESTS = [f"tests/formats/{name}" for name in EXAMPLES]


def test_a_format_in_the_repository_passes_the_linters(repository: Path) -> None:
    commands = [
        ["-m", "ruff", "check", "--no-cache", "src/keyframer/formats", *TESTS],
        ["-m", "ruff", "format", "--no-cache", "--check", "src/keyframer/formats", *TESTS],
        ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])"],
    ]
    if SLOW:  # a minute without its cache
        commands.append(["-m", "mypy", "--cache-dir", os.devnull])
    for command in commands:
        ran = run(repository / "src", repository, *command)
        assert ran.returncode == 0, ran.stdout + ran.stderr


ALL_TESTS = (
    *(f"formats/{name}" for name in EXAMPLES),
    "docs/test_generated.py",
    "docs/test_structure.py",
    "formats/test_bridge_reads.py",
    "formats/test_edits.py",
    "formats/test_format_basics.py",
    "cli/test_formats_command.py",
    "test_public_names.py",
)
ITS_TESTS = (
    "conformance",
    "checking/test_reported_once.py",
    "exchange/test_gltf_samples.py",
    "exchange/test_opening.py",
    "formats/test_every_pair.py",
    "inspecting/test_plain.py",
)
"""tests with many cases, of which only those of the new format are run"""


def test_a_format_in_the_repository_passes_the_tests_of_all_formats(repository: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(repository / "src")
    names = " or ".join(re.sub(r".*/|\.py", "", path) for path in ALL_TESTS)
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-k",
            f"{' or '.join(EXAMPLES)} or {names}",
        ]
        + [f"tests/{path}" for path in (*ALL_TESTS, *ITS_TESTS)],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr


def make_sample(packages: Path, folder: Path, example: Example) -> str:
    """Run the tests of a package in a folder, which write its sample there; return what they print."""
    ran = run(packages, folder, "-c", OWN_TESTS, example.name, example.constant, example.sample)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_every_command_works_on_files_of_the_package(packages: Path, example: Example, tmp_path: Path) -> None:
    names = sorted(re.findall(r"^def (test_\w+)", code_of(example)[example.tests], re.M))
    assert make_sample(packages, tmp_path, example).splitlines() == [*names, "every prefix keeps the law"]
    sample, end = example.sample, example.suffix
    commands = [
        ["identify", sample],
        ["info", sample],
        ["check", sample],
        ["dump", sample, "-o", "birds.json"],
        ["build", "birds.json", "-o", f"again{end}"],
        ["sample", sample, "--frames", "0,1"],
        ["convert", sample, "birds.glb"],
        ["convert", sample, "birds.3ds"],
        ["convert", "birds.glb", f"back{end}"],
        ["convert", "birds.3ds", f"through3ds{end}"],
        ["convert", sample, f"slow{end}", "--scale", "2", "--rate", "10"],
        ["diff", sample, f"again{end}"],
        ["diff", sample, f"slow{end}"],
        ["plot", sample, "-o", "birds.svg"],
        ["thumbnail", sample, "-o", "birds.png"],
        ["view", sample, "--export", "page.html"],
        ["batch", "convert", sample, "-o", "out", "-j", "1"],
        ["formats"],
    ]
    ran = run(packages, tmp_path, "-c", COMMANDS, json.dumps(commands))
    assert ran.returncode == 0, ran.stdout[-500:] + ran.stderr
    assert f"{example.name.capitalize()} ({example.name})" in ran.stdout
    assert (tmp_path / f"again{end}").read_bytes() == (tmp_path / sample).read_bytes()
    assert (tmp_path / f"back{end}").read_bytes()[:4] == (tmp_path / sample).read_bytes()[:4]
    assert (tmp_path / "out" / Path(sample).with_suffix(".glb")).is_file()


def test_all_ways_to_open_files_of_the_package_agree(packages: Path, tmp_path: Path) -> None:
    make_sample(packages, tmp_path, WAGTAIL)
    start = "runpy.run_module('tests.exchange.four_ways', run_name='__main__')"
    script = f"import runpy, sys; sys.path.append({str(ROOT)!r}); {start}"
    ran = run(packages, tmp_path, "-c", script, str(tmp_path / WAGTAIL.sample), str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["format"] == "wagtail"


def test_viewer_serves_files_of_the_package(packages: Path, tmp_path: Path) -> None:
    make_sample(packages, tmp_path, WAGTAIL)
    command = [sys.executable, "-m", "keyframer", "view", WAGTAIL.sample, "--no-open"]
    environment = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT / 'src'}", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = next(found for line in server.stdout if (found := re.search(r"http://([\d.]+):(\d+)/", line)))
            with closing(HTTPConnection(address[1], int(address[2]), timeout=60)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().status == 200
        finally:
            server.kill()


FORMAT = """
from keyframer.formats.contract import Companion, Format, Match
class Odd(Format):
    name, title, extensions = "{name}", "Odd", (".odd",)
    def sniff(self, head, size):
        return None
"""
BROKEN = {
    "a-missing": ("No module named", ""),
    "b-object": ("FORMAT is not a Format", "FORMAT = 1"),
    "c-exit": ("SystemExit: 3", "import sys\nsys.exit(3)"),
    "d-title": ("its title is not a string", FORMAT + "    title = None\nFORMAT = Odd()"),
    "e-extensions": (
        "its extensions must be a tuple of strings like .ext",
        FORMAT + "    extensions = '.odd'\nFORMAT = Odd()",
    ),
    "f-dialects": ("its dialects must be a tuple of strings", FORMAT + "    dialects = None\nFORMAT = Odd()"),
    "g-companions": ("its companions must be a tuple of Companion", FORMAT + "    companions = (1,)\nFORMAT = Odd()"),
    "h-id": ("the id 'Two Words' must consist of", FORMAT + "    name = 'Two Words'\nFORMAT = Odd()"),
    "i-taken": ("the id '3ds' is already in use", FORMAT + "    name = '3ds'\nFORMAT = Odd()"),
    "j-raises": (
        "RuntimeError: ouch",
        FORMAT + "    def sniff(self, head, size):\n        raise RuntimeError('ouch')\nFORMAT = Odd()",
    ),
    "k-match": (
        "must return a Match with a score",
        FORMAT + "    def sniff(self, head, size):\n        return True\nFORMAT = Odd()",
    ),
    "l-score": (
        "must return a Match with a score",
        FORMAT + "    def sniff(self, head, size):\n        return Match(7, '')\nFORMAT = Odd()",
    ),
    "m-relative": (
        "KeyError: 'x'",
        FORMAT + "    def describe_related_file(self, head, size):\n        return {}['x']\nFORMAT = Odd()",
    ),
}
"""packages that fail when they are loaded or asked about a file: what their line says, and their module"""
FAIL_LATER = ("j-raises", "k-match", "l-score", "m-relative")
"""packages that can be loaded"""


def install_modules(site: Path, modules: dict[str, str], group: str = "keyframer.formats") -> None:
    for name, code in modules.items():
        module = "odd_" + name.replace("-", "_")
        install(site, module, f"[console_scripts]\nx = y:z\n\n[{group}]\n{name} = {module}:FORMAT\n")
        if code:
            (site / f"{module}.py").write_text(code.replace("{name}", name), encoding="utf-8")


def test_broken_package_prints_one_line(tmp_path: Path) -> None:
    install_modules(tmp_path / "site", {name: code for name, (_, code) in BROKEN.items()})
    ran = run(tmp_path / "site", ROOT, "-m", "keyframer", "identify", "README.md", "examples/windmill.3ds")
    assert "examples/windmill.3ds: 3D Studio" in ran.stdout
    lines = sorted(line for line in ran.stderr.splitlines() if "plugin" in line)
    assert len(lines) == len(BROKEN), ran.stderr
    for line, (name, (words, _)) in zip(lines, BROKEN.items(), strict=True):
        outcome = "failed" if name in FAIL_LATER else "is not used"
        assert line.startswith(f"keyframer: plugin {name} {outcome}: "), line
        assert words in line


UNFINISHED = {
    "bare": FORMAT + "FORMAT = Odd()",
    "greedy": FORMAT + "    extensions = ('.3ds', '.glb')\nFORMAT = Odd()",
    "options": FORMAT
    + "    companions = (Companion('set', '.set', '100% wool'), Companion('model', '.odd', ''))\nFORMAT = Odd()",
    "claims": FORMAT
    + "    def sniff(self, head, size):\n        return Match(1, 'mine') if head[:4] == b'MINE' else None\n"
    + "    def codec(self):\n        raise KeyError('no codec')\nFORMAT = Odd()",
}
"""packages that load, but take names of ours or lack parts"""


def test_incomplete_package_affects_only_its_own_files(tmp_path: Path) -> None:
    install_modules(tmp_path / "site", UNFINISHED)
    install_modules(
        tmp_path / "site",
        {
            "imports": "from keyframer.exchange import Exporter, Importer\nclass Odd(Importer):\n"
            "    name, title, extensions = 'imports', 'Odd', ('.imp',)\n"
            "    def sniff(self, head, name=''):\n        return 'mine' if head[:4] == b'IMPO' else None\n"
            "    def loader(self):\n        import no_such_module\n        return no_such_module\n"
            "FORMAT = Odd()\n"
        },
        "keyframer.importers",
    )
    (tmp_path / "mine.odd").write_bytes(b"MINE1234")
    (tmp_path / "mine.imp").write_bytes(b"IMPO1234")
    windmill = str(ROOT / "examples" / "windmill.3ds")
    expected = [
        (["info", "mine.odd", "mine.imp", windmill], 3),
        (["check", windmill], 0),
        (["convert", windmill, "windmill.glb"], 0),
        (["convert", windmill, "copy.3ds"], 0),
        (["convert", windmill, "out.odd", "--to", "bare"], 3),
        (["formats"], 0),
        (["sample", "--help"], 0),
        (["sample", windmill, "--frames", "0", "--set", "geometry=raw"], 0),
    ]
    script = (
        "import json, sys\nfrom keyframer.cli import main\n"
        "print([main(each) for each in json.loads(sys.argv[1])], file=sys.stderr)"
    )
    ran = run(tmp_path / "site", tmp_path, "-c", script, json.dumps([arguments for arguments, _ in expected]))
    lines = ran.stderr.splitlines()
    assert lines[-1] == str([code for _, code in expected]), ran.stderr
    assert "internal error" not in ran.stderr
    assert "keyframer: mine.odd: RUN_INTERNAL_ERROR at 0x0 in /: plugin claims failed: KeyError: 'no codec'" in lines
    assert any("mine.imp" in line and "plugin imports failed: ModuleNotFoundError" in line for line in lines)
    assert (tmp_path / "copy.3ds").read_bytes() == Path(windmill).read_bytes()
    assert "100% wool" not in ran.stdout  # --set is an option of the command


def test_packages_are_not_searched_in_the_current_folder(tmp_path: Path) -> None:
    """The folder may contain files from an archive."""
    install_modules(tmp_path, {"archive": "print('run')"})
    ran = run(ROOT / "src", tmp_path, "-c", "import keyframer; keyframer.detect(b'x'); import keyframer.exchange")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_python_m_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """Neither packages that register formats, nor modules with the names of modules that we import."""
    install_modules(tmp_path, {"archive": "open('ran-plugin', 'w')"})
    for name in ("argparse", "json", "numpy", "sqlite3"):
        (tmp_path / f"{name}.py").write_text(f"open('ran-{name}', 'w')", encoding="utf-8")
    windmill = str(ROOT / "examples" / "windmill.3ds")
    for arguments in (["info", windmill], ["batch", "info", windmill, "-o", "out", "-j", "1"]):
        ran = run(tmp_path / "none", tmp_path, "-m", "keyframer", *arguments)
        assert ran.returncode == 0, ran.stderr
    assert list(tmp_path.glob("ran-*")) == []


def test_python_m_works_in_the_source_folder(tmp_path: Path) -> None:
    """Without an installed package, the command and its workers use the package in the current folder."""
    windmill = str(ROOT / "examples" / "windmill.3ds")
    arguments = ("batch", "info", windmill, "-o", str(tmp_path / "out"), "-j", "1")
    ran = run(tmp_path / "none", ROOT / "src", "-m", "keyframer", *arguments)
    assert ran.returncode == 0, ran.stderr
