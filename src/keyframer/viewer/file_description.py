"""Describes a file for the page: its tree, tracks, times, lights and issues, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.checking import Report, issue_record, unlisted
from keyframer.curves import Interpolation, Track
from keyframer.errors import FormatError, known_offset
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.spans import written_span
from keyframer.formats.kit.coordinates import to_right_handed_y_up
from keyframer.rendering import Renderer, Settings
from keyframer.rendering.lighting import file_lighting
from keyframer.scene import Channel, Clip, LightType, Node, RawChannel, Scene
from keyframer.scene.loss_report import OUTCOME_WORDS, Loss, LossReport, error_text
from keyframer.text import shortened
from keyframer.textures import TextureSource
from keyframer.textures.texture_usage import TextureUse
from keyframer.viewer.json_data import number, numbers
from keyframer.viewer.saving import SAVE_CHOICES, SavedFile
from keyframer.viewer.source_locations import SourceLocations, place_json
from keyframer.viewer.track_curves import ClipCurves, raw_moves

if TYPE_CHECKING:
    from keyframer.viewer.viewed_file import LoadedFile

MOST_LOSSES = 200
"""maximum number of losses of one outcome that are listed; all are counted"""
MOST_USERS = 5
"""maximum number of users of an image that are listed"""
SCHEMA = "keyframer.viewer"
SCHEMA_VERSION = 2

Json = dict[str, Any]


def describe(name: str, loaded: LoadedFile, report: Report, places: SourceLocations | None) -> Json:
    """Return all that the page needs before anything is selected. Clips have only names here (see `describe_clip`)."""
    scene = loaded.scene
    description: Json = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "size": len(loaded.data),
        "format": None if report.format is None else report.format.title,
        "verdict": report.verdict,
        "failure": None if loaded.failure is None else _failure(loaded.failure),
        "issues": [{**issue_record(issue), "node": places and places.node_at(issue.offset)} for issue in report.issues],
        "unlisted": unlisted(report),
        "clips": [],
        "nodes": [],
        "model": scene is not None,
        "has_mesh": scene is not None and any(node.mesh is not None for node in scene.nodes),
        "saves": [
            {"number": number, "title": choice.title, "ending": choice.ending}
            for number, choice in enumerate(SAVE_CHOICES)
            if choice.is_possible(loaded)
        ],
    }
    if scene is None:
        return description
    description["clips"] = [shortened(clip.name) for clip in scene.clips]
    description["nodes"] = _nodes(scene, places)
    description["counts"] = {
        "vertices": sum(len(mesh.positions) for mesh in scene.meshes),
        "faces": sum(len(mesh.corners) for mesh in scene.meshes),
        "materials": len(scene.materials),
    }
    description["space"] = str(scene.space)
    conversion, mirror = to_right_handed_y_up(scene.space)
    # to_file · world · mirror is the world matrix of a node in the axes of the file, if world is that of the model
    description["axes"] = {"to_file": conversion.T.tolist(), "mirror": mirror.tolist()}
    return description


def describe_clip(clip: Clip, first: int, curves: ClipCurves, places: SourceLocations | None) -> Json:
    """Return times and tracks of a clip; ``first`` is the index of its first track among those of all clips."""
    unit = clip.units_per_frame or 1.0
    tracks = [
        *(
            {"moves": curves.moves(number), **_track(channel, places, unit)}
            for number, channel in enumerate(clip.channels)
        ),
        *({"moves": raw_moves(channel), **_raw_track(channel, places)} for channel in clip.raw_channels),
    ]
    numbered = [{"number": first + number, **track} for number, track in enumerate(tracks)]
    return {"timing": _timing(clip), "tracks": numbered}


def describe_losses(report: LossReport, images: Sequence[TextureUse]) -> Json:
    """Return the losses of the page's model, and its images, except for usable ones that are embedded or found by their
    exact name.
    """
    return {
        "summary": shortened(report.summary(), 1_000),
        "losses": [
            {
                "outcome": outcome.value,
                "words": words,
                "count": report.count(outcome),
                "listed": [_loss(loss) for loss in report.of(outcome)[:MOST_LOSSES]],
            }
            for outcome, words in OUTCOME_WORDS.items()
            if report.count(outcome)
        ],
        "images": [
            {
                "name": shortened(use.name),
                "status": "missing" if use.status == "not looked for" else use.status,
                "note": shortened(use.note or "", 300),
                "users": [shortened(user) for user in use.users[:MOST_USERS]],
                "more_users": max(0, len(use.users) - MOST_USERS),
            }
            for use in images
            if use.status not in ("found", "embedded")
        ],
    }


def describe_saved(saved: SavedFile) -> Json:
    """Return name, size and losses of a saved file."""
    losses = None if saved.report is None else describe_losses(saved.report, [])
    return {"name": shortened(saved.name), "size": len(saved.data), "losses": losses}


def _loss(loss: Loss) -> Json:
    error = "" if loss.error is None else f"error {error_text(loss.error, loss.unit)}"
    return {
        "code": loss.type.key,
        "path": shortened(loss.path),
        "detail": shortened("; ".join(part for part in (loss.detail, loss.advice, error) if part), 300),
        "offset": loss.source_offset,
    }


def _failure(error: FormatError) -> Json:
    return {
        "code": error.code,
        "offset": known_offset(error.code, error.offset, error.path),
        "path": shortened(error.path, 1_000),
        "message": shortened(error.message, 1_000),
    }


def glb_node_index(scene: Scene, index: int) -> int:
    """Return the index of a node in the GLB."""
    return index + int(Axes(scene.space).needs_root or bool(scene.skins))


def _nodes(scene: Scene, places: SourceLocations | None) -> list[Json]:
    return [
        {
            "name": shortened(node.name),
            "kind": node.kind.value,
            "parent": _parent(scene, index),
            "gltf": glb_node_index(scene, index),
            "mesh": node.mesh is not None,
            "camera": node.camera,
            "light": node.light,
            "hidden": node.hidden,
            **_node_places(node, places),
        }
        for index, node in enumerate(scene.nodes)
    ]


def _node_places(node: Node, places: SourceLocations | None) -> Json:
    entries = [] if places is None else [{"span": span, "what": what} for span, what in places.node_places(node)]
    return {"places": entries, "nowhere": "" if entries or places is None else places.reason_without_location(node)}


def _track_place(channel: Channel | RawChannel, places: SourceLocations | None) -> Json:
    place = None if places is None else places.track_place(channel)
    return {
        "place": place_json(place),
        "nowhere": "" if place is not None or places is None else places.reason_without_location(channel),
    }


def _parent(scene: Scene, index: int) -> int | None:
    parent = scene.nodes[index].parent
    return parent if parent is not None and 0 <= parent < len(scene.nodes) and parent != index else None


def _timing(clip: Clip) -> Json:
    """Return the timing in frames; ``(frame - first) / rate`` is the time in the animation of the model."""
    span = written_span(clip, None)
    unit = clip.units_per_frame or 1.0
    first, last = span.begin / unit, span.end / unit
    start, end = _clamped(clip.start / unit, first, last), _clamped(clip.end / unit, first, last)
    return {
        "name": shortened(clip.name),
        "first": first,
        "last": last,
        "start": start,
        "end": end if end > start else last,
        "rate": span.rate / unit,
        "current": None if clip.current is None else number(_clamped(clip.current / unit, first, last)),
    }


def _clamped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high) if np.isfinite(value) else low


def _track(channel: Channel, places: SourceLocations | None, unit: float) -> Json:
    track = channel.track
    return {
        "node": channel.node,
        "kind": track.kind,
        "interpolation": track.interpolation.value,
        "wrap": track.wrap.value,
        "times": _times(track, unit),
        **_track_place(channel, places),
    }


def _raw_track(channel: RawChannel, places: SourceLocations | None) -> Json:
    """Return a raw channel: numbers with unknown meaning, one row per frame, without a node."""
    return {
        "node": None,
        "kind": shortened(channel.name),
        "interpolation": "raw",
        "wrap": "single",
        "times": {"first": 0, "step": 1, "count": len(channel.values)},
        **_track_place(channel, places),
    }


def _times(track: Track, unit: float) -> list[float | None] | Json:
    """Return the frames of the keys; those of a sampled track as first frame, step and count."""
    count = len(track.times)
    if track.interpolation is Interpolation.SAMPLED and count > 2:
        step = (track.times[-1] - track.times[0]) / (count - 1)
        if np.isfinite(step):
            return {"first": number(track.times[0] / unit), "step": number(step / unit), "count": count}
    return numbers(track.times / unit)


_PIXELS = 64
"""width and height of the picture that measures how much light is missing"""
_LIGHT_TRACKS = ("color", "multiplier")
"""kinds of tracks that the page plays on lights"""


def describe_lights(
    scene: Scene, clip: int, curves: ClipCurves | None, textures: TextureSource | None, gltf_nodes: list[int]
) -> dict[str, Any]:
    """Return the lights of one clip, the ambient light, the added studio light and the exposure. ``gltf_nodes`` has the
    index of each node in the model.

    Lights are as in rendered pictures: colours as stored, attenuated only by ranges, plus as much studio light as a
    thumbnail needs. The page uses these lights instead of those of the glTF model.
    """
    renderer = Renderer(scene, Settings(_PIXELS, _PIXELS), textures=textures)
    lighting = file_lighting(renderer.pose_at(renderer.default_frame), 0)
    light_curves = {} if curves is None else _light_curves(scene, clip, curves)
    lights = []
    for index, node in enumerate(scene.nodes):
        light = None if node.light is None else scene.lights[node.light]
        if light is None or light.type is LightType.AMBIENT:
            continue
        ranges = [light.inner_range, light.outer_range] if light.attenuated else [None, None]
        lights.append(
            {
                "gltf": gltf_nodes[index],
                "on": light.on,
                "color": [number(part) for part in light.color],
                "multiplier": number(light.multiplier),
                "ranges": [None if distance is None else number(distance) for distance in ranges],
                "curves": light_curves.get(index, {}),
            }
        )
    fill, gain = renderer.exposure()
    ambient = [0, 0, 0] if lighting is None else lighting.ambient
    return {"lamps": lights, "ambient": ambient, "fill": fill, "gain": gain}


def _light_curves(scene: Scene, clip: int, curves: ClipCurves) -> dict[int, dict[str, object]]:
    """Return the curves of the tracks that animate lights, by node and kind."""
    light_curves: dict[int, dict[str, object]] = {}
    for index, channel in enumerate(scene.clips[clip].channels):
        if channel.track.kind in _LIGHT_TRACKS and 0 <= channel.node < len(scene.nodes) and len(channel.track.times):
            light_curves.setdefault(channel.node, {})[channel.track.kind] = curves.curve(index)["curve"]
    return light_curves
