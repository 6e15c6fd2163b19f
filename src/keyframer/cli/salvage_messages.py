"""Damage in a line: what ``--salvage`` could still save, and what it left out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from keyframer.cli.inputs import Input
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile

if TYPE_CHECKING:
    from keyframer.scene import Scene

_SHOWN = 5


def add_hint(error: FormatError, opened: OpenedFile) -> None:
    """Say with a refusal what salvage would save; nothing where that is nothing."""
    try:
        saved = content_of(opened.scene(salvage=True))
    except (FormatError, ValueError):
        return
    if saved:
        error.add_note(f"--salvage saves {saved}")


def content_of(scene: Scene) -> str:
    """How much there is in a scene, in words."""
    keys = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
    counts = {
        "node": len(scene.nodes),
        "mesh": len(scene.meshes),
        "material": len(scene.materials),
        "key": keys + sum(len(raw.values) for clip in scene.clips for raw in clip.raw_channels),
    }
    plural = {"mesh": "meshes"}
    return ", ".join(
        f"{count} {word if count == 1 else plural.get(word, word + 's')}" for word, count in counts.items() if count
    )


def tell(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Name what was left out, and remember that something was: the command will end with 1."""
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
