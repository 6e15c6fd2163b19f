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

import sys

from keyframer._version import __version__

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than this whole module
if TYPE_CHECKING:
    from typing import Any

    from keyframer.checking import Report, check
    from keyframer.curves import Track, compile_track
    from keyframer.errors import FormatError
    from keyframer.exchange import save
    from keyframer.exchange.opening import load, read
    from keyframer.formats import Detection, Format, decode, detect, encode, supported_formats, write
    from keyframer.formats.document import Document
    from keyframer.issues import Issue, IssueLog, Severity
    from keyframer.limits import Limits
    from keyframer.posing import Pose, pose
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport

_HOMES = {
    "Detection": "keyframer.formats",
    "Document": "keyframer.formats.document",
    "Format": "keyframer.formats",
    "FormatError": "keyframer.errors",
    "Issue": "keyframer.issues",
    "IssueLog": "keyframer.issues",
    "Limits": "keyframer.limits",
    "LossReport": "keyframer.scene.loss_report",
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
    "load": "keyframer.exchange.opening",
    "pose": "keyframer.posing",
    "read": "keyframer.exchange.opening",
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


_IN_NOTEBOOKS = {
    ("keyframer.scene.scene", "Scene"): ("keyframer.rendering.notebook_picture", "scene_html"),
    ("keyframer.posing.pose", "Pose"): ("keyframer.rendering.notebook_picture", "pose_html"),
    ("keyframer.scene.clip", "Clip"): ("keyframer.inspecting.notebook_tables", "clip_html"),
    ("keyframer.scene.clip", "Channel"): ("keyframer.inspecting.notebook_tables", "channel_html"),
    ("keyframer.curves.track", "Track"): ("keyframer.inspecting.notebook_tables", "track_html"),
    ("keyframer.formats.document", "Document"): ("keyframer.inspecting.notebook_tables", "document_html"),
}
"""What notebooks show with a picture or a curve, and who makes it: the classes themselves hold only data."""


def load_ipython_extension(shell: Any) -> None:
    """Register the pictures with IPython: done by itself where this package is imported in a notebook, or by
    ``%load_ext keyframer``. Nothing is loaded before something is shown."""
    html = shell.display_formatter.formatters["text/html"]
    for (module, name), (home, function) in _IN_NOTEBOOKS.items():
        html.for_type_by_name(module, name, _shown_by(home, function))


def _shown_by(home: str, function: str) -> Any:
    def show(value: object) -> str:
        from importlib import import_module

        text: str = getattr(import_module(home), function)(value)
        return text

    return show


_shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
if _shell is not None:
    load_ipython_extension(_shell)
