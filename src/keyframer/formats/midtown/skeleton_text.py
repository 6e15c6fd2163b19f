"""Edit the text of a skeleton: unchanged bones keep their words, white space and order.

Names and offsets are replaced word by word. Removed bones are cut out with their children; new bones are added at the
end of their parent's block, or of the text. If the parents or the order of bones changed, the whole text is written
again; of the old text only the words in `Bone.words` are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keyframer.formats.midtown.skeleton import TOKEN, Bone, Skeleton, write_skeleton

Change = tuple[int, int, bytes]
"""begin and end of a part of the text, and its replacement"""


@dataclass(slots=True)
class _Block:
    """Offsets of a bone in a text."""

    begin: int
    name: tuple[int, int]
    numbers: tuple[tuple[int, int], ...] = ()
    """begin and end of the three numbers of the bone's ``offset``"""
    brace: int = 0
    """offset of its closing brace"""


def with_bones(old: Skeleton, bones: tuple[Bone, ...], origins: Sequence[int | None]) -> Skeleton:
    """Return a skeleton with these bones; ``origins`` has the number of each in the old one, None for new bones."""
    declared_count = old.declared_count if old.declared_count is None or len(bones) == len(old.bones) else len(bones)
    if old.text is None or not _keeps_structure(old, bones, origins):
        declared_count = None if old.declared_count is None else len(bones)
        return Skeleton(bones, declared_count, write_skeleton(Skeleton(bones, declared_count)))
    text = old.text
    blocks = _blocks(text)
    changes: list[Change] = []
    if declared_count != old.declared_count:
        count = list(TOKEN.finditer(text))[1]
        changes.append((count.start(), count.end(), str(declared_count).encode()))
    for bone, origin in zip(bones, origins, strict=True):
        if origin is not None:
            changes += _changed_words(blocks[origin], old.bones[origin], bone)
    remaining = set(origins)
    for number, block in enumerate(blocks):
        parent = old.bones[number].parent
        if number not in remaining and (parent < 0 or parent in remaining):
            begin = block.begin
            while text[begin - 1 : begin].isspace() and begin:
                begin -= 1
            changes.append((begin, block.brace + 1, b""))
    changes += _additions(text, blocks, bones, origins)
    return Skeleton(bones, declared_count, _with_changes(text, changes))


def _with_changes(text: bytes, changes: list[Change]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for begin, end, new in sorted(changes, key=lambda change: change[0]):
        parts += [text[at:begin], new]
        at = end
    return b"".join([*parts, text[at:]])


def _keeps_structure(old: Skeleton, bones: tuple[Bone, ...], origins: Sequence[int | None]) -> bool:
    """Return whether all remaining bones keep their parents and their order, and precede new siblings."""
    remaining = [origin for origin in origins if origin is not None]
    if remaining != sorted(remaining):
        return False
    parents_of_new: set[int] = set()
    for bone, origin in zip(bones, origins, strict=True):
        parent_origin = None if bone.parent < 0 else origins[bone.parent]
        if origin is None:
            parents_of_new.add(bone.parent)
            continue
        old_parent = old.bones[origin].parent
        if (
            bone.parent in parents_of_new
            or (old_parent < 0) != (bone.parent < 0)
            or (old_parent >= 0 and parent_origin != old_parent)
        ):
            return False
    return True


def _blocks(text: bytes) -> list[_Block]:
    """Return the offsets of the bones of a valid text, in its order."""
    words = list(TOKEN.finditer(text))
    blocks: list[_Block] = []
    opened: list[_Block] = []
    index = 0
    while index < len(words):
        word = words[index].group().lower()
        if word == b"bone":
            opened.append(_Block(words[index].start(), words[index + 1].span()))
            blocks.append(opened[-1])
            index += 2
        elif word == b"offset" and opened:
            opened[-1].numbers = tuple(word.span() for word in words[index + 1 : index + 4])
            index += 3
        elif word == b"}":
            opened.pop().brace = words[index].start()
        index += 1
    return blocks


def _changed_words(block: _Block, old_bone: Bone, new_bone: Bone) -> Iterator[Change]:
    if new_bone.name != old_bone.name:
        yield (*block.name, new_bone.name)
    for (begin, end), value, old_value in zip(block.numbers, new_bone.offset, old_bone.offset, strict=True):
        if value != old_value:
            yield begin, end, repr(value).encode()


def _additions(
    text: bytes, blocks: list[_Block], bones: tuple[Bone, ...], origins: Sequence[int | None]
) -> Iterator[Change]:
    """Yield one change for each run of new bones with the same parent: their text, with their descendants."""
    at = 0
    while at < len(bones):
        if origins[at] is not None:
            at += 1
            continue
        first, parent = at, bones[at].parent
        while at < len(bones) and origins[at] is None and (bones[at].parent == parent or bones[at].parent >= first):
            at += 1
        depth = 0
        ancestor = parent
        while ancestor >= 0:
            depth, ancestor = depth + 1, bones[ancestor].parent
        new_bones = tuple(
            Bone(bone.name, bone.parent - first if bone.parent >= first else -1, bone.offset, bone.words)
            for bone in bones[first:at]
        )
        lines = write_skeleton(Skeleton(new_bones)).splitlines(keepends=True)
        block = b"".join(b"\t" * depth + line for line in lines)
        origin = origins[parent] if parent >= 0 else None
        if origin is None:
            yield len(text), len(text), (b"" if text.endswith(b"\n") else b"\n") + block
            continue
        brace = blocks[origin].brace
        begin = brace
        while text[begin - 1 : begin] in (b" ", b"\t"):
            begin -= 1
        begins_line = text[begin - 1 : begin] == b"\n"
        yield (begin, begin, block) if begins_line else (brace, brace, b"\n" + block + b"\t" * (depth - 1))
