"""Node animation documents: structure, building, editing, and the text form of fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.document import new_document
from keyframer.formats.nodeanim.records import LINEAR, TCB, TCB_COLUMNS, Animations, Header, Node, NodeKeys, RawChunk
from keyframer.wire.cursor import Cursor
from keyframer.wire.record import dump_fields, restore_fields, take_record
from tests.building.nodeanim import Bone, Clip, Framing, Key, clips, framings, write
from tests.samples import unhex

DEFAULT = unhex("""
    01 00  11 00 00 00      # chunk 1, 17 bytes with the header
    00 00 00 00             # flags
    68 69 00                # name "hi"
    6d 00                   # author "m"
    01 00                   # one node
    02 00  42 00 00 00      # chunk 2, 66 bytes with the header
    68 69 70 00             # node "hip"
    01 00 00 00             # TCB
    01 00 00 00  00 00 00 00  00 00 00 00       # one translation key
    07 00 00 00  00 00 00 3f                    # key flags, time 0.5
    00 00 80 3f  00 00 00 40  00 00 40 40       # tension 1, continuity 2, bias 3,
    00 00 80 40  00 00 a0 40                    # ease in 4, ease out 5
    00 00 c0 40  00 00 e0 40  00 00 00 41       # 6, 7, 8
""")


def first_node(document: keyframer.Document) -> Node:
    node = document.first(Node)
    assert node is not None
    return node


def test_a_file_field_by_field() -> None:
    document = keyframer.decode(DEFAULT)
    assert document.format.name == "nodeanim"
    assert document.dialect == Dialect()
    assert not document.issues
    header, animations = document.records
    assert dump_fields(header) == {"flags": 0, "name": "hi", "author": "m", "node_count": 1}
    assert dump_fields(animations.children[0]) == {
        "name": "hip",
        "flags": 1,
        "translation_key_count": 1,
        "rotation_key_count": 0,
        "scale_key_count": 0,
        "translation_keys": [
            {
                "flags": 7,
                "time": 0.5,
                **{name: float(at) for at, name in enumerate(TCB_COLUMNS, 1)},
                "value": [6.0, 7.0, 8.0],
            }
        ],
        "rotation_keys": [],
        "scale_keys": [],
    }
    assert keyframer.encode(document) == DEFAULT


def test_paths() -> None:
    document = keyframer.decode(write(clips()["mixed"], Framing()))
    assert [str(place) for place, _ in document.walk()] == [
        "/header",
        "/animations",
        *(f"/animations/nodes[{index}]" for index in range(4)),
    ]


def test_building_a_document() -> None:
    """In any dialect it equals the same clip by the writer of the tests."""
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [0, 0, 9]], flags=[3, 0], tension=[0.5, 0], ease_out=1)
    turn = NodeKeys.make(0.25, [3.0, 0, 0, 1])
    truth = (Key(3, 0, (0, 0, 0), (0.5, 0, 0, 0, 1)), Key(0, 1, (0, 0, 9), (0, 0, 0, 0, 1)))
    clip = Clip(
        (
            Bone(b"hip", TCB, truth, (Key(0, 0.25, (3, 0, 0, 1), (0,) * 5),)),
            Bone(b"tail", LINEAR),
        ),
        b"jump",
        b"me",
    )
    for how in framings():
        nodes = Node(b"hip", TCB, translation_keys=keys, rotation_keys=turn), Node(b"tail")
        document = new_document(*nodes, name=b"jump", author=b"me", dialect=Dialect.parse(str(how)))
        assert keyframer.encode(document) == write(clip, how)


def test_changing_the_dialect_rewrites_the_file() -> None:
    """Any clip from any framing to any other equals the clip by the writer of the tests."""
    hows = list(framings())
    for name, clip in clips().items():
        for source, target in zip(hows, [*hows[37:], *hows[:37]], strict=True):
            document = keyframer.decode(write(clip, source), format="nodeanim")
            document.dialect = Dialect.parse(str(target))
            assert keyframer.encode(document) == write(clip, target), name


def test_nodes_can_be_added_and_removed() -> None:
    for how in (Framing(), Framing(">", "u16", "u32+u32", False), Framing(header="none")):
        clip = clips()["mixed"]
        document = keyframer.decode(write(clip, how), format="nodeanim")
        animations = document.first(Animations)
        del animations.children[2:]
        assert keyframer.encode(document) == write(replace(clip, bones=clip.bones[:2]), how)
        animations.children.append(Node(b"new"))
        assert keyframer.encode(document) == write(replace(clip, bones=(*clip.bones[:2], Bone(b"new", LINEAR))), how)


def test_keys_can_be_replaced() -> None:
    document = keyframer.decode(write(clips()["tcb"], Framing(">")))
    node = first_node(document)
    node.translation_keys = node.translation_keys.replace(time=node.translation_keys.time * 2, tension=0)
    decoded_node = first_node(keyframer.decode(keyframer.encode(document)))
    assert decoded_node.translation_keys.time.tolist() == [0, 0.5, 1, 1.5]
    assert not decoded_node.translation_keys.tension.any()
    assert decoded_node.translation_keys.bias.tolist() == [0.75] * 4
    node.translation_keys = NodeKeys.make([], np.empty((0, 3)))
    assert first_node(keyframer.decode(keyframer.encode(document))).translation_key_count == 0


def test_records_in_wrong_places_are_refused() -> None:
    tense = NodeKeys.make(0, [0, 0, 0], tension=1)
    with pytest.raises(ValueError, match=r"Node.translation_keys: tension: stored only if its flag is set"):
        keyframer.encode(new_document(Node(b"a", LINEAR, translation_keys=tense)))
    by_key = Dialect(tcb_by_key=True)
    with pytest.raises(ValueError, match="tension: stored only if its flag is set"):
        keyframer.encode(new_document(Node(b"a", TCB, translation_keys=tense), dialect=by_key))
    with pytest.raises(ValueError, match=r"value: expected an array of shape \(1, 4\)"):
        keyframer.encode(new_document(Node(b"a", rotation_keys=NodeKeys.make(0, [0, 0, 0]))))
    with pytest.raises(ValueError, match="no column 'colour'"):
        NodeKeys.make(0, [0, 0, 0], colour=1)
    with pytest.raises(ValueError, match="tension: expected an array of shape"):
        NodeKeys.make([0, 1], [[0, 0, 0]] * 2, tension=[1, 2, 3])


def test_the_size_of_missing_keys_counts_their_own_flags() -> None:
    node = unhex("""
        61 00  04 00 00 00                          # node "a", LINEAR
        02 00 00 00  00 00 00 00  00 00 00 00       # two translation keys
        01 00 00 00  00 00 00 00                    # a key with tension to easeOut: 40 bytes
        00 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00
        00 00 00 00  00 00 00 00  00 00 00 00
        00 00 00 00  00 00 80 3f  00 00 00 00  00 00 00 00  # a key without them: 16 of 20 bytes
    """)
    with pytest.raises(keyframer.FormatError, match=r"keys\[1\]: expected 20 bytes, 16 remaining"):
        take_record(Node, Cursor(node), Node.plan.adapted(Dialect(tcb_by_key=True)))


def test_values_too_large_for_a_header_are_refused() -> None:
    long = NodeKeys.make(np.arange(4000), np.zeros((4000, 3)))
    small = Dialect(id_size=2, length_size=2)
    with pytest.raises(ValueError, match="size 80021 does not fit 2 bytes"):
        keyframer.encode(new_document(Node(b"", translation_keys=long), dialect=small))
    document = new_document(dialect=Dialect(id_size=1))
    document.records.append(RawChunk(300, b"x"))
    with pytest.raises(ValueError, match=r"id 300 does not fit 1 byte \("):
        keyframer.encode(document)
    document.dialect = Dialect(id_size=2, length_size=0)
    with pytest.raises(ValueError, match="only in a dialect with chunk sizes"):
        keyframer.encode(document)
    with pytest.raises(ValueError, match="contains a NUL"):
        keyframer.encode(new_document(name=b"a\0b"))
    assert keyframer.encode(new_document(name=b"a\0b", dialect=Dialect(text="u8")))
    with pytest.raises(ValueError, match="300 bytes, but a file can store at most 255"):
        keyframer.encode(new_document(name=b"a" * 300, dialect=Dialect(text="u8")))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({}, "a list of keys"),
        ([1], "a list of keys"),
        ([{"flags": 0, "time": 0}], "key 0: missing 'value'"),
        ([{"flags": 0, "time": 0, "value": [0, 0, 0], "tension": 1}], "key 0: missing 'bias'"),
        ([{"flags": 0, "time": 0, "value": [0, 0, 0], "what": 1}], "key 0: 'what' is unknown"),
        ([{"flags": 0.5, "time": 0, "value": [0, 0, 0]}], "key 0: flags: expected a whole number"),
        ([{"flags": 0, "time": 0, "value": [0, 0]}], "value: entry 0: expected a list of 3"),
    ],
)
def test_errors_for_invalid_text_forms(rows: object, words: str) -> None:
    fields = dump_fields(Node(b"a"))
    fields["translation_keys"] = rows
    with pytest.raises(ValueError, match=words):
        restore_fields(Node(), fields)


def test_paths_of_records() -> None:
    document = new_document(Node(b"a"))
    document.records.append(Node(b"b"))
    with pytest.raises(ValueError, match="must be inside a chunk"):
        keyframer.encode(document)
    document = new_document(Node(b"a"))
    document.records[1].children.append(Header())
    with pytest.raises(ValueError, match="is not a node: chunks can contain only nodes"):
        keyframer.encode(document)
    document = new_document()
    document.dialect = "big"
    with pytest.raises(ValueError, match="'big' is not a dialect of this format"):
        keyframer.encode(document)


def test_missing_columns_are_zero_and_unknown_names_are_refused() -> None:
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [0, 0, 9]])
    assert keys.column("tension").tolist() == [0, 0]
    with pytest.raises(KeyError, match="colour"):
        keys.column("colour")


def test_a_document_without_a_dialect_uses_the_default_one() -> None:
    document = new_document(Node(b"a"), name=b"clip")
    plain = keyframer.Document(document.format, document.records)
    assert keyframer.encode(plain) == keyframer.encode(document)
    assert "nodeanim" not in scene_of(plain).extras
    assert scene_of(document).extras["nodeanim"] == {"dialect": str(Dialect())}


def test_extras_of_keys_without_ease() -> None:
    keys = NodeKeys.make([0, 1], [[0, 0, 0], [1, 1, 1]], tension=[0.5, 0], continuity=0, bias=[0, -1])
    assert keys.extras.tolist() == [[0.5, 0, 0, 0, 0], [0, 0, -1, 0, 0]]
