"""The content of a scene as tables: clip, node tree, tracks, meshes, materials, cameras, lights, skins.

The tables of tracks and maps are named ``curves`` and ``images``: see `TABLES`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np

from keyframer.curves import Track
from keyframer.exchange import Importer
from keyframer.formats.kit.summary_tables import Cell, Table
from keyframer.inspecting import TABLES
from keyframer.issues import Issue
from keyframer.scene import Scene
from keyframer.text import counted
from keyframer.textures import TextureFinder, TextureUse, scene_textures


def imported_overview(scene: Scene, importer: Importer, size: int) -> Table:
    """Return the overview of a file of an exchange format."""
    overview = _table("overview", "what", "value")
    overview.add("format", f"{importer.title} ({importer.name})")
    overview.add("size in bytes", size)
    generator = scene.extras.get("gltf", {}).get("generator")
    if isinstance(generator, str) and generator:
        overview.add("made by", generator)
    return overview


def issue_table(issues: Iterable[Issue]) -> Table:
    table = _table("issues", "severity", "code", "offset", "path", "message")
    for issue in issues:
        table.add(issue.severity.label, issue.code, issue.offset, issue.path, issue.message)
    return table


def scene_tables(scene: Scene, finder: TextureFinder | None = None) -> list[Table]:
    """Return the tables that have rows; without ``finder`` images are only named."""
    tables = [
        _overview(scene),
        _nodes(scene),
        _tracks(scene),
        _meshes(scene),
        _materials(scene),
        _maps(scene),
        texture_table(scene_textures(scene, finder), finder),
        _cameras(scene),
        _lights(scene),
        _skins(scene),
        _raw_channels(scene),
    ]
    return [table for table in tables if table.rows]


def _table(name: str, *columns: str) -> Table:
    return Table(name, TABLES[name], columns)


def _overview(scene: Scene) -> Table:
    table = _table("scene", "what", "value")
    table.add("axes", str(scene.space))
    table.add("unit", scene.space.unit)
    for name in ("title", "author", "copyright"):
        if getattr(scene, name):
            table.add(name, getattr(scene, name))
    for clip in scene.clips:
        keys = sum(len(channel.track.times) for channel in clip.channels)
        seconds = (clip.end - clip.start) / clip.rate
        span = f"{clip.unit}s {clip.start:g} to {clip.end:g}"
        span += f" ({seconds:.4g} s at {clip.frames_per_second:g} frames per second)"
        table.add("clip", clip.name)
        table.add("time", span)
        table.add("channels", f"{len(clip.channels)} with {counted(keys, 'key')}")
        if clip.bounds is not None:
            table.add("bounding boxes", f"one per frame, {counted(len(clip.bounds), 'frame')}")
    return table


def tree_order(scene: Scene) -> Iterator[tuple[int, int]]:
    """Yield node indices with their depth, parents before children."""
    children: list[list[int]] = [[] for _ in scene.nodes]
    roots: list[int] = []
    for number, node in enumerate(scene.nodes):
        (roots if node.parent is None else children[node.parent]).append(number)
    stack = [(number, 0) for number in reversed(roots)]
    while stack:
        number, depth = stack.pop()
        yield number, depth
        stack += [(child, depth + 1) for child in reversed(children[number])]


def _nodes(scene: Scene) -> Table:
    table = _table("tree", "node", "kind", "id", "mesh", "looks at", "pivot", "hidden", "moves")
    moving: dict[int, dict[str, None]] = {}
    for clip in scene.clips:
        for channel in clip.channels:
            if len(channel.track.times) > 1:
                moving.setdefault(channel.node, {})[channel.track.kind] = None
    for number, depth in tree_order(scene):
        node = scene.nodes[number]
        pivot = " ".join(f"{part:.4g}" for part in node.pivot) if node.pivot.any() else None
        target = scene.nodes[node.target].name if node.target is not None else None
        mesh = scene.meshes[node.mesh].name if node.mesh is not None else None
        moves = ", ".join(moving.get(number, ()))
        kind, hidden = node.kind.value, node.hidden or None
        table.add(node.name, kind, node.file_id, mesh, target, pivot, hidden, moves, depth=depth)
    return table


def _tracks(scene: Scene) -> Table:
    columns = ("node", "track", "keys", "first", "last", "interpolation", "wrap", "rotation keys", "shaped by")
    several = len(scene.clips) > 1
    table = _table("curves", *columns, *(["clip"] if several else []))
    for clip in scene.clips:
        for channel in clip.channels:
            track = channel.track
            first, last = (float(track.times.min()), float(track.times.max())) if len(track.times) else (None, None)
            form = track.form.value.replace("_", " ") if track.is_rotation else None
            keys: list[Cell] = [scene.nodes[channel.node].name, track.kind, len(track.times), first, last]
            shape: list[Cell] = [track.interpolation.value, track.wrap.value, form, _shape(track)]
            table.add(*keys, *shape, *([clip.name] if several else []))
    return table


def _shape(track: Track) -> str | None:
    """Return which of tension, continuity, bias and ease have values other than 0."""
    names = ("tension", "continuity", "bias", "ease_to", "ease_from")
    used = [name.replace("_", " ") for name in names if (column := getattr(track, name)) is not None and np.any(column)]
    return ", ".join(used) or None


def _meshes(scene: Scene) -> Table:
    table = _table("meshes", "mesh", "vertices", "faces", "uv", "colours", "smooth", "materials")
    for mesh in scene.meshes:
        numbers = [] if mesh.face_materials is None else mesh.face_materials[mesh.face_materials >= 0].tolist()
        used = [scene.materials[number].name for number in sorted(set(numbers))]
        smooth = mesh.smoothing is not None and bool(np.any(mesh.smoothing))
        materials = ", ".join(used[:8]) + (" …" if len(used) > 8 else "")
        counts = len(mesh.positions), len(mesh.corners)
        table.add(mesh.name, *counts, mesh.uv is not None, mesh.colors is not None, smooth, materials)
    return table


def _materials(scene: Scene) -> Table:
    columns = ("shininess", "shininess strength", "transparency", "self-illumination", "two-sided", "shading", "maps")
    table = _table("materials", "material", *_COLORS, *columns)
    for material in scene.materials:
        colors = (_color(getattr(material, name)) for name in _COLORS)
        shine = material.shininess, material.shininess_strength
        surface = material.transparency, material.self_illumination, material.two_sided, material.shading
        maps = ", ".join(f"{slot} {map.file_name}".rstrip() for slot, map in material.maps.items())
        table.add(material.name, *colors, *shine, *surface, maps or None)
    return table


_COLORS = ("diffuse", "ambient", "specular")


def _color(color: Iterable[float] | None) -> str | None:
    """Return red, green and blue from 0 to 1; None if the file states no colour."""
    return None if color is None else " ".join(f"{part:.3g}" for part in color)


def _maps(scene: Scene) -> Table:
    table = _table("images", "material", "slot", "file", "amount", "repeats", "rotation")
    for material in scene.materials:
        for slot, map in material.maps.items():
            repeats = " ".join(f"{part:g}" for part in map.scale)
            table.add(material.name, slot, map.file_name, map.amount, repeats, map.rotation_degrees)
    return table


def _cameras(scene: Scene) -> Table:
    table = _table("cameras", "camera", "horizontal fov", "roll", "ranges")
    for camera in scene.cameras:
        table.add(camera.name, camera.fov_degrees, camera.roll_degrees, _pair(camera.clip or camera.ranges))
    return table


def _lights(scene: Scene) -> Table:
    table = _table("lights", "light", "type", "colour", "multiplier", "on", "hotspot, falloff", "range")
    for light in scene.lights:
        cone = _pair((light.hotspot_degrees, light.falloff_degrees))
        reach = _pair((light.inner_range, light.outer_range)) if light.attenuated else None
        table.add(light.name, light.type.value, _color(light.color), light.multiplier, light.on, cone, reach)
    return table


def _pair(pair: tuple[float | None, float | None] | None) -> str | None:
    if pair is None or pair[0] is None or pair[1] is None:
        return None
    return f"{pair[0]:g}, {pair[1]:g}"


def _skins(scene: Scene) -> Table:
    table = _table("skins", "skin", "joints", "influences", "kind")
    for skin in scene.skins:
        table.add(skin.name, len(skin.joints), len(skin.weights), "rigid" if skin.rigid else "weighted")
    return table


def _raw_channels(scene: Scene) -> Table:
    table = _table("raw_channels", "channel", "frames", "floats")
    for raw in (raw for clip in scene.clips for raw in clip.raw_channels):
        table.add(raw.name, *raw.values.shape[:2])
    return table


COLUMNS = ("name", "status", "found", "rule", "image", "used by", "note")
_SHOWN = 4
"""maximum number of users of one image that are named"""


def texture_table(images: Iterable[TextureUse], finder: TextureFinder | None) -> Table:
    """Return a table with one row per name; ``status`` is one of `keyframer.textures.texture_usage.STATUSES`."""
    table = _table("textures", *COLUMNS)
    for use in images:
        table.add(use.name, use.status, _where(use, finder), use.rule, use.image, _users(use), use.note)
    return table


def _where(use: TextureUse, finder: TextureFinder | None) -> str | None:
    """Return the name of an embedded image, or the path where an image was found: below the searched folder, or the
    full path if several folders were searched."""
    if use.embedded is not None:
        return use.embedded.name
    if use.match is None or use.match.path is None or finder is None:
        return None
    if len(finder.folders) > 1:
        return str(use.match.path)
    return os.path.relpath(use.match.path, finder.folders[0])


def _users(use: TextureUse) -> str:
    unnamed = len(use.users) - _SHOWN
    return ", ".join(use.users[:_SHOWN]) + (f" and {unnamed} more" if unnamed > 0 else "")
