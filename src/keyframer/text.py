"""Text for people: names from files, decoded and made safe to show; numbers with their nouns; bytes as hex digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

# C0, DEL and C1 controls, line and paragraph separators, bidirectional controls, invisible marks, surrogates.
_UNSAFE = "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]"


def decode_name(raw: bytes, encoding: str | None = None) -> str:
    """Decode an 8-bit name: as ``encoding`` if given, else as UTF-8 if it is valid, else as Windows code page 1252.

    For display only: look-ups compare the stored bytes. Bytes that are undefined in the encoding become ``\\xNN``.
    """
    if encoding is None:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            encoding = "cp1252"
    return raw.decode(encoding, errors="backslashreplace")


def encode_name(text: str, encoding: str | None = None) -> bytes:
    """Encode a name so that `decode_name` returns it; if that is impossible, ``?`` and all characters outside ASCII
    become ``_``. NUL always becomes ``_``."""
    text = text.replace("\0", "_")
    for codec in (encoding or "cp1252", "utf-8"):
        raw = text.encode(codec, "ignore")
        if decode_name(raw, encoding) == text:
            return raw
    return text.encode("ascii", "replace").replace(b"?", b"_")


def is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def dos_beginning(stem: str) -> str | None:
    """Return ``STONEW`` for ``STONEW~1``, a name that DOS shortened; None for any other name."""
    short, tilde, number = stem.partition("~")
    return short[:8] if tilde and number.isdigit() and short else None


def safe_text(text: str) -> str:
    """Replace control, bidirectional and invisible characters by visible escapes such as ``\\x1b``."""
    if text.isascii() and text.isprintable():
        return text
    import re

    return re.sub(_UNSAFE, lambda match: _visible(match.group()), text)


def shortened(text: str, most: int = 200) -> str:
    """Return text from a file, safe to show and truncated to ``most`` characters: a name may have a megabyte."""
    text = safe_text(text[: 2 * most])
    return text if len(text) <= most else f"{text[: most - 1]}…"


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'Rotor'?`` if a known name begins with the wrong one or is close to it, else no text."""
    from difflib import get_close_matches

    candidates = [name for name, _ in zip(known, range(_MOST_COMPARED), strict=False) if len(name) <= _LONGEST_COMPARED]
    names = {name.lower(): name for name in candidates}
    typed = wrong.lower()[:_LONGEST_COMPARED]
    longer = [name for name in names if typed and name.startswith(typed)][:1]
    close = longer or get_close_matches(typed, names, n=1, cutoff=0.6)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


_MOST_COMPARED = 5_000
"""maximum number of names that a mistyped one is compared with: files may hold millions"""
_LONGEST_COMPARED = 64


def counted(count: object, noun: str) -> str:
    """Return a number with its noun: ``1 camera``, ``2 cameras``, ``3 vertices``."""
    return f"1 {noun}" if count == 1 else f"{count} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of an English noun."""
    for ending, plural_ending in _PLURALS:
        if noun.endswith(ending):
            return f"{noun.removesuffix(ending)}{plural_ending}"
    return f"{noun}s"


_PLURALS = (("vertex", "vertices"), ("matrix", "matrices"), ("key", "keys"), ("y", "ies"), ("x", "xes"), ("sh", "shes"))
"""endings of nouns with those of their plurals; the first match counts, other nouns get an s"""


def show_name(raw: bytes, encoding: str | None = None) -> str:
    """Decode a name from a file and make it safe to show."""
    return safe_text(decode_name(raw, encoding))


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def bytes_to_ascii(raw: bytes) -> str:
    r"""Write bytes as printable ASCII that can be read back: ``\xNN`` for other bytes, ``\\`` for a backslash."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else "\\\\" if byte == 0x5C else f"\\x{byte:02x}"
        for byte in raw
    )


_ESCAPE = r"(?s)\\(\\|x[0-9a-fA-F]{2}|.|$)"


def ascii_to_bytes(text: str) -> bytes:
    """Return the bytes that `bytes_to_ascii` wrote as this text; raises ValueError for any other text."""
    import re

    def unescape(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape == "\\":
            return "\\"
        if len(escape) == 3:
            return chr(int(escape[1:], 16))
        raise ValueError(f"unknown escape \\{escape} (write \\\\ for a backslash, \\xNN for a byte)")

    try:
        return re.sub(_ESCAPE, unescape, text).encode("latin-1")
    except UnicodeEncodeError as error:
        wrong = error.object[error.start]
        raise ValueError(f"{wrong!r} is not an 8-bit character (write it as \\xNN bytes)") from None


HEX_LINE = 32
"""bytes per line of hex digits"""


def bytes_to_hex(raw: bytes) -> str | list[str]:
    """Write bytes as hex digits in groups of four bytes: one text if they fit a line, else one text per line."""
    if len(raw) <= HEX_LINE:
        return raw.hex(" ", -4)
    return [raw[start : start + HEX_LINE].hex(" ", -4) for start in range(0, len(raw), HEX_LINE)]


def hex_to_bytes(value: object) -> bytes:
    """Return the bytes that a text or a list of texts has as hex digits; raises ValueError for anything else."""
    lines = value if isinstance(value, list) else [value]
    if not all(isinstance(line, str) for line in lines):
        raise ValueError("expected bytes, written as hex digits")
    try:
        return b"".join(map(bytes.fromhex, lines))
    except ValueError:
        raise ValueError("expected bytes, written as hex digits") from None
