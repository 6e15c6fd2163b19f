"""A file as the page sees it: its tree, tracks, times and issues, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.checking import Report
from keyframer.checking.records import issue_record, unlisted
from keyframer.curves import Interpolation, Track
from keyframer.errors import FormatError
from keyframer.exchange.gltf.axes import Axes
from keyframer.exchange.gltf.span import clip_span
from keyframer.scene import Channel, Clip, Scene
from keyframer.viewer.places import Places
from keyframer.viewer.plain import number, numbers, shown

if TYPE_CHECKING:
    from keyframer.viewer.content import Material

SCHEMA = "keyframer.viewer"
SCHEMA_VERSION = 1

Json = dict[str, Any]


def describe(name: str, material: Material, report: Report, places: Places | None) -> Json:
    """All that the page needs before anything is selected."""
    document, scene = material.document, material.scene
    found: Json = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "size": len(material.data),
        "format": None if document is None else document.format.title,
        "verdict": report.verdict,
        "failure": None if material.failure is None else _failure(material.failure),
        "issues": [{**issue_record(issue), "node": _node_at(places, issue.offset)} for issue in report.issues],
        "unlisted": unlisted(report),
        "nodes": [],
        "tracks": [],
        "timing": None,
        "model": scene is not None,
        "has_mesh": scene is not None and any(node.mesh is not None for node in scene.nodes),
    }
    if scene is None or places is None:
        return found
    clip = scene.clips[0] if scene.clips else None
    found["nodes"] = _nodes(scene, places)
    if clip is not None:
        unit = clip.units_per_frame or 1.0
        found["timing"] = _timing(clip)
        found["tracks"] = [_track(channel, places.track_span(i), unit) for i, channel in enumerate(clip.channels)]
        found["raw_channels"] = [
            {"name": shown(each.name), "frames": len(each.values), "width": int(np.prod(each.values.shape[1:]))}
            for each in clip.raw_channels
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
    }


def _node_at(places: Places | None, offset: int) -> int | None:
    return None if places is None else places.node_at(offset)


def _nodes(scene: Scene, places: Places) -> list[Json]:
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
            "places": places.node_spans(index),
        }
        for index, node in enumerate(scene.nodes)
    ]


def _parent(scene: Scene, index: int) -> int | None:
    parent = scene.nodes[index].parent
    return parent if parent is not None and 0 <= parent < len(scene.nodes) and parent != index else None


def _timing(clip: Clip) -> Json:
    """In frames. ``seconds = (frame - first) / rate`` is the time in the model's animation."""
    span = clip_span(clip, None)
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


def _track(channel: Channel, span: tuple[int, int] | None, unit: float) -> Json:
    track = channel.track
    return {
        "node": channel.node,
        "kind": track.kind,
        "interpolation": track.interpolation.value,
        "wrap": track.wrap.value,
        "times": _times(track, unit),
        "place": span,
    }


def _times(track: Track, unit: float) -> list[float | None] | Json:
    """Frames of the keys; one for each frame is said in three numbers."""
    count = len(track.times)
    if track.interpolation is Interpolation.SAMPLED and count > 2:
        step = (track.times[-1] - track.times[0]) / (count - 1)
        if np.isfinite(step):
            return {"first": number(track.times[0] / unit), "step": number(step / unit), "count": count}
    return numbers(track.times / unit)
