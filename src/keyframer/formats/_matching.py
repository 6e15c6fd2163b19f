"""Match the parts of two scenes, arrange a scene in the order of another, and find the fields that differ
(`Comparison`).

Nodes and materials match if their extras have the same location in the file. Those without a location match by name, or
else by number if both scenes have equally many. A node counts as new if it became another kind, or has another mesh,
camera, light or skin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from keyframer.curves import Track
from keyframer.scene import Channel, Clip, Material, Mesh, Node, Scene, Skin

Path = tuple[str | int, ...]

_LISTS = ("nodes", "meshes", "materials", "cameras", "lights", "skins")
_SINGLE = ("environment", "title", "author", "copyright", "space")
_SKIPPED = {"extras", "raw_name", "raw_file_name", "file_id", "channels"}
_KEYS = ("times", "values", "tangents_in", "tangents_out")
_TCB_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


_compared: dict[type[Any], tuple[str, ...]] = {}
"""names of the compared fields of each type, found on first use"""


def _field_names(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _compared:
        _compared[kind] = tuple(field.name for field in fields(kind) if field.name not in _SKIPPED)
    return _compared[kind]


class Comparison:
    """Compares scenes.

    ``relative`` is the allowed difference of numbers, relative to the numbers and to the largest one of their array; 0
    means exact comparison.
    """

    def __init__(self, relative: float = 0.0) -> None:
        self.relative = relative

    def scenes(self, a: Scene, b: Scene) -> list[Path]:
        """Return the paths of all differences."""
        paths: list[Path] = []
        for name in _LISTS:
            parts_a, parts_b = getattr(a, name), getattr(b, name)
            if len(parts_a) != len(parts_b):
                paths.append((name,))
                continue
            for number, (value_a, value_b) in enumerate(zip(parts_a, parts_b, strict=True)):
                paths += [(name, number, *field) for field in self._fields(value_a, value_b)]
        for name in _SINGLE:
            value_a, value_b = getattr(a, name), getattr(b, name)
            if name == "environment":
                paths += [(name, *field) for field in self._fields(value_a, value_b)]
            elif not self.same(value_a, value_b):
                paths.append((name,))
        if len(a.clips) != len(b.clips):
            return [*paths, ("clips",)]
        for number, (clip, other_clip) in enumerate(zip(a.clips, b.clips, strict=True)):
            paths += [("clips", number, *field) for field in self._fields(clip, other_clip)]
            paths += [("clips", number, "channels", *field) for field in self._channels(clip, other_clip)]
        return paths

    def _fields(self, a: Any, b: Any) -> list[Path]:
        paths: list[Path] = []
        for name in _field_names(type(a)):
            value_a, value_b = getattr(a, name), getattr(b, name)
            if value_a is value_b:
                continue
            if name == "maps" and set(value_a) == set(value_b):
                for slot in value_a:
                    paths += [("maps", slot, *field) for field in self._fields(value_a[slot], value_b[slot])]
            elif not self.same(value_a, value_b):
                paths.append((name,))
        return paths

    def _channels(self, a: Clip, b: Clip) -> list[Path]:
        tracks_a, tracks_b = tracks_by_node_and_kind(a), tracks_by_node_and_kind(b)
        if tracks_a is None or tracks_b is None:
            return [()]
        keys = sorted(set(tracks_a) | set(tracks_b))
        return [
            key
            for key in keys
            if key not in tracks_a or key not in tracks_b or not self.same_tracks(tracks_a[key], tracks_b[key])
        ]

    def same_tracks(self, a: Track, b: Track) -> bool:
        """Return whether two tracks are the same; a missing column of TCB parameters equals zeros."""
        if (a.kind, a.interpolation, a.wrap, a.form) != (b.kind, b.interpolation, b.wrap, b.form):
            return False
        if not all(self.same(getattr(a, name), getattr(b, name)) for name in _KEYS):
            return False
        present = [name for name in _TCB_COLUMNS if getattr(a, name) is not None or getattr(b, name) is not None]
        return all(self.same(_or_zeros(a, name), _or_zeros(b, name)) for name in present)

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two values of a field are the same."""
        if a is b:
            return True
        if is_dataclass(a) and type(a) is type(b):
            return not self._fields(a, b)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return a is not None and b is not None and self._same_arrays(np.asarray(a), np.asarray(b))
        if isinstance(a, float) or isinstance(b, float):
            numeric = isinstance(a, (int, float)) and isinstance(b, (int, float))
            return numeric and self._same_arrays(np.asarray(a), np.asarray(b))
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
            return len(a) == len(b) and all(self.same(value_a, value_b) for value_a, value_b in zip(a, b, strict=True))
        return bool(a == b)

    def _same_arrays(self, a: Any, b: Any) -> bool:
        if a.shape != b.shape:
            return False
        if a.dtype == b.dtype and a.tobytes() == b.tobytes():  # ten times faster than comparing numbers
            return True
        if a.dtype.kind != "f" and b.dtype.kind != "f":
            return bool(np.array_equal(a, b))
        if not self.relative:
            return bool(np.array_equal(a, b, equal_nan=True))
        finite = np.abs(np.nan_to_num(a, nan=0.0, posinf=0.0, neginf=0.0))
        size = max(float(finite.max(initial=0.0)), 1e-3)
        return bool(np.allclose(a, b, rtol=self.relative, atol=self.relative * size, equal_nan=True))


def tracks_by_node_and_kind(clip: Clip) -> dict[tuple[int, str], Track] | None:
    """Return the tracks by node and kind; None if a node has two of one kind, which paths cannot distinguish."""
    tracks = {(channel.node, channel.track.kind): channel.track for channel in clip.channels}
    return tracks if len(tracks) == len(clip.channels) else None


def path_text(path: Path) -> str:
    """Return a path as text: ``/nodes/3/position``."""
    return "/" + "/".join(map(str, path))


def _or_zeros(track: Track, name: str) -> Any:
    column = getattr(track, name)
    return np.zeros(len(track.times)) if column is None else column


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
