"""The differences between two scenes of any formats: parts added, removed or changed, with paths of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from keyframer.inspecting.record_diff import Change, Changes, FieldChange
from keyframer.scene import Camera, Light, Material, Mesh, Node, Scene

Summary = Mapping[str, object]

_CLOSE = 1e-5
"""relative difference below which numbers are treated as equal: formats store float32 or other units of angles"""


def diff_scenes(a: Scene, b: Scene) -> Changes:
    """Compare nodes, meshes, materials, cameras, lights and tracks by name."""
    changes = Changes()
    for kind in ("nodes", "meshes", "materials", "cameras", "lights", "tracks"):
        before, after = _parts(a, kind), _parts(b, kind)
        for name in dict.fromkeys([*before, *after]):
            path = f"/{kind}/{name}"
            one, other = before.get(name), after.get(name)
            if one is None or other is None:
                added = one is None
                changes.add(
                    Change("added" if added else "removed", kind, None if added else path, path if added else None)
                )
                continue
            fields = tuple(
                FieldChange(field, one[field], other[field]) for field in one if not _same(one[field], other[field])
            )
            if fields:
                changes.add(Change("changed", kind, path, path, fields))
    return changes


def _parts(scene: Scene, kind: str) -> dict[str, Summary]:
    if kind == "tracks":
        return _tracks(scene)
    summaries: dict[str, Summary] = {}
    lists: dict[str, Iterable[Node | Mesh | Material | Camera | Light]] = {
        "nodes": scene.nodes,
        "meshes": scene.meshes,
        "materials": scene.materials,
        "cameras": scene.cameras,
        "lights": scene.lights,
    }
    for part in lists[kind]:
        name, number = part.name, 2
        while name in summaries:
            name, number = f"{part.name}[{number}]", number + 1
        summaries[name] = _summary(scene, part)
    return summaries


def _summary(scene: Scene, part: Node | Mesh | Material | Camera | Light) -> Summary:
    """Return the properties of a part that can be compared across formats."""
    if isinstance(part, Node):
        return {
            "kind": part.kind.value,
            "parent": None if part.parent is None else scene.nodes[part.parent].name,
            "hidden": part.hidden,
            "has mesh": part.mesh is not None,
        }
    if isinstance(part, Mesh):
        return {"vertices": len(part.positions), "faces": len(part.corners), "textured": part.uv is not None}
    if isinstance(part, Material):
        maps = ", ".join(f"{slot}: {texture.file_name}" for slot, texture in sorted(part.maps.items()))
        return {"diffuse": part.diffuse, "transparency": part.transparency, "two-sided": part.two_sided, "maps": maps}
    if isinstance(part, Camera):
        return {"fov": part.fov_degrees, "roll": part.roll_degrees}
    return {"type": part.type.value, "colour": part.color, "multiplier": part.multiplier, "on": part.on}


def _tracks(scene: Scene) -> dict[str, Summary]:
    summaries: dict[str, Summary] = {}
    for clip in scene.clips[:1]:
        for channel in clip.channels:
            track = channel.track
            summaries[f"{scene.nodes[channel.node].name}/{track.kind}"] = {
                "keys": len(track.times),
                "interpolation": track.interpolation.value,
                "wrap": track.wrap.value,
                "span": _seconds(track.times, clip.rate),
            }
    return summaries


def _seconds(times: npt.NDArray[np.float64], rate: float) -> tuple[float, ...] | None:
    good = times[np.isfinite(times)]
    return (float(good.min()) / rate, float(good.max()) / rate) if len(good) and rate else None


def _same(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(one, other) for one, other in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, (float, int)):
        return a == b or abs(a - b) <= _CLOSE * max(abs(a), abs(b), 1.0)
    return a == b
