"""The contract of a format: one class, of which every format folder makes a subclass.

What is optional has a default here. Whatever needs more than the standard library is loaded when first asked for, so
that naming a format and looking at a file's first bytes cost nothing.
"""

from __future__ import annotations

from keyframer.plugins import Blame
from keyframer.text import did_you_mean
from keyframer.wire.gc_paused import GcPaused

TYPE_CHECKING = False  # `typing` and `dataclasses` would double the start of ``keyframer identify``
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any, Protocol

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.document import Document
    from keyframer.formats.kit.scene_reading import Reporter
    from keyframer.formats.kit.scene_writing import Written
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.limits import Limits
    from keyframer.scene import Scene

    class Codec(Protocol):
        """Bytes to documents and back: usually the module ``document`` of the format."""

        def decode(self, data: bytes, limits: Limits) -> Document: ...

        def encode(self, document: Document) -> bytes: ...

        def record_types(self) -> Mapping[str, type[Any]]:
            """Every record the format declares, by name."""

    Rules = Callable[[Document, "Scene | None", Reporter], None]

    class Summary(Protocol):
        """What a format says about a document, and about its records in the documentation."""

        def summarise(self, document: Document) -> list[Table]: ...

        def describe(self, cls: type[Any]) -> Mapping[str, str]: ...


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


def companion_names(name: str, endings: Iterable[str]) -> list[str]:
    """The names that files beside this one may have if they belong to it: its stem, in the usual spellings."""
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    spelt = [ending for lower in endings for ending in (lower, lower.upper())]
    names = dict.fromkeys(start + ending for start in (stem, stem.lower(), stem.upper()) for ending in spelt)
    return [spelling for spelling in names if spelling != name]


class Companion:
    """A second file that belongs to one: the option that names it, its extension, and words for ``--help``."""

    __slots__ = ("extension", "option", "words")

    def __init__(self, option: str, extension: str, words: str) -> None:
        self.option = option
        self.extension = extension
        self.words = words


class ImageNames:
    """How a format names images: how long a name may be without its extension, and for which maps."""

    __slots__ = ("longest", "slots", "upper")

    def __init__(self, longest: int, *, slots: tuple[str, ...] | None = None, upper: bool = False) -> None:
        self.longest = longest
        self.slots = slots
        """None: all of them"""
        self.upper = upper


class Format:
    """A file format. A subclass says what it is and overrides what it offers."""

    # Identity
    name: str
    """its id, as in ``--from``"""
    title: str
    extensions: tuple[str, ...]
    """the first is that of new files"""
    pronom: str | None = None
    """identifier in The National Archives' PRONOM registry, where it has one"""

    # Facts
    axes: tuple[str, str] = ("z", "right")
    """which axis is up in its files, and their handedness"""
    dialects: tuple[str, ...] = ()
    """layouts that can be asked for when writing; the first is the default"""
    companions: tuple[Companion, ...] = ()
    """files that belong to a file and stand beside it under the same stem"""
    image_names: ImageNames | None = None
    """None where the format names no images"""
    smooth_without_groups: bool = True
    """whether a mesh without smoothing groups is smooth"""
    plays_between_frames: bool = True
    """whether the original program showed anything between two whole frames"""
    record_per_track: bool = False
    """whether every track is a record of its own"""
    key_flags_are_tcb_bits: bool = False
    """whether bits 0 to 4 of a key's flags say which of tension, continuity, bias and the two eases it has"""
    tables: tuple[str, ...] = ()
    """names of the tables that its `summary` gives besides the overview"""
    bookkeeping: tuple[str, ...] = ()
    """words of its extras about how its files number, count and lay out their parts: files of others lose nothing"""
    preload: tuple[str, ...] = ()
    """modules that batch workers load ahead, for a format that archives are full of"""
    diagnoses_damage: bool = False
    """whether `diagnose` can tell anything, which takes the whole file"""

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Whether a file is of this format, from its first `HEAD_SIZE` bytes and its size."""
        raise NotImplementedError

    def name_relative(self, head: bytes, size: int) -> str | None:
        """What a file is that comes from the same program and cannot be read: words for "this is …"."""
        return None

    # Parts, each imported by its method when first asked for
    def codec(self) -> Codec:
        """Bytes to documents and back, usually the module ``document``."""
        raise NotImplementedError

    def reader(self) -> SceneReader[Any] | None:
        """Makes scenes of documents; None for a format whose meaning is not read."""
        return None

    def writer(self) -> SceneWriter[Any] | None:
        """Makes documents of scenes."""
        return None

    def merger(self) -> Merger[Any] | None:
        """Merges edited scenes into their documents."""
        return None

    def rules(self) -> Rules | None:
        """The format's own checks of a document."""
        return None

    def summary(self) -> Summary | None:
        """Tables about a document that only this format has."""
        return None

    def dialect_type(self) -> type[Any] | None:
        """The type of ``document.dialect``: an enum or a dataclass of plain values."""
        return None

    def diagnose(self, data: bytes) -> str | None:
        """What damaged a file on its way, if that shows."""
        return None

    def check_dialect(self, dialect: str) -> None:
        """ValueError for a dialect that cannot be written."""
        if dialect not in self.dialects:
            known = f"it has: {', '.join(self.dialects)}" if self.dialects else "it has none"
            raise ValueError(f"{self.name} has no dialect {dialect!r} ({known})")

    def options_for(self, suffix: str) -> dict[str, object]:
        """Options of writing that the extension of the output decides."""
        return {}

    # What everybody calls
    def decode(self, data: bytes, limits: Limits) -> Document:
        with GcPaused(), Blame(self):
            document = self.codec().decode(data, limits)
        document.limits, document.size = limits, len(data)
        return document

    def encode(self, document: Document) -> bytes:
        return self.codec().encode(document)

    def record_types(self) -> Mapping[str, type[Any]]:
        """Every record the format declares, by name."""
        return self.codec().record_types()

    def to_scene(self, document: Document, options: Mapping[str, object]) -> Scene:
        """What a document means; ``options`` are those of the reader. ValueError for one it does not have."""
        import numpy as np

        from keyframer.limits import budgeted

        reader = self.scene_reader()
        chosen = make_options(self.name, reader.options, options)
        # readers ask numbers whether they are finite: no warning
        with budgeted(document.limits, document.size), GcPaused(), np.errstate(all="ignore"), Blame(self):
            return reader.to_scene(document, chosen)

    def from_scene(self, scene: Scene, options: Mapping[str, object] | None = None) -> Written:
        """A document of a scene with what was lost on the way; ``options`` are those of the writer.

        Edits of a scene that came from a document of this format are merged into it, unless an option asks for
        something else. Raises ValueError for an option that the format does not have, and where it could hold nothing
        of the scene.
        """
        from keyframer.formats._saving import write_scene

        with Blame(self, ValueError):
            return write_scene(self, scene, dict(options or {}))

    def option_types(self) -> dict[str, str]:
        """The options of reading a scene, and the type of each in the words of its declaration."""
        return _types(self.scene_reader().options)

    def write_option_types(self) -> dict[str, str]:
        """The options of writing a scene, and the type of each in the words of its declaration."""
        return _types(self.scene_writer().options)

    def find_companions(self, document: Document, path: Path, options: Mapping[str, object]) -> dict[str, object]:
        """Options for the companions that stand beside a file; none where the user named any of them. `FormatError`
        where the pair is half written."""
        if not self.companions:
            return {}
        from keyframer.files import is_unfinished

        if is_unfinished(path):
            from keyframer.catalogue import IO_PAIR_UNFINISHED

            raise IO_PAIR_UNFINISHED.failure(0, "/", stem=path.stem)
        companions = self.scene_reader().companions(document, path)
        return {} if set(companions) & set(options) else companions

    def apply_rules(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        """Report what the format's own rules find in a document."""
        rules = self.rules()
        if rules is not None:
            import numpy as np

            with GcPaused(), np.errstate(all="ignore"), Blame(self):
                rules(document, scene, reporter)

    def scene_reader(self) -> SceneReader[Any]:
        """The reader; ValueError for a format whose meaning is not read."""
        with Blame(self):
            reader = self.reader()
        if reader is None:
            raise ValueError(f"{self.name} files can be read, but not as scenes")
        return reader

    def scene_writer(self) -> SceneWriter[Any]:
        """The writer; ValueError for a format that scenes cannot be written to."""
        with Blame(self):
            writer = self.writer()
        if writer is None:
            raise ValueError(f"scenes cannot be written as {self.name}")
        return writer

    def __repr__(self) -> str:
        return f"<Format {self.name}: {self.title}>"


def make_options(name: str, options: type[Any], given: Mapping[str, object]) -> Any:
    """Options of a format from names and values; ValueError for a name that it does not have."""
    if given:
        refuse_unknown(name, _types(options), given)
    return options(**given)


def refuse_unknown(owner: str, known: Iterable[str], given: Iterable[str]) -> None:
    """ValueError for the first option that the owner, a format, does not have."""
    names = list(known)
    unknown = sorted(set(given) - set(names))
    if unknown:
        listed = f"it has: {', '.join(names) or 'none'}"
        raise ValueError(f"{owner} has no option {unknown[0]!r} ({listed}){did_you_mean(unknown[0], names)}")


_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def options_from_text(types: Mapping[str, str], given: Mapping[str, object]) -> dict[str, object]:
    """Options with their text values as numbers and booleans where ``types`` (see `Format.option_types`) ask for that;
    ValueError names an option whose value does not fit."""
    return {name: _value(name, value, types.get(name, "")) for name, value in given.items()}


def _value(name: str, value: object, kind: str) -> object:
    if not isinstance(value, str):
        return value
    if kind == "bool":
        if value.lower() not in _WORDS:
            raise ValueError(f"{name} must be true or false, not {value!r}")
        return _WORDS[value.lower()]
    for start, convert, words in (("int", int, "a whole number"), ("float", float, "a number")):
        if kind.startswith(start):
            try:
                return convert(value)
            except ValueError:
                raise ValueError(f"{name} must be {words}, not {value!r}") from None
    return value


def _types(options: type[Any]) -> dict[str, str]:
    from dataclasses import fields

    return {item.name: str(item.type) for item in fields(options)}


HEAD_SIZE = 4096
"""how much of a file detection looks at"""
