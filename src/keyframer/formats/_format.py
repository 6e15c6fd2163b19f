"""What a format offers. Functions are loaded when first used, so that naming a format costs nothing."""

from __future__ import annotations

from keyframer.wire.uncollected import Uncollected

TYPE_CHECKING = False  # `typing` and `dataclasses` would double the start of ``keyframer identify``
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from keyframer.formats._bridging import Reporter
    from keyframer.formats._document import Document
    from keyframer.formats._summary import Table
    from keyframer.formats._writing import Written
    from keyframer.limits import Limits
    from keyframer.scene import Scene


COMPANION_ENDINGS = (".anim", ".mdl", ".skel")
"""of files that belong to each other when they stand side by side under one stem"""


def companion_names(name: str, endings: tuple[str, ...] = COMPANION_ENDINGS) -> list[str]:
    """The names that files beside this one may have if they belong to it: its stem, in the usual spellings."""
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    spelt = [ending for each in endings for ending in (each, each.upper())]
    names = dict.fromkeys(start + ending for start in (stem, stem.lower(), stem.upper()) for ending in spelt)
    return [each for each in names if each != name]


class Match:
    """How surely the bytes are of a format (0 to 1), why, and what the head says about version and layout."""

    __slots__ = ("dialect", "reason", "score", "version")

    def __init__(self, score: float, reason: str, version: str | None = None, dialect: str | None = None) -> None:
        self.score = score
        self.reason = reason
        self.version = version
        self.dialect = dialect

    def __repr__(self) -> str:
        return f"Match({self.score!r}, {self.reason!r}, {self.version!r}, {self.dialect!r})"


class Format:
    """A file format. ``sniff(head, size)`` sees the first `HEAD_SIZE` bytes and the size of the file.

    ``pronom`` is the identifier in The National Archives' PRONOM registry, where it has one.
    """

    __slots__ = ("extensions", "name", "package", "pronom", "sniff", "title")

    def __init__(
        self,
        name: str,
        title: str,
        extensions: tuple[str, ...],
        sniff: Callable[[bytes, int], Match | None],
        package: str,
        pronom: str | None = None,
    ) -> None:
        self.name = name
        self.title = title
        self.extensions = extensions
        self.sniff = sniff
        self.package = package
        self.pronom = pronom

    def _load(self, module: str, function: str) -> Any:
        from importlib import import_module

        return getattr(import_module(f"{self.package}.{module}"), function)

    def _load_if_there(self, module: str, function: str) -> Any:
        from importlib import import_module

        return getattr(import_module(f"{self.package}.{module}"), function, None) if self.has(module) else None

    def decode(self, data: bytes, limits: Limits) -> Document:
        with Uncollected():
            document: Document = self._load("document", "decode")(data, limits)
        document.limits, document.size = limits, len(data)
        return document

    def encode(self, document: Document) -> bytes:
        data: bytes = self._load("document", "encode")(document)
        return data

    def to_scene(self, document: Document, options: Mapping[str, object]) -> Scene:
        """What a document means; ``options`` are those of the format's bridge. ValueError for one it does not have."""
        from dataclasses import fields

        known = self._load("bridge", "Options")
        names = [item.name for item in fields(known)]
        unknown = sorted(set(options) - set(names))
        if unknown:
            raise ValueError(f"{self.name} has no option {unknown[0]!r} (it has: {', '.join(names)})")
        chosen = known(**options)
        import numpy as np

        from keyframer.limits import budgeted

        # bridges ask numbers whether they are finite: no warning
        with budgeted(document.limits, document.size), Uncollected(), np.errstate(all="ignore"):
            scene: Scene = self._load("bridge", "to_scene")(document, chosen)
        return scene

    def from_scene(self, scene: Scene, options: Mapping[str, object] | None = None) -> Written:
        """A document of a scene with what was lost on the way; ``options`` are the format's `WriteOptions`.

        A scene that came from a document of this format patches it, unless an option asks for something else. Raises
        ValueError for an option that the format does not have, and where it could hold nothing of the scene.
        """
        from importlib import import_module

        written: Written = import_module("keyframer.formats._patching").write_scene(self, scene, dict(options or {}))
        return written

    def option_types(self) -> dict[str, str]:
        """The options of the format's bridge, and the type of each in the words of its declaration."""
        from dataclasses import fields

        return {item.name: str(item.type) for item in fields(self._load("bridge", "Options"))}

    def write_option_types(self) -> dict[str, str]:
        """The options of writing a scene, and the type of each in the words of its declaration."""
        from dataclasses import fields

        return {item.name: str(item.type) for item in fields(self._load("bridge.writing", "WriteOptions"))}

    def companions(self, document: Document, path: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Options for the files that belong to one and stand beside it under the same stem; none where the user
        named any of them, and for formats that have no companions. `FormatError` where they are half written."""
        find = self._load_if_there("bridge", "companions")
        if find is None:
            return {}
        from keyframer.files import is_unfinished

        if is_unfinished(path):
            from keyframer.catalogue import IO_PAIR_UNFINISHED

            raise IO_PAIR_UNFINISHED.failure(0, "/", stem=path.stem)
        found: dict[str, object] = find(document, path)
        return {} if set(found) & set(options) else found

    def apply_rules(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        """Report what the format's own rules find in a document; for formats that have a module ``rules``."""
        rules = self._load_if_there("rules", "apply_rules")
        if rules is not None:
            import numpy as np

            with Uncollected(), np.errstate(all="ignore"):
                rules(document, scene, reporter)

    def record_types(self) -> dict[str, type[Any]]:
        """Every record the format declares, by name."""
        types: dict[str, type[Any]] = self._load("document", "record_types")()
        return types

    def diagnose(self, data: bytes) -> str | None:
        """What damaged the file on its way, if that shows; for formats that have a module ``damage``."""
        words: str | None = self._load("damage", "diagnose")(data)
        return words

    def summarise(self, document: Document) -> list[Table]:
        """What the format has to say about a document, as tables; for formats that have a module ``summary``."""
        tables: list[Table] = self._load("summary", "summarise")(document)
        return tables

    def has(self, part: str) -> bool:
        """Whether the format has such a module: ``bridge``, ``rules`` …"""
        from importlib.util import find_spec

        return find_spec(f"{self.package}.{part}") is not None

    def __repr__(self) -> str:
        return f"<Format {self.name}: {self.title}>"


HEAD_SIZE = 4096
"""how much of a file detection looks at"""
