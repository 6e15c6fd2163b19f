"""The table of chunks is complete: every id of the specification and of our notes, listed here by hand."""

from __future__ import annotations

import pytest

from keyframer.formats.kit.chunk_tree import chunk
from keyframer.formats.threeds import FORMAT, records
from keyframer.formats.threeds.chunk import CHUNKS, Chunk, RawChunk, chunk_name, declare
from tests.building.threeds import chunk as framed
from tests.building.threeds import decoded, in_container, innermost

MAPS = "a200 a33a a210 a230 a33c a204 a33d a220 a33e a340 a342 a344 a346 a348 a34a a34c"
NODES = "b001 b002 b003 b004 b005 b006 b007"
PERCENTS = "a042 a050 a052 a053 a084"

# The document's tree ("Fast reference"), parent by parent. Left out: 2210's second place (listed), A252 and 4150 where
# the tree puts them in the wrong father.
DOCUMENT = {
    "4d4d": "0002 3d3d b000",
    "3d3d": "0100 1100 1101 1200 1201 1300 1301 1400 1420 1450 1460 1470 2100 2200 2201 2210 2300 2301 2302 2303 3d3e "
    "4000 7001 afff",
    "2200": "2210",
    "2300": "2310",
    "4000": "4010 4012 4013 4015 4017 4100 4600 4700",
    "4100": "4110 4120 4140 4160 4165 4181 4182",
    "4120": "4130 4150",
    "4600": "4610 4620 4625 4659 465a 465b",
    "4610": "4627 4630 4641 4650 4651 4652 4653 4656 4658",
    "7001": "7011 7012 7020",
    "afff": "a000 a010 a020 a030 a040 a041 a050 a052 a053 a081 a083 a084 a085 a087 a088 a08a a08c a08e a100 a240 a250 "
    + MAPS,
    **dict.fromkeys(MAPS.split(), "a300 a351 a353 a354 a356 a358 a35a a35c a360 a362 a364 a366 a368"),
    "b000": "b001 b002 b003 b004 b005 b006 b007 b008",
    **dict.fromkeys(
        NODES.split(),
        "b010 b013 b015 b020 b021 b022 b023 b024 b025 b026 b027 b028 b029 b030",
    ),
    # "global chunks": colours and percentages, in the fathers that the descriptions name
    "1200": "0010 0013",
    "1300": "0010 0013",
    "2100": "0010",
    "a010": "0011 0012",
    "a020": "0011 0012",
    "a030": "0011 0012",
    "a040": "0030",
    "a041": "0030",
}

# What the notes add: ids the document does not have, with their homes.
NOTES = {
    "4d4d": "0000 0005 ffff",
    "c23d": "0002 2d2d 2d3d 3d3d b000 c420 c700 c705 c710 c715 c755 ca42 ca44 ca46 cd60 d000",
    "3daa": "afff",
    "3d3d": "1410 1430 1440 1500 3000 7000 8000",
    "1200": "0011 0012",
    "2200": "0010",
    "2302": "0010",
    "3000": "3010 3020 3030 3040 3050 3060 3070 3080 3090",
    "7000": "7011 7012 7020",
    "7001": "7010 7030",
    "4000": "4011 4014 4016 4190 4400 4500 4680 4f00 8000",
    "2d2d": "0100 5000 5010 5011 5020 7001",
    "2d3d": "0100 6000 6010 6020 6030 6040 6050 6060 6090 6100 6110 6120 6130 6140 6150 6160 7001",
    "6000": "6005",
    **dict.fromkeys(["6020", "6030", "6040", "6050", "6060"], "6070 6080 60a0"),
    **dict.fromkeys(["6070", "6080"], "6090"),
    "4f00": "4f10 4f20 4f30 4f40 4f50",
    "4100": "4111 4130 4150 4170 4190",
    "4120": "4190",
    "4600": "0010 0011 4654",
    "4610": "4640 4655 4657",
    "4700": "4710 4720",
    "afff": "a042 a080 a082 a086 8000",
    "a230": "a252",
    **{key: "0030 0031 a310" for key in MAPS.split() if key != "a230"},
    **dict.fromkeys(PERCENTS.split(), "0030 0031"),
    "a200": "a320 a321 a322 a324 a325 a326 a328 a32a a32c a32e a330 a332 a334 a336 a338",
    "b000": "b00a b009",
    "b002": "b011 b012 b014 80f0 8000",
    "b010": "80f0",
    "8000": "8001 8002 8003 8004 8005 8006 8007 8008 8009 800a 800b 800c 800d 800e 800f",
}

OPAQUE = """
    0000 ffff 3090 7010 7030 4680 4f20 4f30 4f40 4f50 b012 d000
    8000 8001 8002 8003 8004 8005 8006 8007 8008 8009 800a 800b 800c 800d 800e 800f
    a320 a321 a322 a324 a325 a326 a328 a32a a32c a32e a330 a332 a334 a336 a338
"""
"""ids without a public layout, besides the settings of projects"""

HOMES = {
    int(parents, 16): {int(number, 16) for table in (DOCUMENT, NOTES) for number in table.get(parents, "").split()}
    for parents in {**DOCUMENT, **NOTES}
}


@pytest.mark.parametrize("parents", HOMES, ids=[f"{parents:04x}" for parents in HOMES])
def test_listed_chunks_are_declared_in_their_parent(parents: int) -> None:
    for number in HOMES[parents]:
        assert number in CHUNKS, f"{number:04x}"
        assert CHUNKS[parents].valid_children.get(number) is CHUNKS[number], f"{number:04x}"


def test_top_level_chunks() -> None:
    assert set(records.TOP_IDS) == {0x4D4D, 0xC23D, 0x3DAA, 0x3D3D, 0x2D2D, 0x2D3D}


def test_opaque_chunks_are_listed() -> None:
    declared = {f"{number:04x}" for number, cls in CHUNKS.items() if cls.opaque and not 0xC000 <= number < 0xCF00}
    assert declared == set(OPAQUE.split())


def test_every_declared_chunk_is_listed() -> None:
    listed = set().union(*HOMES.values(), records.TOP_IDS)
    gammas = set(range(0xCD70, 0xCD85))  # "CD60.. gamma"
    extra = {f"{number:04x}" for number in set(CHUNKS) - listed - gammas if not 0xC000 <= number < 0xCF00}
    assert extra == set()


@pytest.mark.parametrize("number", [0xC000, 0xC420, 0xC7FF, 0xCD60, 0xCEFF, 0xD000])
def test_project_settings_are_kept_without_an_issue(number: int) -> None:
    document = decoded(framed(0xC23D, framed(number, b"\x01\x02\x03")))
    assert not list(document.issues)
    (setting,) = document.records[0].children
    assert isinstance(setting, Chunk)
    assert (setting.id, setting.data) == (number, b"\x01\x02\x03")  # type: ignore[attr-defined]
    assert setting.opaque


@pytest.mark.parametrize("parents", [0x4D4D, 0x3D3D, 0x4000, 0x4610, 0xA200, 0xB002, 0xB000])
@pytest.mark.parametrize("number", [0x0000, 0xFFFF])
def test_placeholders_are_allowed_in_every_container(parents: int, number: int) -> None:
    document = decoded(in_container(parents, framed(number, b"?"), framed(number)))
    assert not list(document.issues)
    assert [type(record) for record in innermost(document, parents)] == [CHUNKS[number]] * 2


def test_ids_and_names_are_unique() -> None:
    names = [cls.__name__ for cls in dict.fromkeys(CHUNKS.values())]
    assert len(names) == len(set(names))
    assert all(getattr(records, name, None) is cls for name, cls in _typed().items())
    assert chunk_name(0x4110) == "4110 PointArray"
    assert chunk_name(0x7777) == "7777"


def _typed() -> dict[str, type[Chunk]]:
    return {cls.__name__: cls for cls in CHUNKS.values() if not cls.opaque}


def test_an_id_cannot_be_declared_twice() -> None:
    with pytest.raises(ValueError, match="4110 is declared twice"):
        chunk(0x4110, parents=())(type("Other", (Chunk,), {}))
    with pytest.raises(ValueError, match="declared twice"):
        declare(0x4680, "Other", Chunk, (), "words")
    assert CHUNKS[0x4110] is records.PointArray


def test_record_types_are_found_by_name() -> None:
    types = FORMAT.record_types()
    assert types["PointArray"] is records.PointArray
    assert types["RawChunk"] is RawChunk
    assert types["ProjectSetting"].opaque
    assert repr(records.ProjectSetting(chunk_id=0xC123, data=b"folder")) == "ProjectSetting(c123, 6 bytes)"
    assert set(types.values()) == {*CHUNKS.values(), RawChunk}
