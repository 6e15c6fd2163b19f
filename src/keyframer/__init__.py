"""Keyframer reads, writes, plays, checks and converts the keyframed 3D files that dead programs left behind.

    import keyframer

    document = keyframer.read("scene.3ds")      # what the file says, every byte kept
    document.issues                             # what is odd about it, with byte offset and path
    keyframer.write(document, "copy.3ds")       # the same bytes again
    keyframer.check("scene.3ds").verdict        # clean, readable with problems, or not readable

    scene = keyframer.load("scene.3ds")         # what it means: nodes, meshes, keys
    keyframer.pose(scene, frames=[0, 10]).world # where everything is, 4 x 4 matrices

Names are loaded when first used: importing this package is cheap.
"""

from __future__ import annotations

from keyframer._version import __version__

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than this whole module
if TYPE_CHECKING:
    from typing import Any

    from keyframer.checking import Report, check
    from keyframer.curves import Track, compile_track
    from keyframer.errors import FormatError
    from keyframer.exchange import save
    from keyframer.exchange.report import LossReport
    from keyframer.formats import Detection, Format, decode, detect, encode, read, supported_formats, write
    from keyframer.formats._document import Document
    from keyframer.formats._loading import load
    from keyframer.issues import Issue, IssueLog, Severity
    from keyframer.limits import Limits
    from keyframer.posing import Pose, pose
    from keyframer.scene import Scene

_HOMES = {
    "Detection": "keyframer.formats",
    "Document": "keyframer.formats._document",
    "Format": "keyframer.formats",
    "FormatError": "keyframer.errors",
    "Issue": "keyframer.issues",
    "IssueLog": "keyframer.issues",
    "Limits": "keyframer.limits",
    "LossReport": "keyframer.exchange.report",
    "Pose": "keyframer.posing",
    "Report": "keyframer.checking",
    "Scene": "keyframer.scene",
    "Severity": "keyframer.issues",
    "Track": "keyframer.curves",
    "check": "keyframer.checking",
    "compile_track": "keyframer.curves",
    "decode": "keyframer.formats",
    "detect": "keyframer.formats",
    "encode": "keyframer.formats",
    "load": "keyframer.formats._loading",
    "pose": "keyframer.posing",
    "read": "keyframer.formats",
    "save": "keyframer.exchange",
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
    "LossReport",
    "Pose",
    "Report",
    "Scene",
    "Severity",
    "Track",
    "__version__",
    "check",
    "compile_track",
    "decode",
    "detect",
    "encode",
    "load",
    "pose",
    "read",
    "save",
    "supported_formats",
    "write",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
