"""Read, write, play, check and convert keyframed 3D files of discontinued programs.

    import keyframer

    document = keyframer.read("scene.3ds")      # the content of the file, every byte kept
    document.issues                             # the problems of the file, with byte offset and path
    keyframer.write(document, "copy.3ds")       # the same bytes again
    keyframer.check("scene.3ds").verdict        # clean, readable with problems, damaged, or not readable

    scene = keyframer.load("scene.3ds")         # the meaning of the file: nodes, meshes, keys
    keyframer.pose(scene, frames=[0, 10]).world # world matrices, 4 x 4
    scene.find("Rotor")                         # the index of a node
    keyframer.plot(scene).save("curves.svg")    # the curves of its tracks
    keyframer.render(scene).save("scene.png")   # a picture; in a notebook keyframer.view(scene) plays it
    keyframer.convert("scene.3ds", "scene.glb") # returns a report of what was lost

Names are loaded when they are first used, so importing this package is cheap.
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from keyframer.checking import Report, check
    from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
    from keyframer.curves import Track as Keys
    from keyframer.errors import FormatError
    from keyframer.exchange.opening import load, pose, read
    from keyframer.exchange.saving import convert, save
    from keyframer.formats import Detection, Format, detect, supported_formats
    from keyframer.formats.document import Document, decode, encode, write
    from keyframer.inspecting.charts import plot
    from keyframer.issues import Issue, IssueLog, Severity
    from keyframer.limits import Limits
    from keyframer.posing import Playback, Pose, Rig
    from keyframer.rendering import render
    from keyframer.salvaging import salvage
    from keyframer.scene import (
        Camera,
        Channel,
        Clip,
        Environment,
        Handedness,
        Light,
        LightType,
        Material,
        Mesh,
        Morph,
        Node,
        NodeKind,
        RawChannel,
        Scene,
        Skin,
        Space,
        TextureMap,
    )
    from keyframer.scene.loss_report import LossReport
    from keyframer.viewer import view

_MODULES = {
    name: module
    for module, names in (
        ("checking", ("Report", "check")),
        ("curves", ("Interpolation", "Keys", "RotationForm", "Track", "Wrap", "compile_track")),
        ("errors", ("FormatError",)),
        ("exchange.opening", ("load", "pose", "read")),
        ("exchange.saving", ("convert", "save")),
        ("formats", ("Detection", "Format", "detect", "supported_formats")),
        ("formats.document", ("Document", "decode", "encode", "write")),
        ("issues", ("Issue", "IssueLog", "Severity")),
        ("limits", ("Limits",)),
        ("inspecting.charts", ("plot",)),
        ("posing", ("Playback", "Pose", "Rig")),
        ("rendering", ("render",)),
        ("salvaging", ("salvage",)),
        ("scene", ("Camera", "Channel", "Clip", "Environment", "Handedness", "Light", "LightType", "Material", "Mesh")),
        ("scene", ("Morph", "Node", "NodeKind", "RawChannel", "Scene", "Skin", "Space", "TextureMap")),
        ("scene.loss_report", ("LossReport",)),
        ("viewer", ("view",)),
    )
    for name in names
}
"""public names, each with its module"""

__all__ = [
    "Camera",
    "Channel",
    "Clip",
    "Detection",
    "Document",
    "Environment",
    "Format",
    "FormatError",
    "Handedness",
    "Interpolation",
    "Issue",
    "IssueLog",
    "Keys",
    "Light",
    "LightType",
    "Limits",
    "LossReport",
    "Material",
    "Mesh",
    "Morph",
    "Node",
    "NodeKind",
    "Playback",
    "Pose",
    "RawChannel",
    "Report",
    "Rig",
    "RotationForm",
    "Scene",
    "Severity",
    "Skin",
    "Space",
    "TextureMap",
    "Track",
    "Wrap",
    "__version__",
    "check",
    "compile_track",
    "convert",
    "decode",
    "detect",
    "encode",
    "load",
    "plot",
    "pose",
    "read",
    "render",
    "salvage",
    "save",
    "supported_formats",
    "view",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = _attribute(_MODULES[name], "Track" if name == "Keys" else name)  # `Keys` is another name of `Track`
    globals()[name] = value
    return value


def _attribute(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


_NOTEBOOK_FORMATTERS = {
    ("keyframer.scene.scene", "Scene"): ("notebooks", "scene_html"),
    ("keyframer.posing.rig", "Pose"): ("notebooks", "pose_html"),
    ("keyframer.scene.clip", "Clip"): ("notebooks", "clip_html"),
    ("keyframer.scene.clip", "Channel"): ("notebooks", "channel_html"),
    ("keyframer.curves.track", "Track"): ("notebooks", "track_html"),
    ("keyframer.formats.document", "Document"): ("notebooks", "document_html"),
}
"""classes that notebooks show with a picture, a curve or a table, and the functions that return the HTML"""


def load_ipython_extension(shell: Any) -> None:
    """Register the pictures, curves and tables of our classes with IPython.

    Importing this package in IPython or a notebook calls this, and so does ``%load_ext keyframer``. Modules are loaded
    when an object is shown.
    """
    html = shell.display_formatter.formatters["text/html"]
    for (module, name), formatter in _NOTEBOOK_FORMATTERS.items():
        html.for_type_by_name(module, name, lambda value, formatter=formatter: _attribute(*formatter)(value))


_shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
if _shell is not None:
    load_ipython_extension(_shell)
