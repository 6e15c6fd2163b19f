"""The interface of a format: its facts, its codec, and where its bridge is (`formats/bridge.py`).

A format is a subclass of `Format` with its facts and its detection. Its two halves are loaded on first use, so that
listing formats and detecting files start fast: the codec, in the module ``document`` of its package, turns bytes into
documents and back; the bridge, in its module or package ``bridge``, turns documents into scenes and back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from keyframer.plugins import PluginErrorBoundary
from keyframer.text import did_you_mean

if TYPE_CHECKING:
    from keyframer.formats.bridge import Bridge, SceneWriter
    from keyframer.formats.document import Document
    from keyframer.formats.kit.scene_reading import Reporter
    from keyframer.formats.kit.scene_writing import Written
    from keyframer.limits import Limits
    from keyframer.scene import Scene
    from keyframer.wire.record import Record
    from keyframer.wire.structure import Structure


class Match(NamedTuple):
    """Result of `Format.sniff`: a score from 0 to 1, the reason, and the version and dialect, if known."""

    score: float
    reason: str
    version: str | None = None
    dialect: str | None = None


def companion_names(name: str, endings: Iterable[str], stems: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return the possible names of companions of a file: its stem with each ending, in the usual spellings.

    The ending of an XML file has two parts: the stem of ``man.scene.xml`` is ``man``. ``stems`` are further ones, as in
    `Format.companion_stems`.
    """
    stem = name[: name.rfind(".")] if "." in name[1:] else name
    if name.lower().endswith(".xml") and "." in stem[1:]:
        stem = stem[: stem.rfind(".")]
    spellings = [ending for lower in endings for ending in (lower, lower.upper())]
    all_stems = [stem, *(other for beginning, other in stems if stem.lower().startswith(beginning))]
    starts = [spelling for each in all_stems for spelling in (each, each.lower(), each.upper())]
    names = dict.fromkeys(start + ending for start in starts for ending in spellings)
    return [candidate for candidate in names if candidate != name]


class Companion(NamedTuple):
    """A second file that belongs to a file: the option that names it, its extension, and its text in ``--help``."""

    option: str
    extension: str
    description: str


class ImageNames(NamedTuple):
    """How a format stores image names."""

    longest: int
    """the maximum length without extension"""
    slots: tuple[str, ...] | None = None
    """the map slots that store a name; None for all"""
    upper: bool = False
    """whether names are stored in upper case"""


class Signature(NamedTuple):
    """Bytes that identify files of a format, for other programs: all of ``sequences`` must match."""

    title: str
    """what the file is"""
    sequences: tuple[tuple[int, tuple[bytes, ...]], ...]
    """for each sequence its offset, and all that it can be"""
    slack: int = 0
    """number of bytes that may precede the first sequence"""
    extensions: tuple[str, ...] | None = None
    """extensions of such files, with a dot; None for all of the format, none if they do not identify the file"""
    pronom: str | None = None
    """identifier of such files in The National Archives' PRONOM registry, if any"""

    def matches(self, data: bytes, start: int) -> bool:
        """Return whether the sequences are in ``data``, counted from ``start``."""
        return all(data.startswith(choices, start + offset) for offset, choices in self.sequences)


class Missing(NamedTuple):
    """What a truncated file lacks."""

    size: int
    """bytes after the end of the file"""
    parts: str
    """what is missing and what is left, as text"""


class Codec(NamedTuple):
    """Decodes bytes to documents and encodes them: ``CODEC`` in the module ``document`` of a format."""

    decode: Callable[[bytes, Limits], Document]
    encode: Callable[[Document], bytes]
    records: tuple[type[Record], ...]
    """every record type that the format declares"""
    dialect: type[Any] | None = None
    """the type of ``document.dialect``: an enum or a dataclass of plain values; None for a single layout"""
    recover: Callable[[bytes, Limits], Document] | None = None
    """reads the whole records of a damaged file, also behind the damage (see `keyframer.formats.recovery`); None if
    the records that ``decode`` can read are all
    """
    restore_cr: Callable[[bytes], bytes | None] | None = None
    """puts back the CR that a transfer in text mode removed, where lengths prove it; None if it removed none"""
    mend: Callable[[Record, Record | None, str], bool] | None = None
    """leaves out the unsafe rows of a field of a record, or the link that the field is; the record's parent is the
    second argument. Returns False if it cannot: then the whole record is left out
    """
    missing: Callable[[bytes, Document], Missing | None] | None = None
    """returns what the end of a truncated file had, as far as the file says so; the document has what was recovered"""
    structure: Callable[[Any], Structure] | None = None
    """returns the structure of files of a dialect, for descriptions in other languages"""
    described: tuple[Any, ...] = (None,)
    """the dialects that `describing` describes; the first is the default"""


class Format:
    """A file format. Subclasses set its properties and override `sniff`."""

    # Identity
    name: str
    """the id of the format, as in ``--from``"""
    title: str
    extensions: tuple[str, ...]
    """extensions with a dot, in lower case; new files get the first"""
    mime_type: str | None = None
    """the registered type of its files; None for one that is made from the id"""
    references: tuple[str, ...] = ()
    """addresses of public descriptions of the format"""
    signatures: tuple[Signature, ...] = ()
    """what files begin with, for other programs and for finding files inside others; none if nothing identifies them"""

    # Properties
    axes: tuple[str, str] = ("z", "right")
    """the up axis of its files and their handedness"""
    dialects: tuple[str, ...] = ()
    """layouts that the writer can write; the first is the default"""
    companions: tuple[Companion, ...] = ()
    """companions: files of the same stem in the same folder"""
    companion_stems: tuple[tuple[str, str], ...] = ()
    """another stem that companions may have, by the beginning of the stem of a file, in lower case"""
    image_names: ImageNames | None = None
    """None if the format stores no image names"""
    smooth_without_groups: bool = True
    """whether a mesh without smoothing groups is smooth"""
    image_alpha_shows_material: bool = False
    """whether the colour of the material shows through transparent parts of an image; otherwise the surface is
    transparent there. Maps may say `TextureMap.alpha_source`
    """
    writes_scenes: bool = True
    """whether its bridge has a writer; False if files are only read, and written back as they are"""
    plays_between_frames: bool = True
    """whether the original program showed anything between two whole frames"""
    tables: tuple[str, ...] = ()
    """names of the tables of its bridge, besides the overview"""
    bookkeeping: tuple[str, ...] = ()
    """keys of its extras that only describe the numbering and layout of its files: conversions to other formats lose
    nothing without them
    """
    preload: tuple[str, ...] = ()
    """modules that batch workers import in advance, for formats that are common in archives"""
    diagnose: Callable[[bytes], str | None] | None = None
    """describes how a file was damaged in transfer, from all its bytes; None if no damage is recognised"""

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return the match of a file with these first `HEAD_SIZE` bytes and this size; None if it does not match."""
        raise NotImplementedError

    def signature_of(self, data: bytes) -> Signature | None:
        """Return the signature that a file begins with; None if it has none."""
        return next((signature for signature in self.signatures if signature.matches(data, 0)), None)

    def extension_of(self, data: bytes) -> str:
        """Return the extension for a file that begins with a signature."""
        found = self.signature_of(data)
        return (found.extensions if found is not None and found.extensions else self.extensions)[0]

    def puids(self) -> tuple[str, ...]:
        """Return the identifiers of its files in the PRONOM registry."""
        return tuple(dict.fromkeys(signature.pronom for signature in self.signatures if signature.pronom))

    def pronom_of(self, data: bytes) -> str | None:
        """Return the identifier of a file in the PRONOM registry; None if it has none."""
        found = self.signature_of(data)
        return None if found is None else found.pronom

    def longest_end(self, data: bytes, start: int) -> int:
        """Return the offset in ``data`` at which a file that begins at ``start`` ends at the latest; one beyond the end
        of ``data`` if nothing says so."""
        return len(data) + 1

    def describe_related_file(self, head: bytes, size: int) -> str | None:
        """Describe an unsupported file of the same program, as text for "this is …"; None if its type is unknown."""
        return None

    def codec(self) -> Codec:
        """Return the codec: ``CODEC`` in the module ``document`` of the format's package."""
        codec: Codec = import_module(f"{type(self).__module__}.document").CODEC
        return codec

    def bridge(self) -> Bridge[Any] | None:
        """Return the bridge: ``BRIDGE`` in the module ``bridge`` of the format's package; None without this module."""
        name = f"{type(self).__module__}.bridge"
        try:
            bridge: Bridge[Any] = import_module(name).BRIDGE
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            return None
        return bridge

    def check_dialect(self, dialect: str) -> None:
        """Raise ValueError for a dialect that cannot be written."""
        if dialect not in self.dialects:
            known = f"it has: {', '.join(self.dialects)}" if self.dialects else "it has none"
            raise ValueError(f"{self.name} has no dialect {dialect!r} ({known})")

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
        return {cls.__name__: cls for cls in self.codec().records}

    def to_scene(self, document: Document, options: Mapping[str, object]) -> Scene:
        """Return the scene of a document, read with these options; raises ValueError for an unknown option."""
        from keyframer.formats.guard import guarded
        from keyframer.limits import budgeted

        bridge = self.scene_bridge()
        chosen = make_options(self.name, bridge.options, options, bridge.internal_options)
        with budgeted(document.limits, document.size), guarded(self):
            return bridge.read(document, chosen)

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
        return _types(self.scene_bridge().options)

    def write_option_types(self) -> dict[str, str]:
        """Return the options for writing a scene, with the declared type of each as text."""
        return _types(self.scene_writer().options)

    def apply_rules(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        """Check a document with the rules of the format and report issues."""
        bridge = self.bridge()
        if bridge is not None:
            from keyframer.formats.guard import guarded

            with guarded(self):
                bridge.check(document, scene, reporter)

    def scene_bridge(self) -> Bridge[Any]:
        """Return the bridge; raises ValueError if the format has none."""
        with PluginErrorBoundary(self):
            bridge = self.bridge()
        if bridge is None:
            raise ValueError(f"{self.name} files can be read, but not as scenes")
        return bridge

    def scene_writer(self) -> SceneWriter[Any]:
        """Return the writer; raises ValueError if scenes cannot be written to the format."""
        with PluginErrorBoundary(self):
            bridge = self.bridge()
            writer = None if bridge is None else bridge.writer()
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
    from dataclasses import fields, is_dataclass

    return {field.name: str(field.type) for field in fields(options)} if is_dataclass(options) else {}


HEAD_SIZE = 4096
"""number of bytes at the start of a file that detection uses"""
