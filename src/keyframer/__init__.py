"""Read, write, play, check and convert keyframed 3D files of discontinued programs.

    import keyframer

    document = keyframer.read("scene.3ds")           # the content of the file, every byte kept
    document.issues                             # its problems, with byte offset and path
    keyframer.write(document, "copy.3ds")       # the same bytes again
    keyframer.check("scene.3ds").verdict        # clean, readable with problems, or not readable

    scene = keyframer.load("scene.3ds")              # its meaning: nodes, meshes, keys
    keyframer.pose(scene, frames=[0, 10]).world # world matrices, 4 x 4
    scene.find("Rotor")                         # the index of a node
    keyframer.render(scene).save("scene.png")   # a picture; in a notebook keyframer.view(scene) plays it
    keyframer.convert("scene.3ds", "scene.glb") # returns a report of what was lost

Names are loaded when they are first used, so importing this package is cheap.
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

TYPE_CHECKING = False  # importing `typing` would take longer than this whole module
if TYPE_CHECKING:
    from typing import Any

    from keyframer.checking import Report, check
    from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track
    from keyframer.curves import Track as Keys
    from keyframer.errors import FormatError
    from keyframer.exchange import convert, save
    from keyframer.exchange.opening import load, read
    from keyframer.formats import Detection, Format, decode, detect, encode, supported_formats, write
    from keyframer.formats.document import Document
    from keyframer.issues import Issue, IssueLog, Severity
    from keyframer.limits import Limits
    from keyframer.posing import Playback, Pose, Rig, pose
    from keyframer.rendering import render
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
    "Keys": "keyframer.curves",  # another name of Track: keys are its columns
    "Camera": "keyframer.scene",
    "Channel": "keyframer.scene",
    "Clip": "keyframer.scene",
    "Detection": "keyframer.formats",
    "Document": "keyframer.formats.document",
    "Environment": "keyframer.scene",
    "Format": "keyframer.formats",
    "FormatError": "keyframer.errors",
    "Handedness": "keyframer.scene",
    "Interpolation": "keyframer.curves",
    "Issue": "keyframer.issues",
    "IssueLog": "keyframer.issues",
    "Light": "keyframer.scene",
    "LightType": "keyframer.scene",
    "Limits": "keyframer.limits",
    "LossReport": "keyframer.scene.loss_report",
    "Material": "keyframer.scene",
    "Mesh": "keyframer.scene",
    "Morph": "keyframer.scene",
    "Node": "keyframer.scene",
    "NodeKind": "keyframer.scene",
    "Playback": "keyframer.posing",
    "Pose": "keyframer.posing",
    "RawChannel": "keyframer.scene",
    "Report": "keyframer.checking",
    "Rig": "keyframer.posing",
    "RotationForm": "keyframer.curves",
    "Scene": "keyframer.scene",
    "Severity": "keyframer.issues",
    "Skin": "keyframer.scene",
    "Space": "keyframer.scene",
    "TextureMap": "keyframer.scene",
    "Track": "keyframer.curves",
    "Wrap": "keyframer.curves",
    "check": "keyframer.checking",
    "compile_track": "keyframer.curves",
    "convert": "keyframer.exchange",
    "decode": "keyframer.formats",
    "detect": "keyframer.formats",
    "encode": "keyframer.formats",
    "load": "keyframer.exchange.opening",
    "pose": "keyframer.posing",
    "read": "keyframer.exchange.opening",
    "render": "keyframer.rendering",
    "save": "keyframer.exchange",
    "supported_formats": "keyframer.formats",
    "view": "keyframer.viewer",
    "write": "keyframer.formats",
}

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
    "pose",
    "read",
    "render",
    "save",
    "supported_formats",
    "view",
    "write",
]


def __getattr__(name: str) -> Any:
    module_name = _MODULES.get(name)
    if module_name is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module_name), "Track" if name == "Keys" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


_NOTEBOOK_FORMATTERS = {
    ("keyframer.scene.scene", "Scene"): ("keyframer.rendering.notebook_picture", "scene_html"),
    ("keyframer.posing.pose", "Pose"): ("keyframer.rendering.notebook_picture", "pose_html"),
    ("keyframer.scene.clip", "Clip"): ("keyframer.inspecting.notebook_tables", "clip_html"),
    ("keyframer.scene.clip", "Channel"): ("keyframer.inspecting.notebook_tables", "channel_html"),
    ("keyframer.curves.track", "Track"): ("keyframer.inspecting.notebook_tables", "track_html"),
    ("keyframer.formats.document", "Document"): ("keyframer.inspecting.notebook_tables", "document_html"),
}
"""classes that notebooks show with a picture or a curve, and the functions that draw them"""


def load_ipython_extension(shell: Any) -> None:
    """Register the pictures with IPython. Importing this package in a notebook calls it, and so does ``%load_ext
    keyframer``. Modules are loaded when something is shown."""
    html = shell.display_formatter.formatters["text/html"]
    for (module, name), (module_name, function) in _NOTEBOOK_FORMATTERS.items():
        html.for_type_by_name(module, name, _html_formatter(module_name, function))


def _html_formatter(module_name: str, function: str) -> Any:
    def show(value: object) -> str:
        from importlib import import_module

        text: str = getattr(import_module(module_name), function)(value)
        return text

    return show


_shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
if _shell is not None:
    load_ipython_extension(_shell)
