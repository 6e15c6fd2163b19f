"""Messages about damaged files: what ``--salvage`` could recover, and what it left out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli.inputs import Input
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.scene import Scene

_SHOWN = 5


def add_hint(error: FormatError, opened: OpenedFile) -> None:
    """Add to a failure what ``--salvage`` would recover, if anything."""
    try:
        content = content_of(opened.scene(salvage=True))
    except (FormatError, ValueError):
        return
    if content:
        error.add_note(f"--salvage recovers {content}")


def content_of(scene: Scene) -> str:
    """Return the content of a scene in words: ``3 nodes, 1 mesh``."""
    keys = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
    counts = {
        "node": len(scene.nodes),
        "mesh": len(scene.meshes),
        "material": len(scene.materials),
        "key": keys + sum(len(raw.values) for clip in scene.clips for raw in clip.raw_channels),
    }
    return ", ".join(counted(count, noun) for noun, count in counts.items() if count)


def report_left_out(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Report the parts that were left out; the command will then exit with code 1."""
    counts = scene.issues.unsafe_counts()
    if not counts:
        return
    options.salvaged = True
    unsafe = [issue for issue in scene.issues if issue.unsafe]
    for issue in unsafe[:_SHOWN]:
        note(options, f"{item.name}: left out: {issue.code} at {issue.offset:#x} in {issue.path}: {issue.message}")
    more = sum(counts.values()) - len(unsafe[:_SHOWN])
    if more > 0:
        note(options, f"{item.name}: left out: {more} more (keyframer check lists them)")
