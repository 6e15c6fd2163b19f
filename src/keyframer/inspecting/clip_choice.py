"""Which clip of a scene is meant, where it has several."""

from __future__ import annotations

from keyframer.errors import FormatError
from keyframer.scene import Scene
from keyframer.text import did_you_mean

_NAMED = 8
"""clips that a message lists"""


def listed_clips(scene: Scene) -> str:
    """The names of the first clips, for messages."""
    names = [clip.name or "(unnamed)" for clip in scene.clips[:_NAMED]]
    return ", ".join(names) + (" …" if len(scene.clips) > _NAMED else "") or "none"


def keep_clip(scene: Scene, wanted: str) -> None:
    """Leave just the clip of that name, or of that number counted from 1. FormatError where there is no such clip."""
    names = [clip.name for clip in scene.clips]
    place = names.index(wanted) if wanted in names else _place(wanted)
    if not 0 <= place < len(names):
        message = f"no clip is called {wanted!r} (there are: {listed_clips(scene)}){did_you_mean(wanted, names)}"
        raise FormatError("LINK_UNRESOLVED_NAME", 0, "/", message)
    scene.clips = [scene.clips[place]]


def _place(text: str) -> int:
    """-1 for what is no number."""
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 9 else -1
