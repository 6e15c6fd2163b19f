"""Match the parts of two scenes, and arrange a scene in the order of another.

Nodes and materials match if their extras have the same location in the file. Those without a location match by name, or
else by number if both scenes have equally many. A node counts as new if it became another kind, or has another mesh,
camera, light or skin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from keyframer.scene import Channel, Clip, Material, Mesh, Node, Scene, Skin

KeyFunction = Callable[[int], object]

NODE_LINKS = {"mesh": "meshes", "camera": "cameras", "light": "lights", "skin": "skins"}
"""fields of a node that refer to other parts, and the lists of these parts in a scene"""


@dataclass(eq=False)
class Matching:
    """Maps numbers of nodes and materials in the edited scene to those in the original scene."""

    before: Scene
    """the original scene"""
    nodes: dict[int, int]
    materials: dict[int, int]
    replacements: dict[int, int] = field(default_factory=dict)
    """nodes that match an original node but count as new, and the number of that node"""
    same_numbers: bool = False
    """whether no node, material, mesh, camera, light or skin was added, removed or renumbered, no morph shape was
    added, and no clip was added to a scene without clips
    """

    @cached_property
    def _originals(self) -> dict[str, dict[int, int]]:
        return {"nodes": {**self.nodes, **self.replacements}, "materials": self.materials}

    def key(self, number: int, kind: str = "nodes") -> int:
        """Return a unique number for a node or material of the edited scene.

        This is its original number, or a number after all original ones if it is new.
        """
        return self._originals[kind].get(number, len(getattr(self.before, kind)) + number)

    def new_nodes(self, after: Scene) -> list[int]:
        return [number for number in range(len(after.nodes)) if number not in self.nodes]

    def removed_nodes(self) -> list[int]:
        remaining = set(self.nodes.values())
        return [number for number in range(len(self.before.nodes)) if number not in remaining]


def identity_matching(scene: Scene) -> Matching:
    """Return the matching of a scene with itself."""
    return Matching(scene, {i: i for i in range(len(scene.nodes))}, {i: i for i in range(len(scene.materials))})


def match(before: Scene, after: Scene) -> Matching:
    """Match the nodes and materials of ``after`` with those of ``before``."""
    matching = Matching(before, _pairs(before.nodes, after.nodes), _pairs(before.materials, after.materials))
    links: dict[str, tuple[dict[int, int], dict[int, int]]] = {name: ({}, {}) for name in NODE_LINKS}
    for new, old in list(matching.nodes.items()):
        if not _is_same_node(after.nodes[new], before.nodes[old], links):
            matching.replacements[new] = matching.nodes.pop(new)
    lists = [("nodes", matching.nodes), ("materials", matching.materials)]
    lists += [(NODE_LINKS[name], to_old) for name, (to_old, _) in links.items()]
    shape_names = {mesh.name for mesh in before.meshes}
    shape_names |= {name for node in before.nodes if node.morph is not None for name in node.morph.names}
    matching.same_numbers = (
        all(
            len(getattr(before, name)) == len(getattr(after, name)) and all(new == old for new, old in to_old.items())
            for name, to_old in lists
        )
        and (len(matching.nodes), len(matching.materials)) == (len(after.nodes), len(after.materials))
        and not (after.clips and not before.clips)
        and all(set(node.morph.names) <= shape_names for node in after.nodes if node.morph is not None)
    )
    return matching


def _is_same_node(new: Node, old: Node, links: dict[str, tuple[dict[int, int], dict[int, int]]]) -> bool:
    """Return whether a node has the same kind as before and the same mesh, camera, light and skin.

    ``links`` maps the numbers of these parts that earlier nodes use, in both directions (new to old, old to new). Those
    of this node are added if the result is True.
    """
    pairs = {name: (getattr(new, name), getattr(old, name)) for name in NODE_LINKS}
    if new.kind is not old.kind or any((a is None) != (b is None) for a, b in pairs.values()):
        return False
    for name, (a, b) in pairs.items():
        to_old, to_new = links[name]
        if a is not None and (to_old.get(a, b) != b or to_new.get(b, a) != a):
            return False
    for name, (a, b) in pairs.items():
        if a is not None:
            to_old, to_new = links[name]
            to_old[a], to_new[b] = b, a
    return True


def pair_up(old_count: int, new_count: int, *rounds: tuple[KeyFunction, KeyFunction]) -> dict[int, int]:
    """Map new numbers to old ones with the same key, in several rounds; each number is used at most once.

    A round is a pair of functions: the first returns the key of an old number, the second that of a new one. The key
    None matches nothing.
    """
    pairs: dict[int, int] = {}
    unmatched = dict.fromkeys(range(old_count))
    for old_key, new_key in rounds:
        old_by_key: dict[object, list[int]] = {}
        for old in unmatched:
            old_by_key.setdefault(old_key(old), []).append(old)
        for new in range(new_count):
            key = None if new in pairs else new_key(new)
            if key is not None and old_by_key.get(key):
                pairs[new] = old_by_key[key].pop(0)
                del unmatched[pairs[new]]
    return pairs


def _pairs(before: Sequence[Node | Material], after: Sequence[Node | Material]) -> dict[int, int]:
    """Match parts by location and name, then by location; parts without a location by name, then by number.

    Numbers are used only if there are as many parts as before.
    """
    old, new = [file_location(part) for part in before], [file_location(part) for part in after]
    same_count = len(before) == len(after)
    return pair_up(
        len(before),
        len(after),
        (lambda i: old[i] and (old[i], before[i].name), lambda i: new[i] and (new[i], after[i].name)),
        (lambda i: old[i], lambda i: new[i]),
        (lambda i: before[i].name, lambda i: after[i].name if new[i] is None else None),
        (lambda i: (i, old[i]), lambda i: (i, new[i]) if same_count else None),
    )


def file_location(part: Any) -> tuple[object, int] | None:
    """Return path and offset of a part in the file, as bridges store them in extras; None without an offset."""
    for location in part.extras.values():
        if isinstance(location, dict) and location.get("offset") is not None:
            return location.get("path"), location["offset"]
    return None


def reorder_parts(scene: Scene, reference: Scene, nodes: Mapping[int, int], materials: Mapping[int, int]) -> Scene:
    """Return the scene with its parts in the order of ``reference``.

    ``nodes`` and ``materials`` map numbers in ``reference`` to numbers in the scene. Parts that only ``reference`` has
    are taken from it; parts that only the scene has are left out, and links to them become -1.
    """
    node_numbers = {old: new for new, old in nodes.items()}
    material_numbers = {old: new for new, old in materials.items()}
    parts: dict[str, Any] = {name: list(getattr(reference, name)) for name in NODE_LINKS.values()}
    arranged_nodes, arranged_materials = list(reference.nodes), list(reference.materials)
    for new, old in nodes.items():
        node = scene.nodes[old]
        links: dict[str, Any] = {name: getattr(reference.nodes[new], name) for name in NODE_LINKS}
        for name, number in links.items():
            if number is not None:
                part = getattr(scene, NODE_LINKS[name])[getattr(node, name)]
                parts[NODE_LINKS[name]][number] = _renumbered(part, node_numbers, material_numbers)
        for name in ("parent", "target"):
            number = getattr(node, name)
            links[name] = None if number is None else node_numbers.get(number, -1)
        arranged_nodes[new] = replace(node, **links)
    for new, old in materials.items():
        arranged_materials[new] = scene.materials[old]
    clips = list(scene.clips)
    if clips:
        new_channels = reference.clips[0].channels if reference.clips else []
        channels = [
            Channel(node_numbers[channel.node], channel.track)
            for channel in clips[0].channels
            if channel.node in node_numbers
        ]
        channels += [channel for channel in new_channels if channel.node not in nodes]
        clips[0] = replace(clips[0], channels=channels)
    return replace(scene, nodes=arranged_nodes, materials=arranged_materials, clips=clips, **parts)


def _renumbered(part: Any, node_numbers: Mapping[int, int], material_numbers: Mapping[int, int]) -> Any:
    if isinstance(part, Mesh) and part.face_materials is not None:
        old = np.asarray(part.face_materials)
        new = np.array([material_numbers.get(number, -1) for number in range(int(old.max(initial=0)) + 1)])
        return replace(part, face_materials=np.where(old < 0, old, new[np.maximum(old, 0)]))
    if isinstance(part, Skin):
        return replace(part, joints=[node_numbers.get(joint, -1) for joint in part.joints])
    return part


def new_parts(after: Scene, matching: Matching) -> tuple[Scene, Clip]:
    """Return a scene with the new nodes and materials and all parts of these nodes, and a clip with their channels.

    They are only for reports: links between nodes are not renumbered.
    """
    new = set(matching.new_nodes(after))
    additions = Scene(
        materials=[material for number, material in enumerate(after.materials) if number not in matching.materials]
    )
    additions.nodes = [replace(node) for number, node in enumerate(after.nodes) if number in new]
    for name, kind in NODE_LINKS.items():
        used = sorted({getattr(node, name) for node in additions.nodes} - {None})
        setattr(additions, kind, [getattr(after, kind)[number] for number in used])
        for node in additions.nodes:
            if getattr(node, name) is not None:
                setattr(node, name, used.index(getattr(node, name)))
    channels = after.clips[0].channels if after.clips else []
    return additions, Clip(channels=[channel for channel in channels if channel.node in new])
