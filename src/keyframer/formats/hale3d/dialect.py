"""The layouts of a ``std::string`` in a file, which the specification does not define.

In the real files, text ends with NUL. Two other layouts are equally natural for a C++ writer. One of
them is used if a file read in it ends exactly with its last record, but does not with text that ends with NUL.
"""

from __future__ import annotations

from enum import Enum

from keyframer.wire.encoding_style import Style


class Dialect(Enum):
    """The layouts of text in the order in which they are tried: a file that fits the second also fits the third."""

    NUL_ENDED = "nul-ended"
    """8-bit text and one NUL, as in the real files"""
    LENGTH_WITH_NUL = "length-with-nul"
    """u32 number of bytes, then the bytes; the last one is a NUL"""
    LENGTH = "length"
    """u32 number of bytes, then the bytes"""

    def __str__(self) -> str:
        return self.value

    @property
    def style(self) -> Style:
        """The layout of text for `Plan.adapted`."""
        return _STYLES[self]


_STYLES = {
    Dialect.NUL_ENDED: Style(),
    Dialect.LENGTH_WITH_NUL: Style(text="u32_nul"),
    Dialect.LENGTH: Style(text="u32"),
}
