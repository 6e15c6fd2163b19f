"""The generated pages of the documentation: one for each format, made from its records, and the published schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.resources import files
from typing import Any

from keyframer.formats import Format
from keyframer.formats.kit.declared_fields import FEATURES
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, every
from keyframer.inspecting.format_support import supported_features
from keyframer.inspecting.tables import markdown
from keyframer.wire.record import describe_fields

HOW = "python tools/generate_docs.py"
"""the command that generates the pages"""

_NOTE = f"<!-- Generated from the code: edit the records or the notes, then run `{HOW}`. -->"


def format_page(known: Format, notes: str = "") -> str:
    """Return the page of a format as Markdown: a description, notes, and a table for each record type."""
    about = import_module(type(known).__module__).__doc__
    lines = [_NOTE, "", f"# {known.title} (`{known.name}`)", "", *_words(about), ""]
    lines += markdown(
        ("extensions", "PRONOM", "keyframer can"),
        [
            [
                " ".join(f"`{extension}`" for extension in known.extensions),
                known.pronom or "",
                ", ".join(supported_features(known)),
            ]
        ],
    )
    lines += ["", notes.strip(), ""] if notes.strip() else [""]
    types = list(known.record_types().values())
    lines += ["## Records", "", f"{len(types)} record types are declared.", "", *_index(known, types), ""]
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
    """Return a table of all record types, with additional columns from the summary of the format."""
    described = [_described(known, cls) for cls in types]
    columns = list(dict.fromkeys(key for extra in described for key in extra))
    rows = [
        [*(_cell(extra.get(key, "")) for key in columns), f"`{cls.__name__}`", _cell(" ".join(_words(cls.__doc__)))]
        for cls, extra in zip(types, described, strict=True)
    ]
    yield from markdown((*columns, "record", "what"), rows)


def _fields(known: Format, cls: type[Any]) -> list[str]:
    """Return the section of a record type; empty if it has no fields."""
    fields = describe_fields(cls)
    if not fields:
        return []
    number = _described(known, cls).get("id", "")
    rows = [[f"`{field.name}`", _cell(field.type), _cell(field.words)] for field in fields]
    table = markdown(("field", "type", "what"), rows)
    return [f"### {number} {cls.__name__}".replace("  ", " "), "", *table, ""]


def _described(known: Format, cls: type[Any]) -> dict[str, str]:
    """Return what the summary of the format adds about a record type."""
    summary = known.summary()
    return {} if summary is None else dict(summary.describe(cls))


def _words(text: str | None) -> list[str]:
    """Return a docstring as lines of Markdown, with single backquotes."""
    return [line.strip().replace("``", "`") for line in (text or "").strip().splitlines()]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def schemas() -> dict[str, str]:
    """Return the JSON schemas of all JSON output: file name -> text."""
    folder = files("keyframer.inspecting").joinpath("schemas")
    return {entry.name: entry.read_text("utf-8") for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)}
