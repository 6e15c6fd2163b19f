"""Which clip of a file is shown, where it has several: the argument, and what is said without it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli.inputs import Input
from keyframer.cli.messages import note

if TYPE_CHECKING:
    from keyframer.scene import Scene


def add_argument(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clip", metavar="NAME", help="the clip of that name or number, counted from 1 (default: the first)"
    )


def choose(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Leave just the clip that is wanted in the scene. FormatError where there is no such clip."""
    if not hasattr(options, "clip") or (options.clip is None and len(scene.clips) < 2):
        return
    from keyframer.inspecting.clip_choice import keep_clip, listed_clips

    if options.clip is not None:
        keep_clip(scene, options.clip)
        return
    listed = listed_clips(scene)
    note(options, f"{item.name}: the first of {len(scene.clips)} clips is taken; --clip chooses: {listed}")
