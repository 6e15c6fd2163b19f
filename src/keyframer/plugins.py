"""Formats, exporters and importers that other packages register through entry points.

They are found in ``*.dist-info/entry_points.txt``; importing `importlib.metadata` for that would take as long as
starting the interpreter several times. A plugin that cannot be loaded is not used. If a plugin fails later,
`call_plugin` ignores the call, and a `PluginErrorBoundary` lets only the current file fail. `failures` has the reports
of plugins that could not be loaded and of ignored calls, at most one for each plugin.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from keyframer.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    P = TypeVar("P")
    A = TypeVar("A")

_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_MOST_BYTES = 1 << 20
"""maximum number of bytes read of an entry point file"""
_failed: dict[str, str] = {}
_declared: dict[str, list[tuple[str, str]]] | None = None


def load_plugins(group: str, kind: type[P], taken: set[str]) -> list[P]:
    """Load the plugins of an entry point group: objects of the class ``kind``, whose ids must not be in ``taken`` and
    are added to it. Failures are reported."""
    plugins: list[P] = []
    for name, target in entry_points().get(group, ()):
        from importlib import import_module  # only needed if there are plugins

        try:
            module, _, attribute = target.partition(":")
            plugin = getattr(import_module(module), attribute)
            if not isinstance(plugin, kind):
                raise TypeError(f"{attribute} is not a {kind.__name__}")
            taken.add(_checked_id(plugin, taken))
        except (Exception, SystemExit) as error:  # code of another package: any failure becomes one line
            report_failure(name, "is not used", error)
            continue
        plugins.append(plugin)
    return plugins


def _checked_id(plugin: object, taken: set[str]) -> str:
    """Return the id of a plugin after checking its declaration; raises TypeError or ValueError."""
    for attribute in ("name", "title"):
        if not isinstance(getattr(plugin, attribute, None), str):
            raise TypeError(f"its {attribute} is not a string")
    for attribute, start in (("extensions", "."), ("dialects", ""), ("preload", "")):
        values = getattr(plugin, attribute, None if start else ())
        if not isinstance(values, tuple) or not all(
            isinstance(text, str) and text.startswith(start) for text in values
        ):
            raise TypeError(f"its {attribute} must be a tuple of strings{' like .ext' if start else ''}")
    companions = getattr(plugin, "companions", ())
    if not isinstance(companions, tuple) or not all(hasattr(companion, "option") for companion in companions):
        raise TypeError("its companions must be a tuple of Companion objects")
    plugin_id: str = plugin.name  # type: ignore[attr-defined]
    if not (
        plugin_id.isascii() and plugin_id.replace("-", "").replace("_", "").isalnum() and plugin_id == plugin_id.lower()
    ):
        raise ValueError(f"the id {plugin_id!r} must consist of a-z, 0-9, - and _, with at least one letter or digit")
    if plugin_id in taken:
        raise ValueError(f"the id {plugin_id!r} is already in use")
    return plugin_id


def call_plugin(plugin: object, function: Callable[..., A], *arguments: object) -> A | None:
    """Call a function of a plugin; if a plugin of another package fails, report that and return None."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        if not is_external(plugin):
            raise
        report_failure(plugin.name, "failed", error)  # type: ignore[attr-defined]
        return None


class PluginErrorBoundary:
    """Turn unexpected exceptions of a plugin of another package into a `FormatError`: only the current file fails."""

    __slots__ = ("_allowed", "_plugin")

    def __init__(self, plugin: object, *allowed: type[Exception]) -> None:
        self._plugin = plugin
        self._allowed = allowed

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or not is_external(self._plugin):
            return
        if isinstance(error, (Exception, SystemExit)) and not isinstance(error, (FormatError, *self._allowed)):
            from keyframer.catalogue import RUN_INTERNAL_ERROR

            raise RUN_INTERNAL_ERROR.failure(0, "/", reason=_summary(self._plugin.name, "failed", error)) from error  # type: ignore[attr-defined]


def is_external(plugin: object) -> bool:
    """Return whether a format, importer or exporter comes from another package."""
    return not type(plugin).__module__.startswith("keyframer.")


def report_failure(name: str, outcome: str, error: BaseException) -> None:
    """Record that a plugin failed; only its first failure is kept."""
    _failed.setdefault(name, _summary(name, outcome, error))


def _summary(name: str, outcome: str, error: BaseException) -> str:
    return f"plugin {name} {outcome}: {type(error).__name__}: {str(error).partition(chr(10))[0]}".rstrip(": ")


def failures() -> list[str]:
    """Return the first reported failure of each plugin, as one line."""
    return list(_failed.values())


def entry_points() -> dict[str, list[tuple[str, str]]]:
    """Return the entry points (name, target) of each group that begins with ``keyframer.``, sorted by name."""
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
    """List the paths where packages in a folder may have an entry point file. The empty name is the current folder,
    which is not trusted and therefore skipped; Python's own folders have many files but no entry points."""
    if not folder or folder == _STANDARD_LIBRARY or folder.startswith(_STANDARD_LIBRARY + "/lib-dynload"):
        return []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [f"{folder}/{name}/entry_points.txt" for name in names if name.endswith(".dist-info")]


def _parse(path: str, groups: dict[str, list[tuple[str, str]]]) -> None:
    try:
        file = os.open(path, os.O_RDONLY)  # most packages have no such file, and `open` needs twice as long to fail
    except OSError:
        return
    try:
        content = os.read(file, min(os.fstat(file).st_size, _MOST_BYTES))  # `read` allocates as much as it may read
    except OSError:
        content = b""
    finally:
        os.close(file)
    if b"[keyframer." not in content:  # decode only the few that matter
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
