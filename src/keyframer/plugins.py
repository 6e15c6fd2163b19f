"""Packages from outside that register formats, exporters or importers through entry points.

They are found by their ``*.dist-info/entry_points.txt``: importing `importlib.metadata` for that would cost as much as
several starts of the interpreter. A package that fails is left out, and `FAILURES` has one line about it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    P = TypeVar("P")

FAILURES: list[str] = []
"""a line for each package that could not be used"""

_declared: dict[str, list[tuple[str, str]]] | None = None


def load_plugins(group: str, kind: type[P], taken: set[str]) -> list[P]:
    """What installed packages declare in an entry point group: objects of this kind, whose ``name`` is not taken."""
    plugins: list[P] = []
    for name, target in declared().get(group, ()):
        from importlib import import_module  # without plugins nobody pays for it

        try:
            module, _, attribute = target.partition(":")
            plugin = getattr(import_module(module), attribute)
            if not isinstance(plugin, kind):
                raise TypeError(f"{attribute} is not a {kind.__name__}")
            known = str(plugin.name)  # type: ignore[attr-defined]
            if known in taken:
                raise ValueError(f"the id {known!r} is taken")
        except Exception as error:  # somebody else's code: whatever it does costs one line
            report_failure(name, error)
            continue
        taken.add(known)
        plugins.append(plugin)
    return plugins


def report_failure(name: str, error: Exception) -> None:
    """Note that a plugin failed, once."""
    words = str(error).partition("\n")[0]
    line = f"plugin {name} is not used: {type(error).__name__}: {words}"
    if line not in FAILURES:
        FAILURES.append(line)


def declared() -> dict[str, list[tuple[str, str]]]:
    """Entry points of groups that begin with ``keyframer.``: name and target, in the order of names."""
    global _declared
    if _declared is None:
        _declared = {}
        for folder in dict.fromkeys(sys.path):
            for path in _entry_point_files(folder or "."):
                _parse(path, _declared)
        for targets in _declared.values():
            targets.sort()
    return _declared


def _entry_point_files(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name, "entry_points.txt") for name in names if name.endswith(".dist-info")]


def _parse(path: str, groups: dict[str, list[tuple[str, str]]]) -> None:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
    except OSError:  # most packages declare none
        return
    if "[keyframer." not in text:
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group.startswith("keyframer.") and "=" in line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            entry = (name.strip(), target.partition("[")[0].strip())
            if entry not in groups.setdefault(group, []):
                groups[group].append(entry)
