"""The layers in CONTRIBUTING.md are those of the contract that the linter checks; rules that it cannot check."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from keyframer.formats import BUILT_IN, Format

ROOT = Path(__file__).resolve().parents[2]


def test_layers_in_contributing_match_the_import_contract() -> None:
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    lines = contract["importlinter:contract:layers"]["layers"].split("\n")
    layers = [sorted(re.findall(r"\w+", line)) for line in lines if line]
    documented: list[list[str]] = []
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listing = text[text.index("Layers in `src/keyframer/`") : text.index("Two more rules")]
    for bracket, name in re.findall(r"^    ([ ┌│└]) (\w+)  ", listing, re.M):
        if bracket in " ┌":
            documented.append([])
        documented[-1].append(name)
    assert [sorted(layer) for layer in documented] == layers
    folders = {path.stem for path in (ROOT / "src" / "keyframer").iterdir() if not path.name.startswith("_")}
    assert folders - {"py"} == {name for layer in layers for name in layer}


PACKAGE = ROOT / "src" / "keyframer"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = {type(known).__module__.rpartition(".")[2] for known in BUILT_IN}


ARCHIVES = {("exchange", "stage")}
"""packages for archives whose own specification names formats and their folders"""
INSIDE = re.compile(rf"keyframer\.formats\.({'|'.join(sorted(FOLDERS))})\b")


ORDINARY_WORDS = {
    *("max_error", "document", "length", "literal", "old", "A", "B"),  # words with other meanings, too
    "Keyframer",  # a record, and this program
    "md5",  # a format, and a hash
}


def written_options(known: Format) -> dict[str, str]:
    bridge = known.bridge()
    return {} if bridge is None or bridge.writer() is None else known.write_option_types()


def words_of_formats() -> re.Pattern[str]:
    """Return a pattern for words of one format: ids, folders, titles, extensions, companions, dialects, and the options
    and records whose names consist of several words. "3ds Max" is a program and does not match."""
    ids = FOLDERS | {known.name for known in BUILT_IN} | {known.title for known in BUILT_IN}
    endings = {ending for known in BUILT_IN for ending in known.extensions}
    endings |= {companion.extension for known in BUILT_IN for companion in known.companions}
    options = {companion.option for known in BUILT_IN for companion in known.companions}
    inner = {name for known in BUILT_IN for name in (*known.option_types(), *written_options(known)) if "_" in name}
    inner |= {name for known in BUILT_IN for name in known.dialects}
    inner |= {name for known in BUILT_IN for name in known.record_types() if re.search("[a-z][A-Z0-9]", name)}
    assert {"rotation_keys", "retail", "NodeHeader"} <= inner
    whole, parts, names = (
        "|".join(map(re.escape, sorted(words))) for words in ((ids | inner) - ORDINARY_WORDS, endings, options)
    )
    return re.compile(rf"(?<![\w.])({whole})(?!\w| Max)|({parts})\b|--({names})\b")


def test_search_for_words_of_formats_finds_them() -> None:
    pattern = words_of_formats()
    for text in ("3ds", "see hale3d.", "a.nanim", "--skeleton", "euler_order=XYZ", "nul-ended", "a MaterialShininess3"):
        assert pattern.search(text), text
    for text in ("3ds Max", "a document", "an old skeleton", "max_error"):
        assert not pattern.search(text), text


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of the syntax tree of a module."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def strings_of(nodes: list[ast.AST]) -> Iterator[ast.Constant]:
    """Return the strings that the program uses, without docstrings and examples for users."""
    passed: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            passed.add(id(node.value))
        elif isinstance(node, ast.Assign) and any(ast.unparse(name) in ("ABOUT", "EXAMPLES") for name in node.targets):
            passed |= {id(inner) for inner in ast.walk(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node


def test_no_code_outside_its_folder_names_a_format() -> None:
    """Everything about a format is in its folder. The registry and examples in help may name them."""
    pattern = words_of_formats()
    mentions = []
    for path in MODULES:
        inside = path.relative_to(PACKAGE).parts
        if (inside[0] == "formats" and inside[1] in FOLDERS) or inside[:2] in ARCHIVES:
            continue
        for text in strings_of(nodes_of(path)):
            value = str(text.value)
            if pattern.search(value) and not value.startswith("examples:") and "!/" not in value:
                mentions.append(f"{'/'.join(inside)}:{text.lineno}: {value[:60]!r}")
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and INSIDE.match(node.module or ""):
                mentions.append(f"{'/'.join(inside)}:{node.lineno}: imports {node.module}")
    assert not mentions, "\n".join(mentions)


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of each module of ours that a module imports; ``from a import b`` counts as a and
    a.b."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def is_private_to(imported: str, importer: Path) -> bool:
    """Return whether the module or one of its packages begins with an underscore and is closed to the importer."""
    parts = imported.split(".")
    if parts[0] != "keyframer":
        return False
    package = ["keyframer", *importer.relative_to(PACKAGE).parts[:-1]]
    for depth, part in enumerate(parts[1:], 1):
        if part.startswith("_") and not part.startswith("__") and package[:depth] != parts[:depth]:
            return (
                PACKAGE.joinpath(*parts[1:depth], f"{part}.py").exists()
                or PACKAGE.joinpath(*parts[1 : depth + 1]).is_dir()
            )
    return False


def test_private_modules_are_imported_only_inside_their_package() -> None:
    intruders = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in MODULES
        for line, name in imported_modules(path)
        if is_private_to(name, path)
    ]
    assert not intruders, "\n".join(intruders)


def test_search_for_private_modules_finds_them() -> None:
    assert is_private_to("keyframer.scene._arrays", PACKAGE / "cli" / "info.py")
    assert is_private_to("keyframer.scene._arrays.checked", PACKAGE / "cli" / "info.py")
    assert not is_private_to("keyframer.scene._arrays", PACKAGE / "scene" / "mesh.py")


def test_formats_do_not_import_each_other() -> None:
    """Shared code imports none of them either (`test_no_code_outside_its_folder_names_a_format`)."""
    intruders = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for folder in sorted(FOLDERS)
        for path in sorted((PACKAGE / "formats" / folder).rglob("*.py"))
        for line, name in imported_modules(path)
        if (match := INSIDE.match(name)) and match[1] != folder
    ]
    assert not intruders, "\n".join(intruders)


FOUND_BY_NAME = {
    "keyframer": "public names, each in the module that declares it",
    "keyframer.batch": "public names, each in the module that declares it",
    "keyframer.batch.preloaded": "modules that workers share, named to another process",
    "keyframer.cli.parser": "commands, by the name that was typed",
    "keyframer.files.containers": "kinds of containers, modules of its package",
    "keyframer.formats.contract": "the two halves of a format, modules of its package",
    "keyframer.plugins": "entry points of other packages",
}
"""modules that import modules of ours by their names in strings"""
OTHER_PACKAGES = {"DracoPy", "fsspec.core", "distributed", "libarchive"}
"""optional packages, which mypy does not know"""


def test_modules_are_imported_by_strings_only_where_it_is_said() -> None:
    finders = set()
    for path in MODULES:
        for node in nodes_of(path):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
                "import_module",
                "__import__",
            ):
                (name, *_) = node.args
                if not (isinstance(name, ast.Constant) and name.value in OTHER_PACKAGES):
                    finders.add(
                        ".".join(("keyframer", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
                            ".__init__"
                        )
                    )
    assert {finder.replace("/", ".").removesuffix(".__init__") for finder in finders} == set(FOUND_BY_NAME)


IMPORT = re.compile(r"^[ \t]*from (keyframer[\w.]*) import (\([^)]*\)|[^\n;#]*)", re.M)


@pytest.mark.parametrize("folder", ["blender", "benchmarks", "tools", "tests"])
def test_names_imported_from_the_library_exist(folder: str) -> None:
    """Also imports inside functions and in code in strings, which run only when they are called, and imports inside
    Blender."""
    wanted: dict[tuple[str, str], Path] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "node_modules" not in path.parts:
            for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
                for name in re.sub(r"#.*| as \w+|[()]", "", names).split(","):
                    wanted[module, name.strip()] = path
    assert len(wanted) > 5
    missing = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for (module, name), path in wanted.items()
        if name and not hasattr(importlib.import_module(module), name) and not _is_module(f"{module}.{name}")
    ]
    assert missing == []


def _is_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def test_no_page_or_module_has_marks_of_a_conflict() -> None:
    folders = [(ROOT, "*.md"), (ROOT / "docs", "**/*.md"), (ROOT / "src", "**/*.py"), (ROOT / "tests", "**/*.py")]
    texts = [path for folder, kind in folders for path in folder.glob(kind)]
    marked = [path.name for path in texts if re.search(r"^(<{7}|>{7}) ", path.read_text("utf-8"), re.MULTILINE)]
    assert len(texts) > 400
    assert not marked


_ELEMENT = re.compile(
    r"</?(?:a|b|body|code|div|h\d|head|html|iframe|img|li|link|main|meta|p|script|style|t[adhr]\w*|ul)\b"
)


def interpolated_html(source: str) -> list[str]:
    """Return the f-strings and templates of a module in which values stand between elements of HTML."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            found += [text] if _ELEMENT.search(text) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if re.search(r"<\w+[^<]*\{\w*\}", node.value) and _ELEMENT.search(node.value) else []
    return found


def test_search_for_html_finds_it() -> None:
    assert interpolated_html('f"<td>{value}</td>"') == ["<td></td>"]
    assert interpolated_html("'<p title=\"{name}\">'.format(name=1)")
    assert not interpolated_html('f"a < {b} > c"; "<p>plain</p>"; tag("td", value)')


def test_html_is_made_in_one_module() -> None:
    """There, text is escaped. A closed element between other markup is written as it is."""
    sources = {path: path.read_text(encoding="utf-8") for path in MODULES if path.name != "markup.py"}
    assert {path.name: found for path, text in sources.items() if (found := interpolated_html(text))} == {
        "gallery_page.py": ["</main>"],
    }
    assert [path.name for path, text in sources.items() if re.search(r"^(import|from) html\b", text, re.M)] == []
