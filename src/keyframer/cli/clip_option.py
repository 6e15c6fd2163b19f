"""The argument ``--clip`` for files with several clips."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli.inputs import Input
from keyframer.cli.messages import note

if TYPE_CHECKING:
    from keyframer.scene import Scene


def add_argument(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--clip", metavar="NAME", help="name or number of a clip, counted from 1 (default: the first)")


def choose(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Keep only the chosen clip in the scene; raises FormatError if there is none of this name."""
    if not hasattr(options, "clip") or (options.clip is None and len(scene.clips) < 2):
        return
    from keyframer.inspecting.clip_choice import keep_clip, listed_clips

    if options.clip is not None:
        keep_clip(scene, options.clip)
        return
    listed = listed_clips(scene)
    note(options, f"{item.name}: using the first of {len(scene.clips)} clips; --clip chooses: {listed}")
