"""Do the tests notice mistakes? Makes small mistakes in the code, one after the other, and runs the tests of its room.

    .venv/bin/python tools/mutate.py [--seed 1] [--each 5] [--only ROOM]

The places are chosen at random with a fixed seed: comparisons, arithmetic, ``and`` and ``or``, ``not``, numbers and
truth values. Every mistake is made in a copy of the files under version control, whose tests must pass first. One line
per mistake says which test failed first. A mistake with which the tests cannot be collected says nothing about them:
another is made instead. Exit 1 if a mistake was not noticed, 2 if tests fail without one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "curves": (
        ["curves/*.py"],
        "tests/curves tests/posing tests/exchange/test_fcurves.py tests/formats tests/truth",
    ),
    "wire": (
        ["wire/*.py"],
        "tests/wire tests/conformance tests/crashers tests/inspecting tests/formats tests/hostile",
    ),
    "files": (
        ["files/writing.py"],
        "tests/test_files.py tests/faults tests/exchange/test_saving.py tests/cli tests/batch",
    ),
    "gltf": (
        ["exchange/gltf/write/*.py", "exchange/kit/*.py"],
        "tests/exchange/test_gltf_scenes.py tests/exchange/test_gltf_lights.py tests/exchange/test_gltf_meshes.py "
        "tests/exchange/test_gltf_samples.py tests/exchange/test_gltf_textures.py tests/exchange",
    ),
    "saving": (
        ["formats/_saving.py", "formats/merging.py", "formats/_matching.py", "exchange/saving.py"],
        "tests/formats/test_merging.py tests/formats/test_edits.py tests/formats/test_edited_fields.py "
        "tests/exchange/test_saving.py tests/exchange/reading tests/formats tests/exchange tests/cli",
    ),
    "limits": (
        ["limits.py"],
        "tests/checking tests/wire tests/hostile tests/test_files.py tests/exchange tests/cli",
    ),
}
"""files below ``src/keyframer`` and the tests that should notice a mistake in them, the nearest first"""
EQUIVALENT: dict[str, str] = {}
"""changes that change no result, as printed (``curves/track.py `a < b` -> `a <= b```), and the reason"""
BUILT = ("tests/oracles/node_modules", ".venv", "../shared", "src/keyframer/viewer/static")
"""what tests need besides the files under version control"""
_PAIRS: list[Any] = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
]
_PAIRS += [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or)]
PATIENCE = 3600
"""seconds after which the tests of a mistake are ended"""
SWAPS: dict[type[ast.AST], Any] = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


def mistakes(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield expressions of functions, each with a mistaken one."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = (node for function in functions for statement in function.body for node in ast.walk(statement))
    for node in {id(node): node for node in inside}.values():  # once, if it is in a function in a function
        mistaken: Any = copy.deepcopy(node)
        value: Any = getattr(node, "value", None)
        if isinstance(mistaken, ast.Compare) and type(mistaken.ops[0]) in SWAPS:
            mistaken.ops[0] = SWAPS[type(mistaken.ops[0])]()
        elif isinstance(mistaken, ast.BinOp | ast.BoolOp) and type(mistaken.op) in SWAPS:
            mistaken.op = SWAPS[type(mistaken.op)]()
        elif isinstance(mistaken, ast.UnaryOp) and isinstance(mistaken.op, ast.Not):
            mistaken = mistaken.operand
        elif isinstance(mistaken, ast.Constant) and isinstance(value, bool):
            mistaken.value = not value
        elif isinstance(mistaken, ast.Constant) and isinstance(value, int | float):
            mistaken.value = value + 1
        else:
            continue
        if isinstance(node, ast.expr) and isinstance(mistaken, ast.expr):
            yield node, mistaken


def replaced(text: str, node: ast.expr, mistaken: ast.expr) -> str:
    """Return the source text with one expression replaced."""
    lines = text.encode().splitlines(keepends=True)
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: end_line - 1])) + end_column
    data = text.encode()
    return (data[:start] + f"({ast.unparse(mistaken)})".encode() + data[end:]).decode()


_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+::[^\s\[]+(?:\[.*?\])?)(?: - |$)", re.MULTILINE)
"""a test, whose parameters may contain blanks; without ``::`` it is a file that cannot be collected"""


def first_failure(copied: Path, tests: list[str]) -> str | None:
    """Return the first test that fails; None if all pass, "" if none can be run."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    environment = os.environ | {"PYTHONPATH": str(copied / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copied, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return "(does not end)"
    if done.returncode == 0:
        return None
    found = _FAILED.search(done.stdout)
    return found[1] if found else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=5, help="mistakes per room")
    parser.add_argument("--only", choices=ROOMS)
    arguments = parser.parse_args()
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "main"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            (copied / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copied / name)
        for name in BUILT:
            if (ROOT / name).exists():
                (copied / name).symlink_to((ROOT / name).resolve())
        for room in [arguments.only] if arguments.only else ROOMS:
            patterns, tests = ROOMS[room]
            files = sorted(path for pattern in patterns for path in (ROOT / "src/keyframer").glob(pattern))
            places = [(path, *pair) for path in files for pair in mistakes(ast.parse(path.read_text()))]
            if (red := first_failure(copied, tests.split())) is not None:
                print(f"{room}: the tests fail without a mistake: {red or 'they cannot be collected'}")
                return 2
            left = arguments.each
            for path, node, mistaken in random.Random(arguments.seed).sample(places, len(places)):
                if not left:
                    break
                name = path.relative_to(ROOT / "src/keyframer").as_posix()
                change = f"`{ast.unparse(node)}` -> `{ast.unparse(mistaken)}`"
                if f"{name} {change}" in EQUIVALENT:
                    continue
                target = copied / path.relative_to(ROOT)
                target.write_text(replaced(path.read_text(), node, mistaken))
                killer = first_failure(copied, tests.split())
                shutil.copy2(path, target)
                if killer == "":
                    continue
                left -= 1
                survivors += killer is None
                print(f"{room} {name}:{node.lineno} {change}: {killer or 'NOT NOTICED'}", flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
