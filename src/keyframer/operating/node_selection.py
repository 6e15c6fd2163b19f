"""Selects nodes of a scene, applies its clips to the skeleton or model of another, scales it, or changes its axes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.formats.kit.coordinates import in_space
from keyframer.posing.evaluation_order import evaluation_order, reachable
from keyframer.scene import Channel, Clip, Handedness, Node, NodeKind, Scene, Skin


def choose_nodes(scene: Scene, names: Iterable[str], *, with_children: bool = True) -> Scene:
    """Return the scene with only the nodes of these names or patterns (``Sail*``), with all descendants if
    ``with_children``.

    Their ancestors stay as dummies, so that the motion is unchanged; ancestors that are bones, cameras or lights keep
    their kind. Targets of the chosen nodes and bones of their skins stay, too. Meshes, cameras, lights and skins that
    are no longer used are removed. Raises LookupError for an unknown name.
    """
    parents = evaluation_order(scene.nodes).parents.tolist()
    chosen = {number for name in names for number in scene.find_all(name)}
    if with_children:
        children: dict[int, list[int]] = {}
        for number, parent in enumerate(parents):
            children.setdefault(parent, []).append(number)
        chosen = set(reachable(chosen, lambda number: children.get(number, ())))
    for number in list(chosen):
        node = scene.nodes[number]
        if node.target is not None:
            chosen.add(node.target)
        if node.skin is not None:
            chosen.update(scene.skins[node.skin].joints)
    kept = set(chosen)
    for number in chosen:
        while number >= 0:
            kept.add(number)
            number = parents[number]
    return _with_only(scene, sorted(kept), chosen)


def _with_only(scene: Scene, kept: list[int], chosen: set[int]) -> Scene:
    """Return the scene with only the ``kept`` nodes, renumbered; those that are not ``chosen`` become dummies."""
    new_nodes = {number: position for position, number in enumerate(kept)}
    nodes = [scene.nodes[number] for number in kept]
    nodes = [node if number in chosen else _as_dummy(node) for number, node in zip(kept, nodes, strict=True)]
    used = {
        name: sorted({value for node in nodes if (value := getattr(node, name)) is not None})
        for name in ("mesh", "camera", "light", "skin")
    }
    numbers = {name: {old: new for new, old in enumerate(values)} for name, values in used.items()}
    kept_nodes = []
    for node in nodes:
        links: dict[str, Any] = {name: _renumbered(getattr(node, name), numbers[name]) for name in numbers}
        links |= {name: _renumbered(getattr(node, name), new_nodes) for name in ("parent", "target")}
        kept_nodes.append(replace(node, **links))
    return replace(
        scene,
        nodes=kept_nodes,
        meshes=[scene.meshes[number] for number in used["mesh"]],
        cameras=[scene.cameras[number] for number in used["camera"]],
        lights=[scene.lights[number] for number in used["light"]],
        skins=[_skin(scene.skins[number], new_nodes) for number in used["skin"]],
        clips=[_with_moved_channels(clip, new_nodes) for clip in scene.clips],
    )


def _with_moved_channels(clip: Clip, new_nodes: dict[int, int]) -> Clip:
    """Return the clip with its channels moved to other nodes; ``new_nodes`` maps old to new numbers.

    Channels of nodes that are not in ``new_nodes`` are left out.
    """
    channels = [
        Channel(new_nodes[channel.node], channel.track) for channel in clip.channels if channel.node in new_nodes
    ]
    return replace(clip, channels=channels)


def _as_dummy(node: Node) -> Node:
    """Return an ancestor of chosen nodes as a dummy without a mesh; cameras and lights stay, bones keep their kind."""
    kind = node.kind if node.kind is NodeKind.BONE else NodeKind.DUMMY
    if node.camera is not None or node.light is not None:
        return node  # children of a camera follow its aim
    return replace(node, kind=kind, mesh=None, skin=None, morph=None, pivot=np.zeros(3))


def _skin(skin: Skin, new_nodes: dict[int, int]) -> Skin:
    return replace(skin, joints=[new_nodes[joint] for joint in skin.joints])


def _renumbered(number: int | None, new_numbers: dict[int, int]) -> int | None:
    return None if number is None else new_numbers.get(number)


def merge(motion: Scene, model: Scene, *, by: str = "name") -> Scene:
    """Return the scene ``model`` with the clips of the scene ``motion``.

    Nodes are paired by name (``by="name"``, ignoring case) or by index (``by="order"``, for files without names). The
    clips are converted to the axes of the model. Nodes without tracks stay as in the model; tracks without a node in
    the model are dropped. Raises ValueError if no track remains.
    """
    if by not in ("name", "order"):
        raise ValueError(f"by must be name or order, not {by!r}")
    converted = in_space(motion, replace(model.space, v_up=motion.space.v_up))
    if by == "name":
        known = {node.name.lower(): number for number, node in reversed(list(enumerate(model.nodes)))}
        new_nodes = {i: known[node.name.lower()] for i, node in enumerate(motion.nodes) if node.name.lower() in known}
    else:
        new_nodes = {number: number for number in range(min(len(motion.nodes), len(model.nodes)))}
    clips = [_with_moved_channels(clip, new_nodes) for clip in converted.clips]
    if not any(clip.channels for clip in clips):
        raise ValueError("no clip has a track for a node of the model")
    return replace(model, clips=clips, origin=None)


def scale(scene: Scene, factor: float) -> Scene:
    """Return the scene with all lengths multiplied by ``factor``; the length of its unit stays the same."""
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"expected a positive factor, not {factor}")
    return in_space(scene, scene.space, factor)


def change_axes(scene: Scene, *, up: str | None = None, handedness: str | Handedness | None = None) -> Scene:
    """Return the scene in other axes: coordinates are exchanged and negated, the picture stays the same.

    Z up becomes Y up by (x, z, -y), left-handed Y up becomes right-handed by (x, y, -z); arguments that are None leave
    that property unchanged.
    """
    hand = scene.space.handedness if handedness is None else Handedness(handedness)
    return in_space(scene, replace(scene.space, up=up or scene.space.up, handedness=hand))
