"""The interface of a format: a class with one subclass for each format.

Optional parts have defaults here. Modules that need more than the standard library are imported on first use, so that
listing formats and detecting files start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.plugins import PluginErrorBoundary
from keyframer.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any, Protocol

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.document import Document
    from keyframer.formats.kit.scene_reading import Reporter
    from keyframer.formats.kit.scene_writing import Written
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.limits import Limits
    from keyframer.scene import Scene

    class Codec(Protocol):
        """Decodes bytes to documents and encodes them: usually the module ``document`` of the format."""

        def decode(self, data: bytes, limits: Limits) -> Document: ...

        def encode(self, document: Document) -> bytes: ...

        def record_types(self) -> Mapping[str, type[Any]]:
            """Return every record type that the format declares, by name."""

    Rules = Callable[[Document, "Scene | None", Reporter], None]

    class Summary(Protocol):
        """Summarises a document in tables and describes record types for the documentation."""

        def summarise(self, document: Document) -> list[Table]: ...

        def describe(self, cls: type[Any]) -> Mapping[str, str]: ...


class Match:
    """Result of `Format.sniff`: a score from 0 to 1, the reason, and the version and dialect, if known."""

    __slots__ = ("dialect", "reason", "score", "version")

    def __init__(self, score: float, reason: str, version: str | None = None, dialect: str | None = None) -> None:
        self.score = score
        self.reason = reason
        self.version = version
        self.dialect = dialect

    def __repr__(self) -> str:
        return f"Match({self.score!r}, {self.reason!r}, {self.version!r}, {self.dialect!r})"


def companion_names(name: str, endings: Iterable[str]) -> list[str]:
    """Return the possible names of companions of a file: its stem with each ending, in the usual spellings."""
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    spellings = [ending for lower in endings for ending in (lower, lower.upper())]
    names = dict.fromkeys(start + ending for start in (stem, stem.lower(), stem.upper()) for ending in spellings)
    return [candidate for candidate in names if candidate != name]


class Companion:
    """A second file that belongs to a file: the option that names it, its extension, and its text in ``--help``."""

    __slots__ = ("description", "extension", "option")

    def __init__(self, option: str, extension: str, description: str) -> None:
        self.option = option
        self.extension = extension
        self.description = description


class ImageNames:
    """How a format stores image names: the maximum length without extension, and the map slots that store a name."""

    __slots__ = ("longest", "slots", "upper")

    def __init__(self, longest: int, *, slots: tuple[str, ...] | None = None, upper: bool = False) -> None:
        self.longest = longest
        self.slots = slots
        """map slots; None for all"""
        self.upper = upper
        """whether names are stored in upper case"""


class Format:
    """A file format. Subclasses set its properties and override the parts that it supports."""

    # Identity
    name: str
    """the id of the format, as in ``--from``"""
    title: str
    extensions: tuple[str, ...]
    """extensions with a dot, in lower case; new files get the first"""
    pronom: str | None = None
    """identifier in The National Archives' PRONOM registry, if any"""

    # Properties
    axes: tuple[str, str] = ("z", "right")
    """the up axis of its files and their handedness"""
    dialects: tuple[str, ...] = ()
    """layouts that the writer can write; the first is the default"""
    companions: tuple[Companion, ...] = ()
    """companions: files of the same stem in the same folder"""
    image_names: ImageNames | None = None
    """None if the format stores no image names"""
    smooth_without_groups: bool = True
    """whether a mesh without smoothing groups is smooth"""
    plays_between_frames: bool = True
    """whether the original program showed anything between two whole frames"""
    record_per_track: bool = False
    """whether every track is a separate record"""
    key_flags_are_tcb_bits: bool = False
    """whether bits 0 to 4 of a key's flags say which of tension, continuity, bias, ease to and ease from are stored"""
    tables: tuple[str, ...] = ()
    """names of the tables that its `summary` adds to the overview"""
    bookkeeping: tuple[str, ...] = ()
    """keys of its extras that only describe the numbering and layout of its files: conversions to other formats lose
    nothing without them
    """
    preload: tuple[str, ...] = ()
    """modules that batch workers import in advance, for formats that are common in archives"""
    diagnoses_damage: bool = False
    """whether `diagnose` is implemented, which needs the whole file"""

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return the match of a file with these first `HEAD_SIZE` bytes and this size; None if it does not match."""
        raise NotImplementedError

    def describe_related_file(self, head: bytes, size: int) -> str | None:
        """Describe an unsupported file of the same program, as text for "this is …"; None if its type is unknown."""
        return None

    # Parts; each method imports its module on first use
    def codec(self) -> Codec:
        """Return the codec, which decodes and encodes documents: usually the module ``document``."""
        raise NotImplementedError

    def reader(self) -> SceneReader[Any] | None:
        """Return the reader, which makes scenes from documents; None if the format has none."""
        return None

    def writer(self) -> SceneWriter[Any] | None:
        """Return the writer, which makes documents from scenes; None if the format has none."""
        return None

    def merger(self) -> Merger[Any] | None:
        """Return the merger, which merges edited scenes into their original documents; None if the format has none."""
        return None

    def rules(self) -> Rules | None:
        """Return the function with the checks that only this format has, or None."""
        return None

    def summary(self) -> Summary | None:
        """Return the summary, which makes tables that only this format has, or None."""
        return None

    def dialect_type(self) -> type[Any] | None:
        """Return the type of ``document.dialect``: an enum or a dataclass of plain values; None for a single layout."""
        return None

    def diagnose(self, data: bytes) -> str | None:
        """Describe how a file was damaged in transfer; None if no damage is recognised."""
        return None

    def check_dialect(self, dialect: str) -> None:
        """Raise ValueError for a dialect that cannot be written."""
        if dialect not in self.dialects:
            known = f"it has: {', '.join(self.dialects)}" if self.dialects else "it has none"
            raise ValueError(f"{self.name} has no dialect {dialect!r} ({known})")

    def options_for(self, suffix: str) -> dict[str, object]:
        """Return options for writing that follow from the extension of the output."""
        return {}

    # Methods for callers
    def decode(self, data: bytes, limits: Limits) -> Document:
        from keyframer.formats.guard import guarded

        with guarded(self):
            document = self.codec().decode(data, limits)
        document.limits, document.size = limits, len(data)
        return document

    def encode(self, document: Document) -> bytes:
        return self.codec().encode(document)

    def record_types(self) -> Mapping[str, type[Any]]:
        """Return every record type that the format declares, by name."""
        return self.codec().record_types()

    def to_scene(self, document: Document, options: Mapping[str, object]) -> Scene:
        """Return the scene of a document, read with these options; raises ValueError for an unknown option."""
        from keyframer.formats.guard import guarded
        from keyframer.limits import budgeted

        reader = self.scene_reader()
        chosen = make_options(self.name, reader.options, options, reader.internal_options)
        with budgeted(document.limits, document.size), guarded(self):
            return reader.to_scene(document, chosen)

    def from_scene(self, scene: Scene, options: Mapping[str, object] | None = None) -> Written:
        """Write a scene as a document and report losses; ``options`` are those of the writer.

        A scene that was loaded from a document of this format is merged into it, unless an option requires a new
        document or the edit cannot be merged. Raises ValueError for an unknown option, and if the format can store no
        part of the scene.
        """
        from keyframer.formats._saving import write_scene

        with PluginErrorBoundary(self, ValueError):
            return write_scene(self, scene, dict(options or {}))

    def option_types(self) -> dict[str, str]:
        """Return the options for reading a scene, with the declared type of each as text."""
        return _types(self.scene_reader().options)

    def write_option_types(self) -> dict[str, str]:
        """Return the options for writing a scene, with the declared type of each as text."""
        return _types(self.scene_writer().options)

    def apply_rules(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        """Check a document with the rules of the format and report issues."""
        rules = self.rules()
        if rules is not None:
            from keyframer.formats.guard import guarded

            with guarded(self):
                rules(document, scene, reporter)

    def scene_reader(self) -> SceneReader[Any]:
        """Return the reader; raises ValueError if the format has no scene reader."""
        with PluginErrorBoundary(self):
            reader = self.reader()
        if reader is None:
            raise ValueError(f"{self.name} files can be read, but not as scenes")
        return reader

    def scene_writer(self) -> SceneWriter[Any]:
        """Return the writer; raises ValueError if scenes cannot be written to the format."""
        with PluginErrorBoundary(self):
            writer = self.writer()
        if writer is None:
            raise ValueError(f"scenes cannot be written as {self.name}")
        return writer

    def __repr__(self) -> str:
        return f"<Format {self.name}: {self.title}>"


def make_options(name: str, options: type[Any], given: Mapping[str, object], internal: Collection[str] = ()) -> Any:
    """Return the options object of a format, made from names and values; raises ValueError for an unknown name.

    Messages do not name ``internal`` options.
    """
    if given:
        refuse_unknown(name, [known for known in _types(options) if known not in internal], given.keys() - internal)
    return options(**given)


def refuse_unknown(owner: str, known: Iterable[str], given: Iterable[str]) -> None:
    """Raise ValueError if an option is unknown; ``owner`` is the name of the format in the message."""
    names = list(known)
    unknown = sorted(set(given) - set(names))
    if unknown:
        listed = f"it has: {', '.join(names) or 'none'}"
        raise ValueError(f"{owner} has no option {unknown[0]!r} ({listed}){did_you_mean(unknown[0], names)}")


_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def options_from_text(types: Mapping[str, str], given: Mapping[str, object]) -> dict[str, object]:
    """Convert values of options that are text to numbers and booleans.

    ``types`` has the type of each option (see `Format.option_types`). Raises ValueError for an invalid value.
    """
    return {name: _converted_value(name, value, types.get(name, "")) for name, value in given.items()}


def _converted_value(name: str, value: object, kind: str) -> object:
    if not isinstance(value, str):
        return value
    if kind == "bool":
        if value.lower() not in _BOOLEANS:
            raise ValueError(f"{name} must be true or false, not {value!r}")
        return _BOOLEANS[value.lower()]
    for start, convert, expected in (("int", int, "a whole number"), ("float", float, "a number")):
        if kind.startswith(start):
            try:
                return convert(value)
            except ValueError:
                raise ValueError(f"{name} must be {expected}, not {value!r}") from None
    return value


def _types(options: type[Any]) -> dict[str, str]:
    from dataclasses import fields

    return {field.name: str(field.type) for field in fields(options)}


HEAD_SIZE = 4096
"""number of bytes at the start of a file that detection uses"""
