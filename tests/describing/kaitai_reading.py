"""Files as read by the readers that Kaitai Struct's compiler makes from our descriptions, and the same from documents.

Both are lists of records in file order: the name of the class, and plain values of all fields.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from enum import Enum
from functools import cache
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
import yaml
from kaitaistruct import KaitaiStream

from keyframer.formats.document import Document
from keyframer.formats.kit.key_table import Keys, KeyTable
from keyframer.wire.encoding_style import Style
from keyframer.wire.record import Record
from keyframer.wire.record_plan import Plan
from keyframer.wire.rows import Rows
from keyframer.wire.structure import Cases, Next, Structure, Until

COMPILER = Path(__file__).parents[1] / "oracles/kaitai/compile.mjs"
needs_compiler = pytest.mark.skipif(
    which("node") is None or not (COMPILER.parents[1] / "node_modules/kaitai-struct-compiler").is_dir(),
    reason="kaitai-struct-compiler is not installed (tools/install_node_tools.sh)",
)

Values = list[tuple[str, dict[str, Any]]]


def compiled(descriptions: list[str]) -> dict[str, Any]:
    """Compile descriptions (YAML) and return the class of each by its id."""
    parsed = [yaml.safe_load(text) for text in descriptions]
    run = subprocess.run(
        ["node", str(COMPILER)], input=json.dumps(parsed), capture_output=True, text=True, check=True, timeout=300
    )
    classes = {}
    for file, source in json.loads(run.stdout).items():
        names: dict[str, Any] = {}
        exec(compile(source, file, "exec"), names)
        name = file.removesuffix(".py")
        classes[name] = names["".join(word.capitalize() for word in name.split("_"))]
    return classes


def values_read(structure: Structure, reader: Any, data: bytes) -> Values:
    """Return the records that a compiled reader finds in a file."""
    return list(_records(structure, reader(KaitaiStream(BytesIO(data)))))


def _records(structure: Structure, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    fields: set[str] = set()
    if structure.record is not None:
        fields = {plan.name for plan in structure.record.plan.fields}
        stored = {part.name: getattr(value, part.name, None) for part in structure.parts}
        plain = {name: _plain(inner) for name, inner in stored.items() if name in fields | {"tail"}}
        yield structure.record.__name__, {name: inner for name, inner in plain.items() if inner is not None}
    for part in structure.parts:
        if part.name in fields or isinstance(part.type, str):
            continue
        inner = getattr(value, part.name, None)
        for entry in inner if isinstance(inner, list) else [] if inner is None else [inner]:
            if isinstance(part.count, Until) or (isinstance(part.type, Cases) and isinstance(part.type.selector, Next)):
                entry = getattr(entry, "body", None)
            if entry is not None and not isinstance(entry, bytes):
                yield from _records(_structure_of(part.type, type(entry).__name__), entry)


def _structure_of(kind: Structure | Cases, class_name: str) -> Structure:
    if isinstance(kind, Structure):
        return kind
    cases = [*kind.cases.values(), *([kind.other] if kind.other else [])]
    return next(case for case in cases if case.name.replace("_", "") == class_name.lower())


def _plain(value: Any) -> Any:
    """Return numbers, bytes, lists and dicts of these."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, int | bytes):
        return value
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value
    if isinstance(value, str):
        return value.encode("latin-1")
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    parts = {name: _plain(inner) for name, inner in vars(value).items() if not name.startswith("_")}
    if "index" in parts:
        return parts["value"]  # an entry with the sum of all entries up to it
    return parts["values"] if list(parts) == ["values"] else parts


def values_of(document: Document, structure: Structure) -> Values:
    """Return the records of a document that the structure describes."""
    described = _described(structure)
    style = document.dialect if isinstance(document.dialect, Style) else Style()
    records = (record for record in document.find(Record) if type(record) in described)
    return [_stored(record, record.plan.adapted(style), described[type(record)]) for record in records]


@cache
def _described(structure: Structure) -> dict[type[Record], Structure]:
    return {inner.record: inner for inner in structure.walk() if inner.record is not None}


def _stored(record: Record, plans: Plan, structure: Structure) -> tuple[str, dict[str, Any]]:
    values = {}
    for plan in plans.fields:
        if plan.when is None or plan.when(record):
            value = getattr(record, plan.name)
            if isinstance(plan.kind, Rows) and not plan.kind.columns[0].name:
                value = value.reshape(-1)
            values[plan.name] = _rows(plan.kind, value, record) if isinstance(value, Keys) else _array(value)
    if any(part.name == "tail" for part in structure.parts):
        values["tail"] = record.tail
    return type(record).__name__, values


def _array(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [{name: _array(row[name]) for name in value.dtype.names} for row in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return _plain(value)


def _rows(kind: Any, keys: Keys, record: Record) -> list[dict[str, Any]]:
    """Return what each row of a table of keys stores, from its flags."""
    assert isinstance(kind, KeyTable)
    rows = []
    layout = kind.layout_in(record)
    for number, bits in enumerate(layout.bits(keys).tolist()):
        row = {name: _array(keys.rows[name][number]) for name in layout.dtypes[bits].names or ()}
        rows.append({**row, "value": keys.text[number]} if keys.text else row)
    return rows
