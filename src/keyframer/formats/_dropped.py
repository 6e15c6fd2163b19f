"""What a format has no place for at all, said out loud: one line for each kind of thing that a scene has of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from keyframer.scene import Clip, Environment, Node, NodeKind, Scene
from keyframer.scene.report import LossReport, Outcome

MOTION = ("position", "rotation", "scale")
"""the channels that place a node"""


_INSIDE = {
    "skins": "meshes",
    "morphs": "meshes",
    "smoothing": "meshes",
    "vertex colours": "meshes",
    "cast shadows": "meshes",
    "received shadows": "meshes",
    "textures": "materials",
}


def tell_dropped(scene: Scene, clip: Clip, report: LossReport, holds: Collection[str]) -> None:
    """Report what the scene has and the format does not hold.

    ``holds`` are the words of the kinds it does hold: ``tree``, ``meshes``, ``materials``, ``cameras``, ``lights``,
    ``skins``, ``morphs``, ``pivots``, ``scale axes``, ``smoothing``, ``vertex colours``, ``textures``, ``hidden``,
    ``environment``, ``bounds``, ``raw channels``, ``cast shadows``, ``received shadows``, ``title``, ``authors``, and
    those of channels (``scale``, ``fov`` …).
    """
    for what, detail in _present(scene, clip):
        inside = _INSIDE.get(what)  # said already where the whole has no place
        if what not in holds and (inside is None or inside in holds):
            report.add(Outcome.DROPPED, f"/{what.replace(' ', '_')}", f"the format has no place for {detail}")
    kinds = Counter(each.track.kind for each in clip.channels)
    for kind in sorted(set(kinds) - set(MOTION) - {"morph"} - set(holds)):
        report.add(Outcome.DROPPED, f"/channels/{kind}", f"the format has no place for {kinds[kind]} {kind} tracks")


def _present(scene: Scene, clip: Clip) -> list[tuple[str, str]]:
    nodes = scene.nodes
    environment = scene.environment
    kinds = (
        ("tree", sum(node.parent is not None for node in nodes), "parents of nodes"),
        ("meshes", len(scene.meshes), "meshes"),
        ("materials", len(scene.materials), "materials"),
        ("cameras", len(scene.cameras), "cameras"),
        ("lights", len(scene.lights), "lights"),
        ("skins", len(scene.skins), "skins"),
        ("morphs", sum(node.morph is not None for node in nodes), "meshes that change their shape"),
        ("pivots", sum(bool(np.any(node.pivot)) for node in nodes), "pivots"),
        ("scale axes", sum(node.scale_axes_xyzw is not None for node in nodes), "nodes scaled along axes of their own"),
        ("hidden", sum(node.hidden for node in nodes), "hidden nodes"),
        ("smoothing", sum(mesh.smoothing is not None for mesh in scene.meshes), "meshes with smoothing groups"),
        ("vertex colours", sum(mesh.colors is not None for mesh in scene.meshes), "meshes with vertex colours"),
        ("cast shadows", sum(not mesh.casts_shadows for mesh in scene.meshes), "meshes that cast no shadows"),
        ("received shadows", sum(not mesh.receives_shadows for mesh in scene.meshes), "meshes that receive no shadows"),
        ("textures", sum(bool(each.maps) for each in scene.materials), "materials with maps"),
        ("raw channels", len(clip.raw_channels), "raw channels"),
    )
    found = [(what, f"{count} {words}") for what, count, words in kinds if count]
    around = [words for words, there in _surroundings(environment) if there]
    if around:
        found.append(("environment", ", ".join(around)))
    if clip.bounds is not None:
        found.append(("bounds", "the boxes of the frames"))
    if scene.title:
        found.append(("title", "the title"))
    if scene.author or scene.copyright:
        found.append(("authors", "the author"))
    return found


def _surroundings(given: Environment) -> tuple[tuple[str, bool], ...]:
    background = (given.background_color, given.background_image, given.gradient)
    fog = (given.fog, given.distance_cue, given.layered_fog)
    stated = any(part is not None for part in (*background, *fog))
    return ("background and fog", bool(given.uses) or stated), ("ambient light", any(given.ambient or ()))


def moving_kinds(node: Node) -> bool:
    """Whether a node is a place that motion formats can hold: not a camera, light or target."""
    return node.kind in (NodeKind.OBJECT, NodeKind.DUMMY, NodeKind.BONE)
