"""Names from files: 8-bit text decoded for people, and made inert before it is shown anywhere."""

from __future__ import annotations

import re

# C0, DEL and C1 controls, line and paragraph separators, bidirectional controls, invisible marks, surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]"
)


def decode_name(raw: bytes, encoding: str | None = None) -> str:
    """Text of an 8-bit name: UTF-8 if it is that, else ``encoding``, else Windows' code page 1252.

    The bytes stay the truth (look-ups compare bytes); this is for showing. Bytes that the encoding does not know
    come out as ``\\xNN``.
    """
    if encoding is None:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            encoding = "cp1252"
    return raw.decode(encoding, errors="backslashreplace")


def safe_text(text: str) -> str:
    """The same text with everything that could steer a terminal or reorder a line in visible ``\\x1b`` form."""
    return _UNSAFE.sub(lambda match: _visible(match.group()), text)


def show_name(raw: bytes, encoding: str | None = None) -> str:
    """A name from a file, decoded and safe to show."""
    return safe_text(decode_name(raw, encoding))


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def bytes_to_ascii(raw: bytes) -> str:
    r"""Any bytes as printable ASCII that reads back: ``\xNN`` for the rest, ``\\`` for a backslash."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else "\\\\" if byte == 0x5C else f"\\x{byte:02x}"
        for byte in raw
    )


_ESCAPE = re.compile(r"\\(\\|x[0-9a-fA-F]{2}|.|$)", re.DOTALL)


def ascii_to_bytes(text: str) -> bytes:
    """The bytes behind `bytes_to_ascii`; ValueError where the text is not of that form."""

    def plain(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape == "\\":
            return "\\"
        if len(escape) == 3:
            return chr(int(escape[1:], 16))
        raise ValueError(f"unknown escape \\{escape} (write \\\\ for a backslash, \\xNN for a byte)")

    try:
        return _ESCAPE.sub(plain, text).encode("latin-1")
    except UnicodeEncodeError as error:
        wrong = text[error.start : error.start + 1]
        raise ValueError(f"{wrong!r} is not an 8-bit character (write it as \\xNN bytes)") from None
