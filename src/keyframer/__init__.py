"""Keyframer reads, writes, plays, checks and converts the keyframed 3D files that dead programs left behind.

    import keyframer

    document = keyframer.read("scene.3ds")      # what the file says, every byte kept
    document.issues                             # what is odd about it, with byte offset and path
    keyframer.write(document, "copy.3ds")       # the same bytes again

Names are loaded when first used: importing this package is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from keyframer._version import __version__

if TYPE_CHECKING:
    from keyframer.errors import FormatError
    from keyframer.formats import Detection, Format, decode, detect, encode, read, supported_formats, write
    from keyframer.formats._document import Document
    from keyframer.issues import Issue, IssueLog, Severity
    from keyframer.limits import Limits

_HOMES = {
    "Detection": "keyframer.formats",
    "Document": "keyframer.formats._document",
    "Format": "keyframer.formats",
    "FormatError": "keyframer.errors",
    "Issue": "keyframer.issues",
    "IssueLog": "keyframer.issues",
    "Limits": "keyframer.limits",
    "Severity": "keyframer.issues",
    "decode": "keyframer.formats",
    "detect": "keyframer.formats",
    "encode": "keyframer.formats",
    "read": "keyframer.formats",
    "supported_formats": "keyframer.formats",
    "write": "keyframer.formats",
}

__all__ = [
    "Detection",
    "Document",
    "Format",
    "FormatError",
    "Issue",
    "IssueLog",
    "Limits",
    "Severity",
    "__version__",
    "decode",
    "detect",
    "encode",
    "read",
    "supported_formats",
    "write",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
