"""Kaitai Struct descriptions: its compiler accepts them, and its readers find the same values as ours.

The compiled readers share no code with ours, so this is a second reading of the same declarations.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from io import BytesIO

import pytest
import yaml
from kaitaistruct import KaitaiStream, ValidationNotEqualError

from keyframer.describing import DESCRIPTIONS, described_layouts
from keyframer.describing.kaitai import kaitai
from keyframer.formats.document import Document, decode
from keyframer.wire.record import Raw, Record
from keyframer.wire.structure import Structure
from tests.corpus import CORPUS, needs_corpus, threeds_files
from tests.describing.kaitai_reading import Values, compiled, needs_compiler, values_of, values_read
from tests.samples import all_samples

TEXTS = (".ase", ".md5mesh", ".md5anim", ".md5camera", ".vue", ".skel", ".mod")
SAMPLES = [path for _, path in all_samples() if path.suffix not in TEXTS]
CORPUS_FILES, LARGEST = 150, 1 << 15

# Sampled controllers look like any other controller (see `uto3d.section_reader`); Keyframer finds them by trial.
NOT_DESCRIBED = ("sampled.u3d",)


class Readers:
    """Compiled readers for the formats and dialects of some documents."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.structures: dict[str, Structure] = {}
        for document in documents:
            make = document.format.codec().structure
            if make is not None and _key(document) not in self.structures:
                self.structures[_key(document)] = make(document.dialect)
        self.names = {key: f"layout{number}" for number, key in enumerate(self.structures)}
        texts = [kaitai(structure, self.names[key]) for key, structure in self.structures.items()]
        self.classes = compiled(texts)

    def values(self, document: Document, data: bytes) -> tuple[Values, Values]:
        """Return what the compiled reader finds in the data, and what the document has."""
        structure = self.structures[_key(document)]
        return values_read(structure, self.classes[self.names[_key(document)]], data), values_of(document, structure)


def _key(document: Document) -> str:
    return f"{document.format.name} {document.dialect}"


def _is_intact(document: Document) -> bool:
    """Whether no known record was kept as bytes: Kaitai Struct stops at the first failure."""
    reasons = {record.reason for record in document.find(Record) if isinstance(record, Raw)}
    return reasons <= {"", "STRUCT_UNKNOWN_CHUNK"}


@needs_compiler
def test_samples_are_read_as_by_our_reader() -> None:
    files = {path.name: path.read_bytes() for path in SAMPLES if path.name not in NOT_DESCRIBED}
    documents = {name: decode(data) for name, data in files.items()}
    readers = Readers(documents.values())
    compared = set()
    for name, document in documents.items():
        if _is_intact(document):
            found, expected = readers.values(document, files[name])
            assert found == expected, name
            compared.add(name)
    assert set(files) - compared == {"cut.3ds", "oddities.3ds", "signalling_nans.3ds", "cut.anim", "odd.b3d"}

    # The comparison is able to fail: the reader gets another value than the document has.
    data = files["windmill.3ds"]
    at = data.index(b"\x10\x41") + 10  # in the points of a mesh
    found, expected = readers.values(documents["windmill.3ds"], data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert [name for (name, one), (_, two) in zip(found, expected, strict=True) if one != two] == ["PointArray"]


@needs_compiler
@needs_corpus
def test_corpus_files_are_read_as_by_our_reader() -> None:
    small = [path.read_bytes() for path in threeds_files() if path.stat().st_size <= LARGEST]
    intact = [(data, document) for data in small if _is_intact(document := decode(data))]
    chosen = [intact[number * len(intact) // CORPUS_FILES] for number in range(CORPUS_FILES)]
    assert len({id(document) for _, document in chosen}) == CORPUS_FILES
    chosen += [(data := path.read_bytes(), decode(data)) for path in sorted((CORPUS / "hale3d").glob("bob_lamp*.*"))]
    readers = Readers(document for _, document in chosen)
    fields = 0
    for data, document in chosen:
        found, expected = readers.values(document, data)
        assert found == expected
        fields += sum(len(values) for _, values in expected)
    assert fields > 20_000, fields


@needs_compiler
def test_the_reader_of_hale3d_refuses_animations_of_horde3d() -> None:
    """They begin with the same four bytes; the version differs."""
    reader = compiled([DESCRIPTIONS["kaitai"]()["hale3d.ksy"]])["hale3d"]
    data = struct.pack("<4s5I", b"H3DA", 1, 0, 24, 0, 0)
    assert reader(KaitaiStream(BytesIO(data))).content.body.header.version == 1
    with pytest.raises(ValidationNotEqualError):
        reader(KaitaiStream(BytesIO(data.replace(b"H3DA\1", b"H3DA\2"))))


def test_every_binary_format_is_described() -> None:
    names = {known.name for known, _, _ in described_layouts()}
    assert names == {"3ds", "uto3d", "hale3d", "midtown", "nodeanim", "b3d", "horde3d"}


def test_descriptions_have_the_names_of_their_files_and_no_shared_extension() -> None:
    for file, text in DESCRIPTIONS["kaitai"]().items():
        meta = yaml.safe_load(text)["meta"]
        assert f"{meta['id']}.ksy" == file
        assert "anim" not in meta.get("file-extension", [])
