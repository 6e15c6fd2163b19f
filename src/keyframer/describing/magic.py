"""Signatures of formats as magic(5), for ``file``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keyframer.formats.contract import Format, Signature

Extensions = Mapping[str, tuple[str, ...]]


def magic(formats: Iterable[Format], extensions: Extensions) -> str:
    """Return the signatures in the language of magic(5). Use: ``file -m keyframer.magic FILE``."""
    lines = ["# Signatures of keyframe animation in old 3D formats, written by keyframer formats --magic"]
    for known in formats:
        for signature in known.signatures:
            own = extensions[known.name]
            if signature.extensions is not None:
                own = tuple(extension for extension in own if f".{extension}" in signature.extensions)
            lines += ["", f"# {signature.title}"]
            lines += _magic_entry(signature, f"!:ext {'/'.join(own)}" if own else "")
    return "\n".join(lines) + "\n"


def _magic_entry(signature: Signature, extension: str) -> list[str]:
    """Return the lines of a signature: every sequence one level below the one before it."""
    (start, first), *rest = signature.sequences
    test = f"search/{signature.slack}" if signature.slack else "string"
    lines = []
    for beginning in first:
        message = "" if rest else f"\t{signature.title}"
        lines.append(f"{start}\t{test}\t{escaped(beginning)}{message}")
        if extension and not rest:
            lines.append(extension)
        for level, (offset, choices) in enumerate(rest, 1):
            for choice in _magic_tests(choices):
                message = f"\t{signature.title}" if level == len(rest) else ""
                lines.append(f"{'>' * level}{offset}\t{choice}{message}")
                if extension and message:
                    lines.append(extension)
    return lines


def _magic_tests(choices: tuple[bytes, ...]) -> list[str]:
    """Return one test for each choice; a single one with a mask for a block of bytes."""
    block = block_of(choices)
    if block is not None:
        return [f"ubyte&{block[1]:#x}\t{block[0]:#x}"]
    return [f"string\t{escaped(choice)}" for choice in choices]


def block_of(choices: tuple[bytes, ...]) -> tuple[int, int] | None:
    """Return value and mask of a block of bytes such as C0 to DF; None if the choices are none."""
    first, count = choices[0][0], len(choices)
    block = tuple(bytes([byte]) for byte in range(first, min(first + count, 256)))
    if count > 1 and choices == block and count & (count - 1) == 0 and first % count == 0:
        return first, 256 - count
    return None


def escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)
