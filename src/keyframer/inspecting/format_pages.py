"""The generated pages of the documentation: one for each format, made from its records, and the published schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.resources import files
from typing import Any

from keyframer.formats import Format
from keyframer.formats.kit.declared_fields import FEATURES
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, every
from keyframer.inspecting.format_support import abilities
from keyframer.inspecting.tables import markdown
from keyframer.wire.record import describe_fields

HOW = "python tools/generate_docs.py"
"""the command that makes the pages"""

_NOTE = f"<!-- Generated from the code: edit the records or the notes, then run `{HOW}`. -->"


def format_page(known: Format, notes: str = "") -> str:
    """The page of a format in Markdown: what it is, the notes of its author, and a table for each record."""
    about = import_module(type(known).__module__).__doc__
    lines = [_NOTE, "", f"# {known.title} (`{known.name}`)", "", *_words(about), ""]
    lines += markdown(
        ("extensions", "PRONOM", "keyframer can"),
        [[" ".join(f"`{each}`" for each in known.extensions), known.pronom or "", ", ".join(abilities(known))]],
    )
    lines += ["", notes.strip(), ""] if notes.strip() else [""]
    types = list(known.record_types().values())
    lines += ["## Records", "", f"{len(types)} kinds of records are declared.", "", *_index(known, types), ""]
    lines += [
        "## Fields",
        "",
        "In the order of the file; numbers are little endian unless the layout says otherwise.",
        "",
    ]
    for cls in types:
        lines += _fields(known, cls)
    return "\n".join(lines).rstrip() + "\n"


_BEGIN = f"<!-- Generated from the declarations of the formats by `{HOW}`. -->"
_END = "<!-- End of the generated part. -->"


def with_holdings(page: str, formats: Iterable[Format]) -> str:
    """A page whose generated part says what files of each format hold: kinds of things, then single fields."""
    writers = {known.name: known.writer() for known in formats}
    held = {name: writer.holdings.held for name, writer in writers.items() if writer is not None}
    rows = [[words, *("yes" if word in each else "" for each in held.values())] for word, words in FEATURES.items()]
    for part in REPORTED_PARTS:
        for word in every(part):
            rows.append([f"`{word}`", *("yes" if word in each else "" for each in held.values())])
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return "\n".join([page[:begin], "", *markdown(("", *held), rows), "", page[end:]])


def _index(known: Format, types: list[type[Any]]) -> Iterator[str]:
    """All records in one table; the columns between name and words are what the format says about each."""
    described = [_described(known, cls) for cls in types]
    columns = list(dict.fromkeys(key for extra in described for key in extra))
    rows = [
        [*(_cell(extra.get(key, "")) for key in columns), f"`{cls.__name__}`", _cell(" ".join(_words(cls.__doc__)))]
        for cls, extra in zip(types, described, strict=True)
    ]
    yield from markdown((*columns, "record", "what"), rows)


def _fields(known: Format, cls: type[Any]) -> list[str]:
    """The section of a record that has fields."""
    fields = describe_fields(cls)
    if not fields:
        return []
    number = _described(known, cls).get("id", "")
    rows = [[f"`{field.name}`", _cell(field.type), _cell(field.words)] for field in fields]
    table = markdown(("field", "type", "what"), rows)
    return [f"### {number} {cls.__name__}".replace("  ", " "), "", *table, ""]


def _described(known: Format, cls: type[Any]) -> dict[str, str]:
    """What the format's own summary says about a record."""
    summary = known.summary()
    return {} if summary is None else dict(summary.describe(cls))


def _words(text: str | None) -> list[str]:
    """A docstring as lines of Markdown (its double backquotes become single ones)."""
    return [line.strip().replace("``", "`") for line in (text or "").strip().splitlines()]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def schemas() -> dict[str, str]:
    """The JSON schemas of everything that commands print as JSON: file name -> text."""
    folder = files("keyframer.inspecting").joinpath("schemas")
    return {entry.name: entry.read_text("utf-8") for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)}
