"""The summary of a file that ``keyframer info`` shows first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyframer.curves import RotationForm, Track
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.kit.summary_tables import Table
from keyframer.scene import Scene
from keyframer.text import counted

Facts = dict[str, Any]

COLUMNS = (
    "format", "title", "version", "size", "writer", "seconds", "first_frame", "last_frame", "frames_per_second",
    "clips", "nodes", "animated_nodes", "meshes", "triangles", "cameras", "lights", "materials", "images",
    "missing_images", "verdict", "errors", "warnings",
)  # fmt: skip

_NAMED = 3
"""most missing images that are named"""


def facts_of(opened: OpenedFile, tables: Sequence[Table], *, verdict: str, errors: int, warnings: int) -> Facts:
    """Return the summary of a file, with the keys `COLUMNS`; the last three are the result of a check."""
    scene = opened.scene(salvage=True) if _has_scene(opened) else Scene()
    by_name = {table.name: table for table in tables}
    stated = {str(row[0]): row[1] for row in by_name["overview"].rows}
    clip = scene.clips[0] if scene.clips else None
    timed = clip is not None and clip.rate > 0 and clip.units_per_frame > 0
    return {
        "format": opened.reader.name,
        "title": opened.reader.title,
        "version": stated.get("version"),
        "size": len(opened.data),
        "writer": stated.get("written by", stated.get("made by")),
        "seconds": (clip.end - clip.start) / clip.rate if clip and timed else None,
        "first_frame": clip.start / clip.units_per_frame if clip and timed else None,
        "last_frame": clip.end / clip.units_per_frame if clip and timed else None,
        "frames_per_second": clip.frames_per_second if clip and timed else None,
        "clips": len(scene.clips),
        "nodes": len(scene.nodes),
        "animated_nodes": len(_animated(scene)),
        "meshes": len(scene.meshes),
        "triangles": sum(len(mesh.corners) for mesh in scene.meshes),
        "cameras": len(scene.cameras),
        "lights": len(scene.lights),
        "materials": len(scene.materials),
        "images": len(by_name["textures"].rows) if "textures" in by_name else 0,
        "missing_images": len(_missing(tables)),
        "verdict": verdict,
        "errors": errors,
        "warnings": warnings,
    }


def _has_scene(opened: OpenedFile) -> bool:
    return opened.importer is not None or opened.document.format.reader() is not None


def facts_table(facts: Facts, tables: Sequence[Table]) -> Table:
    """Return the summary as a table for display."""
    table = Table("summary", "Summary", ("what", "value"))
    version = f", version {facts['version']}" if facts["version"] is not None else ""
    table.add("format", f"{facts['title']} ({facts['format']}){version}")
    table.add("size", f"{facts['size']:,} {'byte' if facts['size'] == 1 else 'bytes'}")
    if facts["writer"]:
        table.add("written by", facts["writer"])
    table.add("length", _length(facts))
    table.add("nodes", f"{facts['nodes']}, {facts['animated_nodes']} of them animated" if facts["nodes"] else "none")
    triangles = facts["triangles"]
    table.add(
        "meshes",
        f"{facts['meshes']} with {triangles:,} {'triangle' if triangles == 1 else 'triangles'}"
        if facts["meshes"]
        else "none",
    )
    for name in ("cameras", "lights", "materials"):
        table.add(name, facts[name] or "none")
    missing = _missing(tables)
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    lost = f", {len(missing)} missing: {', '.join(missing[:_NAMED])}{more}" if missing else ""
    table.add("images", f"{facts['images']}{lost}" if facts["images"] else "none")
    counts = [counted(facts[key], key[:-1]) for key in ("errors", "warnings") if facts[key]]
    table.add("check", f"{facts['verdict']} ({', '.join(counts)})" if counts else facts["verdict"])
    return table


def _length(facts: Facts) -> str:
    if not facts["clips"]:
        return "no animation"
    if facts["seconds"] is None:
        return "unknown: the file has no usable frame rate"
    clips = f"; the first of {facts['clips']} clips" if facts["clips"] != 1 else ""
    frames = f"frames {facts['first_frame']:g} to {facts['last_frame']:g}"
    return f"{facts['seconds']:.4g} s: {frames}, {facts['frames_per_second']:g} per second{clips}"


def _missing(tables: Sequence[Table]) -> list[str]:
    """Return the names of images that were not found, or that point outside the searched folders."""
    rows = next((table.rows for table in tables if table.name == "textures"), [])
    return [str(row[0]) for row in rows if row[1] in ("missing", "refused")]


def _animated(scene: Scene) -> set[int]:
    """Return the nodes with at least one track whose keys differ."""
    return {channel.node for clip in scene.clips for channel in clip.channels if _changes(channel.track)}


def _changes(track: Track) -> bool:
    if len(track.times) < 2:
        return False
    if track.form is RotationForm.AXIS_ANGLE_RELATIVE:
        return bool((track.values[1:, 3] != 0).any())
    if track.form is RotationForm.QUATERNION_RELATIVE:
        return bool((track.values[1:, :3] != 0).any())
    return bool((track.values[1:] != track.values[0]).any())
