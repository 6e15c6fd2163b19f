"""Lists the tests of a module: ``python tools/tests_of.py FILE``. ``make tests-of FILE=…`` runs them.

Test files with the name of the module come first, then those from which the fewest imports lead to it, those of its own
package first. Imports inside functions count; those by names in strings (commands, halves of formats) do not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 12
"""maximum number of test files: more are not worth waiting for after each change"""


def module_of(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[str]:
    """Yield the names that a file imports; those of ``from a import b`` may be modules, or names in ``a``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)
            yield node.module


@cache
def import_graph() -> tuple[dict[str, Path], dict[str, set[str]]]:
    """Return the modules of the package and of its tests, and the importers of each name."""
    paths = {module_of(path): path for folder in ("src", "tests") for path in sorted((ROOT / folder).rglob("*.py"))}
    importers: dict[str, set[str]] = {}
    for name, path in paths.items():
        for other in imported(path):
            importers.setdefault(other, set()).add(name)
    return paths, importers


def nearest_tests(file: Path) -> list[Path]:
    """Return the tests of a module, relative to the repository."""
    paths, importers = import_graph()
    tests = sorted(name for name in paths if name.startswith("tests.") and ".test_" in name)
    words = file.stem.strip("_") if file.stem != "__init__" else file.parent.name
    package = module_of(file).removeprefix("keyframer.").rpartition(".")[0]
    while package and not (ROOT / "tests" / package.replace(".", "/")).is_dir():
        package = package.rpartition(".")[0]

    def of_package(name: str) -> bool:
        return f"{name}.".startswith(f"tests.{package}.")

    found = [name for name in tests if name.endswith(f".test_{words}") and (not package or of_package(name))]
    found += [name for name in tests if f".test_{words}_" in name and of_package(name)]
    seen, nearest = {module_of(file)}, {module_of(file)}
    while nearest and len(found) < MOST:
        nearest = {importer for name in nearest for importer in importers.get(name, ())} - seen
        seen |= nearest
        found += sorted(nearest.intersection(tests).difference(found), key=lambda name: (not of_package(name), name))
    found = found or [name for name in tests if of_package(name)]
    return [paths[name].relative_to(ROOT) for name in found[:MOST]]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print("usage: python tools/tests_of.py src/keyframer/….py", file=sys.stderr)
        return 2
    print(*nearest_tests(Path(arguments[0]).resolve()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
