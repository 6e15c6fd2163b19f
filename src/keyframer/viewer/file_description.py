"""A file as the page sees it: its tree, tracks, times and issues, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.checking import Report
from keyframer.checking.check_report import issue_record, unlisted
from keyframer.curves import Interpolation, Track
from keyframer.errors import FormatError
from keyframer.exchange.gltf.conventions import Axes
from keyframer.exchange.gltf.write.scene_extent import written_span
from keyframer.scene import Channel, Clip, Node, RawChannel, Scene
from keyframer.viewer.json_data import number, numbers, shown
from keyframer.viewer.source_locations import Finder
from keyframer.viewer.track_bytes import place_json

if TYPE_CHECKING:
    from keyframer.viewer.viewed_file import Material

SCHEMA = "keyframer.viewer"
SCHEMA_VERSION = 1

Json = dict[str, Any]


def describe(name: str, material: Material, report: Report, places: Finder | None) -> Json:
    """All that the page needs before anything is selected."""
    scene = material.scene
    found: Json = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "size": len(material.data),
        "format": None if report.format is None else report.format.title,
        "verdict": report.verdict,
        "failure": None if material.failure is None else _failure(material.failure),
        "issues": [{**issue_record(issue), "node": _node_at(places, issue.offset)} for issue in report.issues],
        "unlisted": unlisted(report),
        "clips": 0,
        "nodes": [],
        "tracks": [],
        "timing": None,
        "model": scene is not None,
        "has_mesh": scene is not None and any(node.mesh is not None for node in scene.nodes),
    }
    if scene is None:
        return found
    clip = scene.clips[0] if scene.clips else None
    found["clips"] = len(scene.clips)
    found["nodes"] = _nodes(scene, places)
    if clip is not None:
        unit = clip.units_per_frame or 1.0
        found["timing"] = _timing(clip)
        found["tracks"] = [
            *(_track(channel, places, unit) for channel in clip.channels),
            *(_raw_track(channel, places) for channel in clip.raw_channels),
        ]
    found["counts"] = {
        "vertices": sum(len(mesh.positions) for mesh in scene.meshes),
        "faces": sum(len(mesh.corners) for mesh in scene.meshes),
        "materials": len(scene.materials),
    }
    found["space"] = str(scene.space)
    return found


def _failure(error: FormatError) -> Json:
    return {
        "code": error.code,
        "offset": error.offset,
        "path": shown(error.path, 1_000),
        "message": shown(error.message, 1_000),
        "hint": shown("; ".join(getattr(error, "__notes__", ())), 1_000),
    }


def _node_at(places: Finder | None, offset: int) -> int | None:
    return None if places is None else places.node_at(offset)


def _nodes(scene: Scene, places: Finder | None) -> list[Json]:
    first = int(Axes(scene.space).needs_root or bool(scene.skins))
    return [
        {
            "name": shown(node.name),
            "kind": node.kind.value,
            "parent": _parent(scene, index),
            "gltf": first + index,
            "mesh": node.mesh is not None,
            "camera": node.camera,
            "light": node.light,
            "hidden": node.hidden,
            **_node_places(node, places),
        }
        for index, node in enumerate(scene.nodes)
    ]


def _node_places(node: Node, places: Finder | None) -> Json:
    found = [] if places is None else [{"span": span, "what": what} for span, what in places.node_places(node)]
    return {"places": found, "nowhere": "" if found or places is None else places.why_nowhere(node)}


def _track_place(channel: Channel | RawChannel, places: Finder | None) -> Json:
    place = None if places is None else places.track_place(channel)
    return {
        "place": place_json(place),
        "nowhere": "" if place is not None or places is None else places.why_nowhere(channel),
    }


def _parent(scene: Scene, index: int) -> int | None:
    parent = scene.nodes[index].parent
    return parent if parent is not None and 0 <= parent < len(scene.nodes) and parent != index else None


def _timing(clip: Clip) -> Json:
    """In frames. ``seconds = (frame - first) / rate`` is the time in the model's animation."""
    span = written_span(clip, None)
    unit = clip.units_per_frame or 1.0
    first, last = span.begin / unit, span.end / unit
    start, end = _inside(clip.start / unit, first, last), _inside(clip.end / unit, first, last)
    return {
        "name": shown(clip.name),
        "first": first,
        "last": last,
        "start": start,
        "end": end if end > start else last,
        "rate": span.rate / unit,
        "current": None if clip.current is None else number(_inside(clip.current / unit, first, last)),
    }


def _inside(value: float, low: float, high: float) -> float:
    return min(max(value, low), high) if np.isfinite(value) else low


def _track(channel: Channel, places: Finder | None, unit: float) -> Json:
    track = channel.track
    return {
        "node": channel.node,
        "kind": track.kind,
        "interpolation": track.interpolation.value,
        "wrap": track.wrap.value,
        "times": _times(track, unit),
        **_track_place(channel, places),
    }


def _raw_track(channel: RawChannel, places: Finder | None) -> Json:
    """Numbers of which nobody knows what they move: a row for each frame, of no node."""
    return {
        "node": None,
        "kind": shown(channel.name),
        "interpolation": "raw",
        "wrap": "single",
        "times": {"first": 0, "step": 1, "count": len(channel.values)},
        **_track_place(channel, places),
    }


def _times(track: Track, unit: float) -> list[float | None] | Json:
    """Frames of the keys; one for each frame is said in three numbers."""
    count = len(track.times)
    if track.interpolation is Interpolation.SAMPLED and count > 2:
        step = (track.times[-1] - track.times[0]) / (count - 1)
        if np.isfinite(step):
            return {"first": number(track.times[0] / unit), "step": number(step / unit), "count": count}
    return numbers(track.times / unit)
