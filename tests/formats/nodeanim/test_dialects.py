"""Every framing in the notes is detected as exactly one dialect, read correctly, and written back unchanged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import keyframer
from keyframer.formats.nodeanim.dialect import DIALECTS, Dialect, with_tcb_by_key
from keyframer.formats.nodeanim.records import Animations, Header, Node, NodeKeys
from tests.building.nodeanim import TCB, Bone, Clip, Framing, Key, clips, framings, with_key_flags, write

CLIPS = clips()
FRAMINGS = list(framings())


def variants(name: str, how: Framing) -> list[tuple[Clip, Framing]]:
    """The clip with the flags of nodes that announce TCB, and with the flags of keys."""
    clip = CLIPS[name]
    return [(clip, how), (with_key_flags(clip), replace(how, tcb_by_key=True))]


def check_keys(keys: NodeKeys, truth: tuple[Key, ...], node_flags: int, how: Framing) -> None:
    assert len(keys) == len(truth)
    if not truth:
        return
    assert keys.flags.tolist() == [key.flags for key in truth]
    assert np.array_equal(keys.time, np.array([key.time for key in truth], "f4"))
    assert np.array_equal(keys.value, np.array([key.value for key in truth], "f4"))
    shaped = [bool((key.flags if how.tcb_by_key else node_flags) & TCB) for key in truth]
    for index, name in enumerate(("tension", "continuity", "bias", "ease_in", "ease_out")):
        wanted = [key.shape[index] if has else 0.0 for key, has in zip(truth, shaped, strict=True)]
        assert keys.column(name).tolist() == wanted


def check(document: keyframer.Document, clip: Clip, how: Framing) -> None:
    header, animations = document.records
    assert isinstance(header, Header)
    assert isinstance(animations, Animations)
    assert (header.flags, header.name, header.author) == (0, clip.name, clip.author)
    assert header.node_count == len(animations.children) == len(clip.bones)
    for node, bone in zip(animations.children, clip.bones, strict=True):
        assert isinstance(node, Node)
        assert (node.name, node.flags) == (bone.name, bone.flags)
        check_keys(node.translation_keys, bone.translations, bone.flags, how)
        check_keys(node.rotation_keys, bone.rotations, bone.flags, how)
        check_keys(node.scale_keys, bone.scales, bone.flags, how)


def test_the_number_of_framings() -> None:
    """Two byte orders, four kinds of text, five headers with two meanings of size, and four without size."""
    assert len(FRAMINGS) == 2 * 4 * (5 * 2 + 4) == len(DIALECTS)
    assert [str(how) for how in FRAMINGS] == [str(dialect) for dialect in DIALECTS]


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("text", ["nul", "u8", "u16", "u32"])
def test_every_framing_is_read_in_one_dialect(name: str, order: str, text: str) -> None:
    for framing in FRAMINGS:
        if (framing.order, framing.text) != (order, text):
            continue
        for clip, how in variants(name, framing):
            data = write(clip, how)
            document = keyframer.decode(data, format="nodeanim")
            assert str(document.dialect) == str(how)
            assert not document.issues
            check(document, clip, how)
            assert keyframer.encode(document) == data
            detection = keyframer.detect(data)
            assert (detection.format.name, detection.dialect) == ("nodeanim", str(framing))  # TCB is found by decoding


@pytest.mark.parametrize("how", FRAMINGS, ids=str)
def test_one_node_without_keys_determines_the_dialect(how: Framing) -> None:
    """A clip without titles, with one node without keys."""
    data = write(Clip((Bone(b"a", 4),), b"", b""), how)
    document = keyframer.decode(data, format="nodeanim")
    assert str(document.dialect) == str(how)
    assert not document.issues
    assert keyframer.encode(document) == data


@pytest.mark.parametrize(
    "clip",
    [Clip((), b"", b""), Clip((), b"walk", b""), Clip((Bone(b"", 4),), b"", b"")],
    ids=["bare", "named", "blank"],
)
def test_ambiguous_dialects_are_reported(clip: Clip) -> None:
    """Without text, NUL-terminated and u8-counted give the same bytes: the first dialect is used, the others are
    listed.
    """
    same: dict[bytes, list[Framing]] = {}
    for how in FRAMINGS:
        same.setdefault(write(clip, how), []).append(how)
    assert any(len(hows) > 1 for hows in same.values())
    for data, hows in same.items():
        document = keyframer.decode(data, format="nodeanim")
        assert str(document.dialect) == str(hows[0])
        reported = [issue for issue in document.issues if issue.code == "SEM_AMBIGUOUS_DIALECT"]
        assert len(reported) == (len(hows) > 1)
        if reported:
            assert reported[0].args["count"] == len(hows)
            assert str(hows[1]) in reported[0].message
        assert keyframer.encode(document) == data


def test_readable_names_decide_before_the_order_of_dialects() -> None:
    """NUL-terminated is first in the list, but would turn the lengths into control characters."""
    data = write(Clip((Bone(b"\x00", 4),), b"", b""), Framing(text="u8", header="none"))
    also = write(Clip((Bone(b"\x01", 4),), b"", b""), Framing(text="nul", header="none"))
    assert data == also
    document = keyframer.decode(data, format="nodeanim")
    assert str(document.dialect) == str(Framing(header="none"))  # no better: the NUL is no more printable
    better = write(Clip((Bone(b"A", 4),), b"", b""), Framing(text="u16", header="none"))
    assert str(keyframer.decode(better, format="nodeanim").dialect) == str(Framing(text="u16", header="none"))


def test_unknown_chunks_are_kept_in_place() -> None:
    from tests.building.nodeanim import bone_content, chunk, header_content

    clip = CLIPS["mixed"]
    for how in FRAMINGS:
        if "+" not in how.header:
            continue
        parts = [
            chunk(9, b"before", how),
            chunk(1, header_content(clip, how), how),
            chunk(200, b"", how),
            chunk(2, b"".join(bone_content(bone, how) for bone in clip.bones), how),
            chunk(9, b"behind" * 9, how),
        ]
        data = b"".join(parts)
        document = keyframer.decode(data, format="nodeanim")
        assert str(document.dialect) == str(how)
        assert [str(place) for place, record in document.walk() if not isinstance(record, Node)] == [
            *("/chunk_9", "/header", "/chunk_200", "/animations", "/chunk_9[1]"),
        ]
        assert {issue.code for issue in document.issues} == {"STRUCT_UNKNOWN_CHUNK"}
        assert keyframer.encode(document) == data
        detected = keyframer.detect(data).format
        assert detected.name == "nodeanim"


def test_the_text_form_of_every_dialect_is_unique() -> None:
    everything = [*DIALECTS, *map(with_tcb_by_key, DIALECTS)]
    texts = {str(dialect) for dialect in everything}
    assert len(texts) == len(everything) == 112 * 2
    assert all(Dialect.parse(str(dialect)) == dialect for dialect in everything)
    assert str(Dialect()) == "little text:nul chunk:u16+u32 size:all"
    assert Dialect.parse("big text:u32 chunk:none tcb:key") == Dialect(True, "u32", 0, 0, tcb_by_key=True)


@pytest.mark.parametrize(
    "text",
    [
        *("", "little", "little text:u64 chunk:u16", "little text:nul chunk:u16 size:all"),
        *("little text:nul chunk:u16 bezier:tangents", "little text:nul chunk:u16 scale:axis"),  # in no document
    ],
)
def test_invalid_dialect_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a dialect"):
        Dialect.parse(text)


def test_impossible_dialects_are_refused() -> None:
    with pytest.raises(ValueError, match="size without an id"):
        Dialect(id_size=0)
    with pytest.raises(ValueError, match="chunks have no sizes"):
        Dialect(length_size=0, length_counts_header=False)
