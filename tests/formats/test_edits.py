"""One edit of each kind in files of every format: what did not change keeps its records.

The edited file is decoded and loaded again. All record types and unknown bytes of the original are there. Nodes that
were not edited have the same records, to the byte, and the same world matrices; the edited one has the edited values.
An edit that is taken back in memory gives the original bytes.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats import FORMATS, format_by_name
from keyframer.formats.bridge import Merger
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Channel, Node, NodeKind, Scene
from keyframer.wire.record import Raw, Record
from tests.building.editing import rewrite_reasons
from tests.corpus import animation_files, needs_corpus
from tests.samples import all_samples
from tests.slow import SLOW

FRAMES = [0.0, 7.0, 20.0]
REASONS = (
    "a file has one root node",
    "was renamed or removed",  # a group of ASE, which is the block around its nodes
    "all nodes of the group",
    "several nodes show the object of",
    "a joint moved in a model",
    "the file is only an editor section",
    "unsafe parts of the original are left out",
    "is stored by name",
    "a node has two tracks of one kind",
    "the root bone changed",
    "no animated bone of the original is left",
    "models cannot be edited",  # of Midtown Madness 2
    "the original has no motion",
    "tracks were added to an animation without frames",
    "a joint is scaled",
    "a mesh has vertices without a joint",
    "could be read only with the option",
    "a clip was added to a model",
    "the matrix of a shape or of its mesh is singular",
)
"""why an edit may cause a new file"""
ADDED_KINDS = {"3ds": NodeKind.DUMMY, "ase": NodeKind.DUMMY}
"""the kind of a new node; others get bones"""
MERGERS = {
    known.name: writer.merger
    for known in FORMATS
    if (bridge := known.bridge()) is not None
    and (writer := bridge.writer()) is not None
    and type(writer.merger) is not Merger
}
"""formats whose files are edited in place: a writer may do without a merger of its own, and writes new files"""
TABLES = [name for name, merger in MERGERS.items() if merger.is_table]
"""formats that store all nodes in one table"""
UNABLE = {"recolour": ["hale3d", "md5", "midtown", "nodeanim"], "add": ["b3d"], "retime": TABLES}
"""formats that store no colours, a single root, or a value for every frame"""

Undo = Callable[[], None]
Edited = tuple[int, Undo]
"""number of the edited node (-1 for none), and how to take the edit back"""


def set_and_undo(part: Any, name: str, value: Any) -> Undo:
    before = getattr(part, name)
    setattr(part, name, value)
    return lambda: setattr(part, name, before)


def tracks_of(scene: Scene, kind: str) -> Iterator[Channel]:
    """The tracks of a kind that have only finite numbers."""
    for channel in scene.clips[0].channels if scene.clips else []:
        numbers = np.append(channel.track.values.reshape(-1), channel.track.times)
        if channel.track.kind == kind and len(channel.track.times) and np.isfinite(numbers).all():
            yield channel


def move(scene: Scene) -> Edited | None:
    """Move the keys of a node by one unit; or the node, if no node has keys."""
    for channel in tracks_of(scene, "position"):
        undo = set_and_undo(channel.track, "values", channel.track.values + np.array([1.0, 0.0, 0.0]))
        return channel.node, undo
    for number, node in enumerate(scene.nodes):
        is_still = not any(True for _ in scene.channels_of(number))
        if node.skin is None and is_still and node.kind in (NodeKind.OBJECT, NodeKind.DUMMY, NodeKind.BONE):
            return number, set_and_undo(node, "position", np.asarray(node.position) + np.array([1.0, 0.0, 0.0]))
    return None


def rename(scene: Scene) -> Edited | None:
    """Rename the first node that has no target and no name in common with another node."""
    stems = Counter(node.name.split(".")[0].lower() for node in scene.nodes)
    for number, node in enumerate(scene.nodes):
        is_free = node.target is None and node.kind is not NodeKind.TARGET and node.skin is None
        is_light = node.light is not None and scene.lights[node.light].type.value == "ambient"
        if is_free and not is_light and stems[node.name.split(".")[0].lower()] == 1:
            return number, set_and_undo(node, "name", "renamed")
    return None


def recolour(scene: Scene) -> Edited | None:
    stored = format_by_name(str(scene.source_format)).scene_writer().capabilities.handled
    for material in scene.materials if "materials.diffuse" in stored else []:
        if material.diffuse is not None:
            return -1, set_and_undo(material, "diffuse", (0.2, 0.4, 0.6))
    for number, node in enumerate(scene.nodes):
        if node.light is not None and scene.lights[node.light].type.value != "ambient":
            return number, set_and_undo(scene.lights[node.light], "color", (0.2, 0.4, 0.6))
    return None


def add(scene: Scene) -> Edited | None:
    if not scene.nodes or (scene.source_format == "hale3d" and not scene.clips):
        return None
    kind = ADDED_KINDS.get(scene.source_format, NodeKind.BONE)
    nodes = [*scene.nodes, Node("added", kind, position=np.array([1.0, 2.0, 3.0]))]
    return len(scene.nodes), set_and_undo(scene, "nodes", nodes)


def remove(scene: Scene) -> Edited | None:
    """Remove the last node that no other part refers to."""
    used = {node.parent for node in scene.nodes} | {node.target for node in scene.nodes}
    used |= {joint for skin in scene.skins for joint in skin.joints}
    for number in reversed(range(1, len(scene.nodes))):
        node = scene.nodes[number]
        others = [other for other in scene.nodes if other is not node]
        shares = any(
            getattr(node, name) is not None and getattr(node, name) == getattr(other, name)
            for other in others
            for name in ("mesh", "camera", "light", "skin")
        )
        if number not in used and node.target is None and node.skin is None and not shares:
            return number, without_node(scene, number)
    return None


def without_node(scene: Scene, number: int) -> Undo:
    before = scene.nodes, scene.clips, scene.skins
    nodes = [
        replace(node, parent=_after(node.parent, number), target=_after(node.target, number)) for node in before[0]
    ]
    del nodes[number]
    scene.nodes = nodes
    scene.clips = [
        replace(clip, channels=[Channel(_after(c.node, number), c.track) for c in clip.channels if c.node != number])
        for clip in before[1]
    ]
    scene.skins = [replace(skin, joints=[_after(joint, number) for joint in skin.joints]) for skin in before[2]]

    def undo() -> None:
        scene.nodes, scene.clips, scene.skins = before

    return undo


def _after(number: Any, removed: int) -> Any:
    return number if number is None or number < removed else number - 1


def retime(scene: Scene) -> Edited | None:
    """Move all keys of a node one frame later; not of tables, which have a value for every frame."""
    if scene.source_format in TABLES:
        return None
    for channel in tracks_of(scene, "position"):
        if len(channel.track.times) > 1:
            later = channel.track.times + scene.clips[0].units_per_frame
            return channel.node, set_and_undo(channel.track, "times", later)
    return None


EDITS = {edit.__name__: edit for edit in (move, rename, recolour, add, remove, retime)}


def content(record: Record) -> object:
    """The complete content of a record: fields, children and trailing bytes, without its place in the file."""
    fields = tuple((plan.name, _plain(getattr(record, plan.name))) for plan in record.plan.fields)
    data = bytes(record.data) if isinstance(record, Raw) else b""
    return type(record), fields, data, tuple(content(child) for child in record.children), bytes(record.tail or b"")


def _plain(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if hasattr(value, "columns"):
        return tuple((name, _plain(column)) for name, column in value.columns().items())
    return np.float64(value).tobytes() if isinstance(value, float) else repr(value)


def unknown_bytes(document: Document) -> Counter[bytes]:
    raw = Counter(bytes(record.data) for record in document.find(Record) if isinstance(record, Raw))
    return raw + Counter(bytes(record.tail) for record in document.find(Record) if record.tail)


def record_of(document: Document, node: Node) -> object:
    """The content of the record that a node was read from."""
    places = [place["offset"] for place in node.extras.values() if isinstance(place, dict) and "offset" in place]
    records = {record.offset: record for record in document.find(Record)}
    return content(records[places[0]]) if places and places[0] in records else None


def descendants(scene: Scene, number: int) -> set[int]:
    found = {number}
    for _ in scene.nodes:
        found |= {i for i, node in enumerate(scene.nodes) if node.parent in found}
    return found


def depends_on(scene: Scene, number: int) -> set[int]:
    """The edited node, all nodes below it, and nodes that are aimed at one of these or are their targets."""
    below = descendants(scene, number)
    aimed = {i for i, node in enumerate(scene.nodes) if node.target in below or (node.skin is not None and below)}
    aimed |= {below_aimed for i in aimed for below_aimed in descendants(scene, i)}
    targets = {target for i in below if (target := scene.nodes[i].target) is not None}
    return below | aimed | targets


def is_usable(document: Document) -> bool:
    """Whether a file can be edited in place: no unsafe parts. Files with non-finite numbers are left out, too."""
    scene = scene_of(document, {})
    unsafe = document.issues.first_unsafe() or scene.issues.first_unsafe()
    return unsafe is None and "DATA_NON_FINITE" not in {issue.code for issue in scene.issues}


def check_edit(data: bytes, format_name: str, kind: str, options: dict[str, object]) -> bool:
    """Make an edit and check its file. Return whether the scene has such a part and the edit was made in place."""
    format = format_by_name(format_name)
    document = keyframer.decode(data, format=format_name)
    before, scene = scene_of(document, options), scene_of(document, options)
    assert keyframer.encode(format.from_scene(scene).document) == data
    made = EDITS[kind](scene)
    if made is None:
        return False
    number, undo = made
    edited = copy.copy(scene)
    edited.nodes, edited.clips = [copy.copy(node) for node in scene.nodes], copy.deepcopy(scene.clips)
    written = format.from_scene(scene)
    undo()
    assert keyframer.encode(format.from_scene(scene).document) == data, "an edit that is taken back"
    reasons = rewrite_reasons(written)
    if reasons:
        assert any(reason in reasons[0] for reason in REASONS), reasons
        return False
    saved = keyframer.decode(keyframer.encode(written.document), format=format_name)
    assert saved.issues.first_unsafe() is None
    loaded = scene_of(saved, {**options, **dict(written.reader_options)})
    check_records(kind, document, saved)
    check_nodes(kind, number, (before, document), edited, (loaded, saved))
    return True


def check_records(kind: str, document: Document, saved: Document) -> None:
    """Record types and unknown bytes of the original are there."""
    kinds, saved_kinds = ({type(record) for record in each.find(Record)} for each in (document, saved))
    if kind != "remove":
        assert not unknown_bytes(document) - unknown_bytes(saved)
        assert kinds <= saved_kinds, kinds - saved_kinds
    assert document.trailing == saved.trailing


def check_nodes(
    kind: str, number: int, original: tuple[Scene, Document], edited: Scene, result: tuple[Scene, Document]
) -> None:
    (before, document), (loaded, saved) = original, result
    names = Counter(node.name for node in loaded.nodes)
    places = {node.name: i for i, node in enumerate(loaded.nodes) if names[node.name] == 1}
    affected = depends_on(before, number) if 0 <= number < len(before.nodes) else set()
    above = set()  # their records may contain that of the edited node
    parent = before.nodes[number].parent if 0 <= number < len(before.nodes) else None
    while parent is not None:
        above.add(parent)
        parent = before.nodes[parent].parent
    poses = [keyframer.pose(scene, frames=FRAMES).world for scene in (before, loaded)]
    size = max(1.0, float(np.nan_to_num(np.abs(poses[0])).max(initial=0.0)))
    for old, node in enumerate(before.nodes):
        if old in affected or node.name not in places:
            continue
        place = places[node.name]
        finite = np.isfinite(poses[0][:, old])
        assert np.allclose(poses[0][:, old][finite], poses[1][:, place][finite], atol=1e-4 * size), node.name
        if before.source_format not in TABLES and old not in above:
            assert record_of(document, node) == record_of(saved, loaded.nodes[place]), node.name
    if kind == "add" and before.source_format not in TABLES:
        assert "added" in places
    elif kind == "remove":
        assert len(loaded.nodes) == len(before.nodes) - 1
    elif kind == "recolour":
        colors = [material.diffuse for material in loaded.materials] + [light.color for light in loaded.lights]
        assert any(color is not None and np.allclose(color, (0.2, 0.4, 0.6), atol=1e-6) for color in colors)
    elif number >= 0:
        wanted = keyframer.pose(edited, frames=FRAMES).world
        name = edited.nodes[number].name
        if name in places and before.source_format != "midtown":  # only the first bone moves
            got = poses[1][:, places[name]]
            finite = np.isfinite(wanted[:, number])
            assert np.allclose(got[finite], wanted[:, number][finite], atol=1e-3 * size), name


@pytest.mark.parametrize("kind", EDITS)
def test_edits_of_samples_keep_what_did_not_change(kind: str) -> None:
    made = []
    for format_name, path in all_samples():
        if format_name not in MERGERS or path.suffix == ".md5camera":  # only read
            continue
        try:
            data = path.read_bytes()
            if not is_usable(keyframer.decode(data, format=format_name)):
                continue
        except keyframer.FormatError:
            continue
        if check_edit(data, format_name, kind, {}):
            made.append(format_name)
    assert set(made) == set(MERGERS) - set(UNABLE.get(kind, ()))


@needs_corpus
@pytest.mark.parametrize("kind", EDITS)
def test_edits_of_real_files_keep_what_did_not_change(kind: str) -> None:
    made = 0
    for path in animation_files()[:: 1 if SLOW else 29]:
        data = path.read_bytes()
        if len(data) > (1 << 24 if SLOW else 1 << 19):
            continue
        try:
            document = keyframer.decode(data)
            if not is_usable(document):
                continue
        except keyframer.FormatError:
            continue
        try:
            made += document.format.name in MERGERS and check_edit(data, document.format.name, kind, {})
        except AssertionError as error:
            raise AssertionError(f"{path.name}: {error}") from error
    assert made
