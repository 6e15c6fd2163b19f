"""Types of files for desktops, as a package for shared-mime-info."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from keyframer.describing.magic import Extensions, block_of, escaped
from keyframer.formats.contract import Format, Signature


def mime_types(formats: Iterable[Format], extensions: Extensions) -> dict[str, Format]:
    """Return the formats that a desktop can tell, by type: they have signatures, or an extension of their own."""
    return {
        known.mime_type or f"application/x-{known.name}": known
        for known in formats
        if known.signatures or extensions[known.name]
    }


def mime(formats: Iterable[Format], extensions: Extensions) -> str:
    """Return a type for each format: its signatures, and its first extension, if no other format has it."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += ['<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">']
    for name, known in mime_types(formats, extensions).items():
        lines += [f'  <mime-type type="{name}">', f"    <comment>{escape(known.title)}</comment>"]
        if known.signatures:
            lines += ['    <magic priority="60">']
            lines += [f"      {line}" for signature in known.signatures for line in _matches(signature)]
            lines += ["    </magic>"]
        first = known.extensions[0][1:]
        lines += [f'    <glob pattern="*.{first}"/>'] if first in extensions[known.name] else []
        lines += ["  </mime-type>"]
    return "\n".join([*lines, "</mime-info>"]) + "\n"


def _matches(signature: Signature) -> list[str]:
    """Return the matches of a signature: every sequence inside the one before it."""
    lines: list[str] = []
    for offset, choices in reversed(signature.sequences):
        place = f"{offset}:{offset + signature.slack}" if signature.slack else str(offset)
        block = block_of(choices)
        if block is not None:
            tests = [f'type="byte" offset="{place}" value="{block[0]:#x}" mask="{block[1]:#x}"']
        else:
            tests = [f'type="string" offset="{place}" value={quoteattr(escaped(choice))}' for choice in choices]
        inner = [f"  {line}" for line in lines]
        lines = [line for test in tests for line in _match(test, inner)]
    return lines


def _match(test: str, inner: list[str]) -> list[str]:
    return [f"<match {test}>", *inner, "</match>"] if inner else [f"<match {test}/>"]
