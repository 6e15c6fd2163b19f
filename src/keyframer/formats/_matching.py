"""Match the parts of two scenes, and arrange a scene in the order of another.

Parts match if their extras have the same location in the file; without a location their names decide, and their numbers
if names changed. A node that changed its kind is a new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from keyframer.fields import dataclass
from keyframer.scene import Channel, Clip, Material, Mesh, Node, Scene

CARRIED = ("mesh", "camera", "light", "skin")
"""lists of the scene that a node refers to by number"""
_LISTS = {"mesh": "meshes", "camera": "cameras", "light": "lights", "skin": "skins"}


@dataclass(eq=False)
class Matching:
    """Maps numbers in the edited scene to numbers in the original scene."""

    nodes: dict[int, int] = field(default_factory=dict)
    materials: dict[int, int] = field(default_factory=dict)
    instead: dict[int, int] = field(default_factory=dict)
    """new nodes that replace one of another kind"""
    new_clip: bool = False
    """whether the original has no clip"""
    plain: bool = False
    """whether nothing was added, removed or renumbered"""

    def key(self, number: int, before: Scene) -> int:
        """Return a unique number for a node of the edited scene: its original number, or one after all of those."""
        old = self.nodes.get(number, self.instead.get(number))
        return len(before.nodes) + number if old is None else old

    def numbers_of(self, keys: Sequence[int], before: Scene) -> list[int]:
        """Return the nodes of the edited scene that have these keys."""
        count = len(before.nodes)
        numbers = {old: new for new, old in (*self.instead.items(), *self.nodes.items())}
        return [numbers[key] if key < count else key - count for key in keys]

    def new_nodes(self, after: Scene) -> list[int]:
        return [number for number in range(len(after.nodes)) if number not in self.nodes]

    def gone_nodes(self, before: Scene) -> list[int]:
        kept = set(self.nodes.values())
        return [number for number in range(len(before.nodes)) if number not in kept]


def match(before: Scene, after: Scene) -> Matching:
    """Match the parts of ``after`` with those of ``before``."""
    matching = Matching(_pairs(before.nodes, after.nodes), _pairs(before.materials, after.materials))
    links: dict[str, tuple[dict[int, int], dict[int, int]]] = {name: ({}, {}) for name in CARRIED}
    for new, old in list(matching.nodes.items()):
        if not _is_same_node(after.nodes[new], before.nodes[old], links):
            matching.instead[new] = matching.nodes.pop(new)
    lists = [("nodes", matching.nodes), ("materials", matching.materials)]
    lists += [(_LISTS[name], forth) for name, (forth, _) in links.items()]
    matching.plain = all(
        len(getattr(before, name)) == len(getattr(after, name)) and all(new == old for new, old in forth.items())
        for name, forth in lists
    )
    matching.plain = (
        matching.plain and len(matching.nodes) == len(after.nodes) and len(matching.materials) == len(after.materials)
    )
    matching.new_clip = bool(after.clips and not before.clips)
    matching.plain = matching.plain and not matching.new_clip
    shapes = {mesh.name for mesh in before.meshes}
    shapes |= {name for node in before.nodes if node.morph is not None for name in node.morph.names}
    matching.plain = matching.plain and all(
        set(node.morph.names) <= shapes for node in after.nodes if node.morph is not None
    )
    return matching


def _is_same_node(new: Node, old: Node, links: dict[str, tuple[dict[int, int], dict[int, int]]]) -> bool:
    """Return whether a node has the same kind as before, and shows the same mesh, camera or light."""
    pairs = {name: (getattr(new, name), getattr(old, name)) for name in CARRIED}
    if new.kind is not old.kind or any((a is None) != (b is None) for a, b in pairs.values()):
        return False
    for name, (a, b) in pairs.items():
        forth, back = links[name]
        if a is not None and (forth.get(a, b) != b or back.get(b, a) != a):
            return False
    for name, (a, b) in pairs.items():
        if a is not None:
            forth, back = links[name]
            forth[a], back[b] = b, a
    return True


def _pairs(before: Sequence[Node | Material], after: Sequence[Node | Material]) -> dict[int, int]:
    pairs: dict[int, int] = {}
    left = dict.fromkeys(range(len(before)))
    for key_of in (_place_and_name, _place, _name_of_new):
        known: dict[object, list[int]] = {}
        for old in left:
            key: object = before[old].name if key_of is _name_of_new else key_of(before[old])
            if key is not None:
                known.setdefault(key, []).append(old)
        for new, part in enumerate(after):
            key = None if new in pairs else key_of(part)
            if key is not None and known.get(key):
                pairs[new] = known[key].pop(0)
                del left[pairs[new]]
    if len(before) == len(after):
        for new, part in enumerate(after):
            if new not in pairs and new in left and _place(part) == _place(before[new]):
                pairs[new] = new
                del left[new]
    return pairs


def _place(part: Node | Material) -> tuple[object, object] | None:
    """Return the location of a part in the file, as bridges store it in extras."""
    for file_location in part.extras.values():
        if isinstance(file_location, dict) and file_location.get("offset") is not None:
            return (file_location.get("path"), file_location["offset"])
    return None


def _place_and_name(part: Node | Material) -> object:
    place = _place(part)
    return None if place is None else (place, part.name)


def _name_of_new(part: Node | Material) -> object:
    return part.name if _place(part) is None else None


def reorder_parts(scene: Scene, reference: Scene, nodes: Mapping[int, int], materials: Mapping[int, int]) -> Scene:
    """Return the scene with its parts in the order of ``reference``; missing parts are taken from ``reference``.

    ``nodes`` and ``materials`` map numbers in ``reference`` to numbers in the scene.
    """
    if _has_same_numbers(scene, reference, nodes, materials):
        return scene
    back = {scene_number: number for number, scene_number in nodes.items()}
    paint = {scene_number: number for number, scene_number in materials.items()}
    parts: dict[str, Any] = {name: list(getattr(reference, name)) for name in _LISTS.values()}
    channels = []
    for number, mine in enumerate(reference.nodes):
        if number not in nodes:
            channels.append(mine)
            continue
        node = scene.nodes[nodes[number]]
        links: dict[str, Any] = {}
        for name, kind in _LISTS.items():
            ours, theirs = getattr(mine, name), getattr(node, name)
            links[name] = ours if ours is not None and theirs is not None else theirs
            if ours is not None and theirs is not None:
                parts[kind][ours] = _renumbered(getattr(scene, kind)[theirs], back, paint)
        channels.append(replace(node, parent=_back(node.parent, back), target=_back(node.target, back), **links))
    paints = [
        scene.materials[materials[i]] if i in materials else material for i, material in enumerate(reference.materials)
    ]
    clips = list(scene.clips)
    if clips:
        new = [
            channel for channel in (reference.clips[0].channels if reference.clips else []) if channel.node not in nodes
        ]
        kept = [Channel(back[channel.node], channel.track) for channel in clips[0].channels if channel.node in back]
        clips[0] = replace(clips[0], channels=[*kept, *new])
    return replace(scene, nodes=channels, materials=paints, clips=clips, **parts)


def _has_same_numbers(scene: Scene, reference: Scene, nodes: Mapping[int, int], materials: Mapping[int, int]) -> bool:
    """Return whether all parts have the same numbers in both scenes."""
    return (
        len(nodes) == len(scene.nodes) == len(reference.nodes)
        and len(materials) == len(scene.materials) == len(reference.materials)
        and all(number == other for pairs in (nodes, materials) for number, other in pairs.items())
        and all(
            getattr(mine, name) == getattr(node, name)
            for mine, node in zip(reference.nodes, scene.nodes, strict=True)
            for name in CARRIED
        )
    )


_NOWHERE = -1
"""number of a part that the other scene does not have"""


def _back(number: int | None, back: Mapping[int, int]) -> int | None:
    return None if number is None else back.get(number, _NOWHERE)


def _renumbered(part: Any, back: Mapping[int, int], paint: Mapping[int, int]) -> Any:
    if isinstance(part, Mesh) and part.face_materials is not None:
        owners = np.asarray(part.face_materials)
        table = np.array([paint.get(number, _NOWHERE) for number in range(int(owners.max(initial=0)) + 1)])
        return replace(part, face_materials=np.where(owners < 0, owners, table[np.maximum(owners, 0)]))
    joints = getattr(part, "joints", None)
    return part if joints is None else replace(part, joints=[_back(joint, back) for joint in joints])


def new_parts(after: Scene, matching: Matching) -> tuple[Scene, Clip]:
    """Return new nodes and materials, with the meshes, cameras, lights and channels of the nodes, for reports."""
    chosen = set(matching.new_nodes(after))
    additions = Scene(
        materials=[material for number, material in enumerate(after.materials) if number not in matching.materials]
    )
    additions.nodes = [replace(node) for number, node in enumerate(after.nodes) if number in chosen]
    for name, kind in _LISTS.items():
        used = sorted({getattr(node, name) for node in additions.nodes} - {None})
        setattr(additions, kind, [getattr(after, kind)[number] for number in used])
        for node in additions.nodes:
            if getattr(node, name) is not None:
                setattr(node, name, used.index(getattr(node, name)))
    channels = after.clips[0].channels if after.clips else []
    return additions, Clip(channels=[channel for channel in channels if channel.node in chosen])
