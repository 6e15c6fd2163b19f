"""Which clip of a file is shown, where it has several: the argument, and what is said without it."""

from __future__ import annotations

from keyframer.cli.messages import note
from keyframer.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from keyframer.cli.inputs import Input
    from keyframer.scene import Scene

_NAMED = 8
"""clips that a message lists"""


def add_argument(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clip", metavar="NAME", help="the clip of that name or number, counted from 1 (default: the first)"
    )


def choose(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Leave just the clip that is wanted in the scene. FormatError where there is no such clip."""
    if not hasattr(options, "clip") or (options.clip is None and len(scene.clips) < 2):
        return
    names = [clip.name for clip in scene.clips]
    listed = ", ".join(name or "(unnamed)" for name in names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    listed = listed or "none"
    if options.clip is None:
        note(options, f"{item.name}: the first of {len(names)} clips is taken; --clip chooses: {listed}")
        return
    place = names.index(options.clip) if options.clip in names else _place(options.clip)
    if not 0 <= place < len(names):
        raise FormatError("LINK_UNRESOLVED_NAME", 0, "/", f"no clip is called {options.clip!r} (there are: {listed})")
    scene.clips = [scene.clips[place]]


def _place(text: str) -> int:
    """-1 for what is no number."""
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 9 else -1
