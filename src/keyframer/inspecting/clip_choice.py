"""Choosing one of several clips of a scene by name or number."""

from __future__ import annotations

from keyframer.errors import FormatError
from keyframer.scene import Scene
from keyframer.text import did_you_mean

_NAMED = 8
"""maximum number of clips listed in a message"""


def listed_clips(scene: Scene) -> str:
    """Return the names of the first clips, for messages."""
    names = [clip.name or "(unnamed)" for clip in scene.clips[:_NAMED]]
    return ", ".join(names) + (" …" if len(scene.clips) > _NAMED else "") or "none"


def keep_clip(scene: Scene, wanted: str) -> None:
    """Keep only the clip of this name, or of this number counted from 1; raises FormatError if there is none."""
    names = [clip.name for clip in scene.clips]
    index = names.index(wanted) if wanted in names else _index_of(wanted)
    if not 0 <= index < len(names):
        message = f"no clip is named {wanted!r} (available: {listed_clips(scene)}){did_you_mean(wanted, names)}"
        raise FormatError("LINK_UNRESOLVED_NAME", 0, "/", message)
    scene.clips = [scene.clips[index]]


def _index_of(text: str) -> int:
    """Return the index for a number counted from 1; -1 for other text."""
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 9 else -1
