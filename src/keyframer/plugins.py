"""Packages from outside that register formats, exporters or importers through entry points.

They are found by their ``*.dist-info/entry_points.txt``: importing `importlib.metadata` for that would cost as much as
several starts of the interpreter. A package that fails is left out, and `failures` has one line about it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    P = TypeVar("P")
    A = TypeVar("A")

_failed: dict[str, str] = {}
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
            taken.add(_checked_id(plugin, taken))
        except (Exception, SystemExit) as error:  # somebody else's code: whatever it does costs one line
            report_failure(name, error)
            continue
        plugins.append(plugin)
    return plugins


def _checked_id(plugin: object, taken: set[str]) -> str:
    """The id of a plugin whose declaration is sound; TypeError or ValueError says what is wrong with it."""
    for attribute in ("name", "title"):
        if not isinstance(getattr(plugin, attribute, None), str):
            raise TypeError(f"its {attribute} is not text")
    for attribute, start in (("extensions", "."), ("dialects", ""), ("preload", "")):
        words = getattr(plugin, attribute, None if start else ())
        if not isinstance(words, tuple) or not all(isinstance(word, str) and word.startswith(start) for word in words):
            raise TypeError(f"its {attribute} are not a tuple of texts{' like .ext' if start else ''}")
    companions = getattr(plugin, "companions", ())
    if not isinstance(companions, tuple) or not all(hasattr(companion, "option") for companion in companions):
        raise TypeError("its companions are not a tuple of Companion")
    known: str = plugin.name  # type: ignore[attr-defined]
    if not (known.isascii() and known.replace("-", "").replace("_", "").isalnum() and known == known.lower()):
        raise ValueError(f"the id {known!r} is not made of a-z, 0-9, - and _")
    if known in taken:
        raise ValueError(f"the id {known!r} is taken")
    return known


def ask(plugin: object, question: Callable[..., A], *arguments: object) -> A | None:
    """What a format or an importer answers; one from outside that fails is reported, and the answer is None."""
    try:
        return question(*arguments)
    except (Exception, SystemExit) as error:
        if not is_outside(plugin):
            raise
        report_failure(plugin.name, error)  # type: ignore[attr-defined]
        return None


class Blame:
    """Turns what a plugin raises by mistake into a `FormatError`, the failure of the file at hand."""

    __slots__ = ("_allowed", "_plugin")

    def __init__(self, plugin: object, *allowed: type[Exception]) -> None:
        self._plugin = plugin
        self._allowed = allowed

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or not is_outside(self._plugin):
            return
        from keyframer.errors import FormatError

        if isinstance(error, (Exception, SystemExit)) and not isinstance(error, (FormatError, *self._allowed)):
            from keyframer.catalogue import RUN_INTERNAL_ERROR

            raise RUN_INTERNAL_ERROR.failure(0, "/", reason=_words(self._plugin.name, "failed", error)) from error  # type: ignore[attr-defined]


def is_outside(plugin: object) -> bool:
    """Whether a format, importer or exporter comes from another package: by the module that does its work."""
    return not (getattr(plugin, "module", "") or type(plugin).__module__).startswith("keyframer.")


def report_failure(name: str, error: BaseException) -> None:
    """Note that a plugin failed, once."""
    _failed.setdefault(name, _words(name, "is not used", error))


def _words(name: str, what: str, error: BaseException) -> str:
    return f"plugin {name} {what}: {type(error).__name__}: {str(error).partition(chr(10))[0]}".rstrip(": ")


def failures() -> list[str]:
    """A line for each plugin that could not be used."""
    return list(_failed.values())


def declared() -> dict[str, list[tuple[str, str]]]:
    """Entry points of groups that begin with ``keyframer.``: name and target, in the order of names."""
    global _declared
    if _declared is None:
        _declared = {}
        for folder in dict.fromkeys(sys.path):
            for path in _entry_point_files(folder):
                _parse(path, _declared)
        for targets in _declared.values():
            targets.sort()
    return _declared


def _entry_point_files(folder: str) -> list[str]:
    """In a folder of packages; the empty name is the current folder, which may hold anybody's files."""
    if not folder:
        return []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [os.path.join(folder, name, "entry_points.txt") for name in names if name.endswith(".dist-info")]


def _parse(path: str, groups: dict[str, list[tuple[str, str]]]) -> None:
    try:
        with open(path, "rb", buffering=0) as stream:
            content = stream.read()
    except OSError:  # most packages declare none
        return
    if b"[keyframer." not in content:  # nor does anybody pay for decoding the others
        return
    group = ""
    for line in map(str.strip, content.decode("utf-8", "replace").splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group.startswith("keyframer.") and "=" in line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            entry = (name.strip(), target.partition("[")[0].strip())
            if entry not in groups.setdefault(group, []):
                groups[group].append(entry)
