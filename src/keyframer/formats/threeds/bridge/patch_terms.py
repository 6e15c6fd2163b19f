"""A changed scene as a 3D Studio file would say it: names that fit, times in frames, nothing that no chunk is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from keyframer.formats._scenediff import Path
from keyframer.formats._unheld import without_cone
from keyframer.formats.kit.frame_times import counted_like
from keyframer.formats.kit.scene_writing import DEFAULT_MAX_ERROR, NamesThatFit, Tolerance, encode_name, plain_path
from keyframer.formats.kit.skin_writing import without_skins
from keyframer.formats.threeds.bridge.materials import SHADINGS
from keyframer.formats.threeds.bridge.write_nodes import RESERVED
from keyframer.scene import LightType, Material, Node, NodeKind, Scene
from keyframer.scene.report import LossReport, Outcome

NO_PLACE = (
    *(("title",), ("author",), ("copyright",)),
    *(("meshes", "*", name) for name in ("colors", "color_corners", "dynamic")),
    ("cameras", "*", "clip"),
)

_OBJECT_LETTERS, _MATERIAL_LETTERS = 10, 16


def has_no_place(scene: Scene, path: Path) -> bool:
    """Cones and shadows are those of spotlights; ways of shading have a number each."""
    if path[:1] == ("materials",) and path[2:] == ("shading",):
        return scene.materials[int(path[1])].shading not in (None, *SHADINGS)
    if path[:1] == ("lights",) and path[2:] == ("casts_shadows",):
        return scene.lights[int(path[1])].type is not LightType.SPOT
    return without_cone(scene, path)


def in_its_terms(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene without skins, with times in frames as the file counts them: it does not say how many make a second."""
    scene = without_skins(scene, Tolerance.of(scene, DEFAULT_MAX_ERROR).length, report)
    return counted_like(scene, before)


def in_its_order(scene: Scene, stored: Scene, report: LossReport) -> Scene:
    """The scene with new names that fit, and cameras and lights that look where their target is."""
    names = _names(scene.nodes, stored.nodes, _OBJECT_LETTERS, RESERVED, report)
    nodes = [node if name is None else replace(node, name=name) for node, name in zip(scene.nodes, names, strict=True)]
    for number, was in enumerate(stored.nodes):
        node = nodes[number]
        if node.kind not in (NodeKind.CAMERA, NodeKind.LIGHT, NodeKind.TARGET):
            continue
        for name in ("rotation_xyzw", "scale"):
            if not np.array_equal(getattr(node, name), getattr(was, name)):
                words = f"a {node.kind.value} has none of its own"
                report.add(Outcome.DROPPED, f"{plain_path('nodes', node.name)}/{name}", words)
                nodes[number] = replace(nodes[number], **{name: getattr(was, name)})
    names = _names(scene.materials, stored.materials, _MATERIAL_LETTERS, (), report)
    paints = zip(scene.materials, names, strict=True)
    materials = [each if name is None else replace(each, name=name) for each, name in paints]
    return replace(scene, nodes=nodes, materials=materials)


def _names(
    parts: Sequence[Node | Material],
    stored: Sequence[Node | Material],
    letters: int,
    reserved: Sequence[bytes],
    report: LossReport,
) -> list[str | None]:
    """A name for each part that is called otherwise than in the file, short and its own; None for the others."""
    renamed = [
        part.name != was.name and getattr(part, "kind", None) is not NodeKind.TARGET
        for part, was in zip(parts, stored, strict=True)
    ]
    there = [was.raw_name or encode_name(was.name) for was, other in zip(stored, renamed, strict=True) if not other]
    fitting = NamesThatFit(letters, reserved=[*reserved, *there])
    found: list[str | None] = []
    for part, other in zip(parts, renamed, strict=True):
        shown = fitting.shown(fitting.claim(part.name)) if other else None
        if shown is not None and shown != part.name:
            path = plain_path("materials" if isinstance(part, Material) else "nodes", part.name)
            words = f"is called {shown!r}: names have at most {letters} letters, and there is one of each"
            report.add(Outcome.BAKED, path, words)
        found.append(shown)
    return found
