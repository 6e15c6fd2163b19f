"""Signatures of formats for The National Archives' PRONOM: XML as FIDO loads it, and submissions for the registry.

A submission is one format: the registry gives all that one pull request adds the same number. Its form is that of the
repository nationalarchives/pronom: ``submissions/NAME.json``, and files to test the signature with in
``submissions/files``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from itertools import count
from xml.sax.saxutils import escape

from keyframer.describing.magic import Extensions, escaped
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS
from keyframer.formats.contract import Format, Signature
from keyframer.limits import DEFAULT_LIMITS

_KEPT_FILES = 3
"""maximum number of files in a submission"""
_FIRST_CONTAINER = 113000
"""the number of a container signature, the only one that the registry does not give itself; its newest are 110000,
111000 and 112000 (July 2026)"""


def fido(formats: Iterable[Format], extensions: Extensions) -> str:
    """Return the signatures as FIDO loads them (``fido -loadformats FILE``), with PRONOM's patterns beside."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<formats version="0.3">']
    for known in formats:
        for puid, signatures in _by_identifier(known).items():
            lines += ["  <format>", f"    <puid>{puid or f'keyframer/{known.name}'}</puid>"]
            lines += [f"    <name>{escape(known.title)}</name>"]
            lines += [f"    <extension>{name}</extension>" for name in _extensions(signatures, extensions[known.name])]
            for signature in signatures:
                lines += [
                    "    <signature>",
                    f"      <name>{escape(signature.title)}</name>",
                    "      <pattern>",
                    "        <position>BOF</position>",
                    f"        <pronom_pattern>{_pattern(signature, slack=True)}</pronom_pattern>",
                    f"        <regex>(?s)\\A{_regex(signature)}</regex>",
                    "      </pattern>",
                    "    </signature>",
                ]
            lines.append("  </format>")
    return "\n".join([*lines, "</formats>"]) + "\n"


def submissions(formats: Iterable[Format], samples: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of all submissions, by path: one folder for each kind of file that PRONOM lacks. ``samples`` are
    files by name; each goes with the submission whose signature it begins with, the smallest first."""
    files: dict[str, bytes] = {}
    for known in formats:
        for title, signatures in _missing(known).items():
            matching = {
                name: data
                for name, data in sorted(samples.items(), key=lambda sample: (len(sample[1]), sample[0]))
                if known.signature_of(data) in signatures and _is_whole(known, data)
            }
            about = _about(sys.modules[type(known).__module__].__doc__ or known.title)
            extensions = _extensions(signatures, tuple(extension[1:] for extension in known.extensions))
            files |= _submission(title, about, extensions, signatures, dict(list(matching.items())[:_KEPT_FILES]))
    containers = count(_FIRST_CONTAINER, 1000)
    for importer in IMPORTERS:
        if importer.description:
            endings = tuple(extension[1:] for extension in importer.extensions)
            member = importer.description
            matching = {
                name: data
                for name, data in sorted(samples.items())
                if name.endswith(importer.extensions) and importer.sniff(data, name)
            }
            container = {
                "id": str(next(containers)),
                "containerType": "ZIP",
                "description": importer.title,
                "files": [{"path": member.decode()}],
            }
            about = _ABOUT_ARCHIVES.format(member.decode())
            files |= _submission(importer.title, about, endings, (), matching, container)
    return files


_ABOUT_ARCHIVES = (
    "A zip archive of stage lighting (DIN SPEC 15800): {} describes it; 3D models and images are beside it."
)


def _submission(
    title: str,
    about: str,
    extensions: Iterable[str],
    signatures: Iterable[Signature],
    samples: Mapping[str, bytes],
    container: Mapping[str, object] | None = None,
) -> dict[str, bytes]:
    """Return the files of one submission; ``container`` identifies an archive."""
    name = re.sub(r"\W+", "-", title.lower()).strip("-")
    values = {
        "formatName": title,
        "formatDescription": about,
        "formatTypes": "Model",
        "internalSignatures": [
            {
                "name": signature.title,
                "note": "made from the declarations of Keyframer, which reads and writes such files",
                "byteSequences": [
                    {
                        "positionType": "Absolute from BOF",
                        "offset": 0,
                        "maxOffset": signature.slack,
                        "byteSequence": _pattern(signature, slack=False),
                        "endianness": None,
                    }
                ],
            }
            for signature in signatures
        ],
        "externalSignatures": [
            {"externalSignature": extension, "signatureType": "File extension"} for extension in extensions
        ],
        "relationships": [],
        **({"containerSignatures": [container]} if container else {}),
    }
    text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
    files = {f"{name}/submissions/{name}.json": text.encode()}
    return files | {f"{name}/submissions/files/{sample}": data for sample, data in samples.items()}


def _is_whole(known: Format, data: bytes) -> bool:
    try:
        return not known.decode(data, DEFAULT_LIMITS).issues
    except FormatError:
        return False


def _by_identifier(known: Format) -> dict[str | None, list[Signature]]:
    """Return the signatures of a format by their identifiers in PRONOM."""
    groups: dict[str | None, list[Signature]] = {}
    for signature in known.signatures:
        groups.setdefault(signature.pronom, []).append(signature)
    return groups


def _missing(known: Format) -> dict[str, list[Signature]]:
    """Return the signatures of files that PRONOM does not have, by their title."""
    groups: dict[str, list[Signature]] = {}
    for signature in known.signatures:
        if signature.pronom is None:
            groups.setdefault(signature.title, []).append(signature)
    return groups


def _extensions(signatures: Iterable[Signature], extensions: tuple[str, ...]) -> list[str]:
    """Return those extensions that the files of some signatures have."""
    own = [signature.extensions for signature in signatures]
    return [name for name in extensions if any(choice is None or f".{name}" in choice for choice in own)]


def _about(text: str) -> str:
    """Return the docstring of a format, which says who wrote such files, as plain text."""
    return " ".join(text.replace("``", "").replace("`", "").split())


def _regex(signature: Signature) -> str:
    text, at = f".{{0,{signature.slack}}}" if signature.slack else "", 0
    for offset, choices in signature.sequences:
        text += f".{{{offset - at}}}" if offset > at else ""
        text += f"(?:{'|'.join(escaped(choice) for choice in choices)})"
        at = offset + len(choices[0])
    return text


def _pattern(signature: Signature, *, slack: bool) -> str:
    """Return a signature in PRONOM's syntax; ``slack`` says whether bytes before it are part of the pattern."""
    text, at = f"{{0-{signature.slack}}}" if signature.slack and slack else "", 0
    for offset, choices in signature.sequences:
        text += f"{{{offset - at}}}" if offset > at else ""
        text += f"({'|'.join(choice.hex().upper() for choice in choices)})" if choices[1:] else choices[0].hex().upper()
        at = offset + len(choices[0])
    return text
