"""Opening the inputs of commands, and loading their scenes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from keyframer.cli.inputs import FileInput, Input, MemberInput
from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.operations.reading_options import bridge_options
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.scene import Scene


def open_input(item: Input, options: argparse.Namespace) -> OpenedFile:
    """Read and open an input with the options of the command line."""
    path, format = path_of(item), options.from_format
    return OpenedFile(item.read(), name=item.name, path=path, format=format, options=bridge_options(options))


def path_of(item: Input) -> Path | None:
    """Return the path of an input, for finding its companions; None for stdin."""
    return Path(item.name) if isinstance(item, (FileInput, MemberInput)) else None


def load_scene(item: Input, options: argparse.Namespace) -> Scene:
    """Load the scene of an input."""
    return scene_of_opened(item, open_input(item, options), options)


def scene_of_opened(item: Input, opened: OpenedFile, options: argparse.Namespace) -> Scene:
    """Load the scene of an opened input."""
    try:
        scene = opened.scene(salvage=options.salvage)
    except FormatError as error:
        if not options.salvage:
            add_hint(error, opened)
        raise
    report_left_out(item, scene, options)
    choose_clip(item, scene, options)
    return scene


_SHOWN = 5
"""maximum number of left-out parts that are listed"""


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
    """Report the parts that were left out, and set ``options.salvaged`` for the exit code."""
    counts = scene.issues.unsafe_counts()
    if not counts:
        return
    options.salvaged = True
    unsafe = [issue for issue in scene.issues if issue.unsafe]
    for issue in unsafe[:_SHOWN]:
        note(options, f"{item.name}: left out: {issue.code} at {issue.offset:#x} in {issue.path}: {issue.message}")
    unlisted = sum(counts.values()) - len(unsafe[:_SHOWN])
    if unlisted > 0:
        note(options, f"{item.name}: left out: {unlisted} more (keyframer check lists them)")


def choose_clip(item: Input, scene: Scene, options: argparse.Namespace) -> None:
    """Keep only the clip of ``--clip``; without this option, report that the first of several clips is used.

    Raises FormatError for an unknown name."""
    if not hasattr(options, "clip") or (options.clip is None and len(scene.clips) < 2):
        return
    from keyframer.editing import keep_clip, listed_clips

    if options.clip is not None:
        keep_clip(scene, options.clip)
        return
    listed = listed_clips(scene)
    note(options, f"{item.name}: using the first of {len(scene.clips)} clips; --clip chooses: {listed}")
