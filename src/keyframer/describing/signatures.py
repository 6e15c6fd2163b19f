"""Signatures of formats for programs that identify files: magic(5) for ``file``, and XML in the style of PRONOM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

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
        lines.append(f"{start}\t{test}\t{_escaped(beginning)}{message}")
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
    """Return one test for each choice; a single one with a mask for a block of bytes such as C0 to DF."""
    first, count = choices[0][0], len(choices)
    block = tuple(bytes([byte]) for byte in range(first, min(first + count, 256)))
    if count > 1 and choices == block and count & (count - 1) == 0 and first % count == 0:
        return [f"ubyte&{256 - count:#x}\t{first:#x}"]
    return [f"string\t{_escaped(choice)}" for choice in choices]


def pronom(formats: Iterable[Format], extensions: Extensions) -> str:
    """Return the signatures as FIDO loads them (``fido -loadformats FILE``), with PRONOM's patterns beside."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<formats version="0.3">']
    for known in formats:
        if not known.signatures:
            continue
        lines += ["  <format>", f"    <puid>{known.pronom or f'keyframer/{known.name}'}</puid>"]
        lines += [f"    <name>{escape(known.title)}</name>"]
        lines += [f"    <extension>{extension}</extension>" for extension in extensions[known.name]]
        for signature in known.signatures:
            lines += [
                "    <signature>",
                f"      <name>{escape(signature.title)}</name>",
                "      <pattern>",
                "        <position>BOF</position>",
                f"        <pronom_pattern>{_pronom_pattern(signature)}</pronom_pattern>",
                f"        <regex>(?s)\\A{_regex(signature)}</regex>",
                "      </pattern>",
                "    </signature>",
            ]
        lines.append("  </format>")
    return "\n".join([*lines, "</formats>"]) + "\n"


def _regex(signature: Signature) -> str:
    text, at = f".{{0,{signature.slack}}}" if signature.slack else "", 0
    for offset, choices in signature.sequences:
        text += f".{{{offset - at}}}" if offset > at else ""
        text += f"(?:{'|'.join(_escaped(choice) for choice in choices)})"
        at = offset + len(choices[0])
    return text


def _pronom_pattern(signature: Signature) -> str:
    text, at = f"{{0-{signature.slack}}}" if signature.slack else "", 0
    for offset, choices in signature.sequences:
        text += f"{{{offset - at}}}" if offset > at else ""
        text += f"({'|'.join(choice.hex().upper() for choice in choices)})" if choices[1:] else choices[0].hex().upper()
        at = offset + len(choices[0])
    return text


def _escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)
