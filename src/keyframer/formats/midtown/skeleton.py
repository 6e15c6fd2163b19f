"""The companion skeleton (``.skel``): text with the names and offsets of the bones of a clip.

    NumBones 2
    bone root {
        offset 0.0 1.1 0.0
        bone spine { offset 0.0 0.05 0.02 }
    }

Bones are in pre-order, which is also the order of a clip's angles. Keywords may be in upper or lower case; other words
are kept with their bone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from keyframer.catalogue import IO_EMPTY, LIMIT_NAME, LIMIT_RECORDS, STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.files import check_size
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import show_name

TOKEN = re.compile(rb"[{}]|[^\s{}\0]+|\0")
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COUNT = re.compile(rb"\d{1,10}")
_SHOWN = 40
"""number of bytes shown of an unexpected word"""


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone: its name as stored, the index of its parent (-1 for a root), and its offset from the parent in metres."""

    name: bytes
    parent: int
    offset: tuple[float, float, float]
    words: tuple[bytes, ...] = ()
    """all other words in its block"""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Bones in pre-order, and the number of bones that the text declares, or None."""

    bones: tuple[Bone, ...]
    declared_count: int | None = None
    text: bytes | None = field(default=None, repr=False, compare=False)
    """the source text"""


@dataclass(slots=True)
class _OpenBone:
    """A bone whose block is being read."""

    index: int
    name: bytes
    parent: int
    at: int
    offset: tuple[float, float, float] | None = None
    words: list[bytes] = field(default_factory=list)


class _Words:
    """The words of a text with their byte offsets; `next` returns (b"", end) after the last."""

    def __init__(self, data: bytes) -> None:
        self.end = len(data)
        self.matches: Iterator[re.Match[bytes]] = TOKEN.finditer(data)

    def next(self) -> tuple[bytes, int]:
        match = next(self.matches, None)
        return (b"", self.end) if match is None else (match.group(), match.start())


def read_skeleton(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Skeleton:
    """Read a skeleton from text. Raises `FormatError` with byte offset and path if the text is invalid."""
    check_size(len(data), limits)
    if not data:
        raise IO_EMPTY.failure(0, "/")
    words = _Words(data)
    bones: list[Bone | None] = []
    opened: list[_OpenBone] = []
    declared_count: int | None = None
    while True:
        word, at = words.next()
        keyword = word.lower() if len(word) <= 8 else word
        if keyword == b"bone":
            opened.append(_open_bone(words, at, len(bones), opened[-1].index if opened else -1, limits))
            bones.append(None)
        elif not opened:
            if not word and bones:
                break
            if keyword != b"numbones" or declared_count is not None or bones:
                raise _syntax_error(at, "/", "a bone", word)
            declared_count = _read_count(words)
        elif keyword == b"offset":
            _read_offset(words, at, opened[-1])
        elif word == b"}":
            bone = opened.pop()
            bones[bone.index] = _closed(bone)
        elif word in (b"", b"{", b"\0"):
            raise _syntax_error(at, _path(opened[-1].index), "} at the end of the bone", word)
        else:
            opened[-1].words.append(word)
    return Skeleton(tuple(bone for bone in bones if bone is not None), declared_count, bytes(data))


def write_skeleton(skeleton: Skeleton) -> bytes:
    """Return the text of a skeleton; raises ValueError if its bones are not in pre-order."""
    lines = [] if skeleton.declared_count is None else [f"NumBones {skeleton.declared_count}".encode()]
    opened: list[int] = []
    for index, bone in enumerate(skeleton.bones):
        while opened and opened[-1] != bone.parent:
            opened.pop()
            lines.append(b"\t" * len(opened) + b"}")
        if bone.parent >= 0 and not opened:
            raise ValueError(
                f"bone {index} ({show_name(bone.name)}) does not follow its parent: bones must be in pre-order"
            )
        indent = b"\t" * len(opened)
        lines.append(indent + b"bone " + bone.name + b" {")
        lines.append(indent + b"\toffset " + " ".join(map(repr, bone.offset)).encode())
        lines += [indent + b"\t" + b" ".join(bone.words)] if bone.words else []
        opened.append(index)
    while opened:
        opened.pop()
        lines.append(b"\t" * len(opened) + b"}")
    return b"\n".join(lines) + b"\n"


def _open_bone(words: _Words, at: int, index: int, parent: int, limits: Limits) -> _OpenBone:
    path = _path(index)
    if index + 1 > limits.records:
        raise LIMIT_RECORDS.failure(at, path, limit=limits.records)
    name, name_at = words.next()
    if name in (b"", b"{", b"}", b"\0"):
        raise _syntax_error(name_at, f"{path}/name", "a name", name)
    if len(name) > limits.name:
        raise LIMIT_NAME.failure(name_at, f"{path}/name", size=len(name), limit=limits.name)
    brace, brace_at = words.next()
    if brace != b"{":
        raise _syntax_error(brace_at, path, "{", brace)
    return _OpenBone(index, name, parent, at)


def _read_offset(words: _Words, at: int, bone: _OpenBone) -> None:
    path = f"{_path(bone.index)}/offset"
    if bone.offset is not None:
        raise STRUCT_SYNTAX.failure(at, path, wanted="one offset", found="a second one")
    numbers = []
    for _ in range(3):
        word, word_at = words.next()
        number = float(word) if len(word) <= 64 and _NUMBER.fullmatch(word) else float("inf")
        if abs(number) == float("inf"):
            raise _syntax_error(word_at, path, "a number", word)
        numbers.append(number)
    bone.offset = (numbers[0], numbers[1], numbers[2])


def _read_count(words: _Words) -> int:
    word, at = words.next()
    if not _COUNT.fullmatch(word):
        raise _syntax_error(at, "/numbones", "a number of bones", word)
    return int(word)


def _closed(bone: _OpenBone) -> Bone:
    if bone.offset is None:
        raise STRUCT_SYNTAX.failure(
            bone.at, f"{_path(bone.index)}/offset", wanted="an offset", found="a bone without one"
        )
    return Bone(bone.name, bone.parent, bone.offset, tuple(bone.words))


def _path(index: int) -> str:
    return f"/bone[{index}]"


def _syntax_error(at: int, path: str, wanted: str, word: bytes) -> FormatError:
    shown = show_name(word[:_SHOWN]) if word else "the end of the text"
    return STRUCT_SYNTAX.failure(at, path, wanted=wanted, found=shown)


# Names and order are those of the game's 19-bone figures. The offsets (in metres) are invented for a figure of about
# 1.8 m that faces -Z with its arms down, because a clip has no offsets.
_DEFAULT: tuple[tuple[str, int, tuple[float, float, float]], ...] = (
    ("root", -1, (0.0, 1.0, 0.0)),
    ("spine", 0, (0.0, 0.15, 0.0)),
    ("neck", 1, (0.0, 0.4, 0.0)),
    ("head", 2, (0.0, 0.1, 0.0)),
    ("clavicle_r", 1, (0.05, 0.35, 0.0)),
    ("shoulder_r", 4, (0.15, 0.0, 0.0)),
    ("elbow_r", 5, (0.0, -0.3, 0.0)),
    ("wrist_r", 6, (0.0, -0.27, 0.0)),
    ("clavicle_l", 1, (-0.05, 0.35, 0.0)),
    ("shoulder_l", 8, (-0.15, 0.0, 0.0)),
    ("elbow_l", 9, (0.0, -0.3, 0.0)),
    ("wrist_l", 10, (0.0, -0.27, 0.0)),
    ("pelvis", 0, (0.0, -0.05, 0.0)),
    ("hip_l", 12, (-0.1, -0.05, 0.0)),
    ("knee_l", 13, (0.0, -0.43, 0.0)),
    ("ankle_l", 14, (0.0, -0.42, 0.0)),
    ("hip_r", 12, (0.1, -0.05, 0.0)),
    ("knee_r", 16, (0.0, -0.43, 0.0)),
    ("ankle_r", 17, (0.0, -0.42, 0.0)),
)


def default_skeleton(bones: int) -> Skeleton:
    """Return the 19-bone figure; for any other number of bones, numbered children of the first bone."""
    if bones == len(_DEFAULT):
        return Skeleton(tuple(Bone(name.encode(), parent, offset) for name, parent, offset in _DEFAULT))
    numbered = [Bone(f"bone_{n:02}".encode(), -1 if n == 0 else 0, (0.1 * n, 0.0, 0.0)) for n in range(bones)]
    return Skeleton(tuple(numbered))
