"""An independent writer of node animation files: `struct` and the specification, no code of the reader.

It writes a clip in every framing that the notes on the format list.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

TCB, BEZIER, LINEAR = 1, 2, 4


@dataclass(frozen=True)
class Framing:
    """How a file is framed, and other options of the writer."""

    order: str = "<"
    text: str = "nul"
    header: str = "u16+u32"
    size_counts_header: bool = True
    tcb_by_key: bool = False

    def __str__(self) -> str:
        words = ["big" if self.order == ">" else "little", f"text:{self.text}", f"chunk:{self.header}"]
        if "+" in self.header:
            words.append("size:all" if self.size_counts_header else "size:inside")
        return " ".join(words + ["tcb:key"] * self.tcb_by_key)


@dataclass(frozen=True)
class Key:
    flags: int
    time: float
    value: tuple[float, ...]
    shape: tuple[float, ...] = (0.25, -0.5, 0.75, 0.125, 1.0)


@dataclass(frozen=True)
class Bone:
    name: bytes
    flags: int
    translations: tuple[Key, ...] = ()
    rotations: tuple[Key, ...] = ()
    scales: tuple[Key, ...] = ()


@dataclass(frozen=True)
class Clip:
    bones: tuple[Bone, ...] = ()
    name: bytes = b"walk"
    author: bytes = b"(C) nobody"
    flags: int = 0
    count: int | None = None


_CODE = {"u8": "B", "u16": "H", "u32": "I"}


def framings() -> Iterator[Framing]:
    """Byte order x kind of text x chunk header x what its size counts: all combinations."""
    for order, text in itertools.product("<>", ("nul", "u8", "u16", "u32")):
        for header in ("u16+u32", "u32+u32", "u8+u32", "u16+u16", "u32+u16"):
            yield Framing(order, text, header, True)
            yield Framing(order, text, header, False)
        for header in ("u8", "u16", "u32", "none"):
            yield Framing(order, text, header)


def clips() -> dict[str, Clip]:
    """Some ordinary clips: one for each interpolation, and one with all of them."""
    keys = _keys(5)
    linear = Bone(b"Bip01 Spine", LINEAR, *keys)
    tcb = Bone(b"Bip01 Head", TCB, *_keys(4))
    bezier = Bone(b"Bip01 L Hand", BEZIER, *_keys(3))
    still = Bone(b"Bip01", LINEAR)
    return {
        "linear": Clip((linear, replace(linear, name=b"Tail")), b"idle", b"(C) 2002 somebody"),
        "tcb": Clip((tcb, replace(tcb, name=b"Jaw", rotations=())), b"talk", b""),
        "bezier": Clip((bezier, replace(bezier, name=b"Thumb")), b"", b"x"),
        "mixed": Clip((still, linear, tcb, bezier), b"run", b"me"),
    }


def _keys(count: int) -> tuple[tuple[Key, ...], tuple[Key, ...], tuple[Key, ...]]:
    times = [index / 4 for index in range(count)]
    return (
        tuple(Key(0, time, (time, 2.5, -time)) for time in times),
        tuple(Key(0, time, (0.5 * time, 0.0, 0.0, 1.0)) for time in times[1:]),
        tuple(Key(0, time, (1.0, 1.0 + time, 1.0)) for time in times[2:]),
    )


def with_key_flags(clip: Clip) -> Clip:
    """The same clip with every second key flagged to have TCB values."""

    def mark(keys: tuple[Key, ...]) -> tuple[Key, ...]:
        return tuple(replace(key, flags=index & 1 | 0x100) for index, key in enumerate(keys))

    return replace(
        clip,
        bones=tuple(
            replace(
                bone, translations=mark(bone.translations), rotations=mark(bone.rotations), scales=mark(bone.scales)
            )
            for bone in clip.bones
        ),
    )


def text(value: bytes, how: Framing) -> bytes:
    if how.text == "nul":
        return value + b"\0"
    return struct.pack(how.order + _CODE[how.text], len(value)) + value


def chunk(number: int, content: bytes, how: Framing) -> bytes:
    if how.header == "none":
        return content
    sizes = how.header.split("+")
    if len(sizes) == 1:
        return struct.pack(how.order + _CODE[sizes[0]], number) + content
    layout = how.order + _CODE[sizes[0]] + _CODE[sizes[1]]
    size = len(content) + (struct.calcsize(layout) if how.size_counts_header else 0)
    return struct.pack(layout, number, size) + content


def header_content(clip: Clip, how: Framing) -> bytes:
    count = len(clip.bones) if clip.count is None else clip.count
    flags = struct.pack(how.order + "i", clip.flags)
    return flags + text(clip.name, how) + text(clip.author, how) + struct.pack(how.order + "h", count)


def bone_content(bone: Bone, how: Framing) -> bytes:
    out = text(bone.name, how) + struct.pack(
        how.order + "4i", bone.flags, len(bone.translations), len(bone.rotations), len(bone.scales)
    )
    for keys in (bone.translations, bone.rotations, bone.scales):
        for key in keys:
            out += struct.pack(how.order + "if", key.flags, key.time)
            if (key.flags if how.tcb_by_key else bone.flags) & TCB:
                out += struct.pack(how.order + "5f", *key.shape)
            out += struct.pack(f"{how.order}{len(key.value)}f", *key.value)
    return out


def write(clip: Clip, how: Framing) -> bytes:
    nodes = b"".join(bone_content(bone, how) for bone in clip.bones)
    return chunk(1, header_content(clip, how), how) + chunk(2, nodes, how)
