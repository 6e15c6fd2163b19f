"""Convert a merged tree to an animation and a model: order and number the joints, and lay out the columns of frames.

A column is named by the key of its joint (`Matching.key`) and one of the six components; the column ``"box"`` has the
boxes.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Singles
from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.original_conventions import Pair
from keyframer.formats.hale3d.model import Mesh, Model, ModelJoint
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, COMPONENTS, Animation, Frames, Joint
from keyframer.formats.kit.rigid_joints import parents_first
from keyframer.formats.merging import Column, Edited


class MergedFiles:
    """Converts a merged tree to files. Joints and meshes are identified by `Matching.key` until they have numbers."""

    def __init__(self, merged: Edited, original: bridge.Original) -> None:
        self.original = original
        self.pair: Pair = original.links
        tops = merged.document.records
        self.animation = next((top for top in tops if isinstance(top, Animation)), None)
        self.model = next((top for top in tops if isinstance(top, Model)), None)
        parts: Any = merged.parts
        self.parts = parts
        children = [child for top in tops for child in top.children if id(child) in parts]
        self.keys: dict[int, int] = {id(child): parts[id(child)][1] for child in children}
        """keys of joints and meshes, by the `id` of their records"""
        top = self.animation or self.model
        assert top is not None
        joints: list[Any] = [child for child in top.children if isinstance(child, (Joint, ModelJoint))]
        self.order = self._ordered({self.keys[id(joint)]: joint.parent for joint in joints})
        self.place = {key: place for place, key in enumerate(self.order)}
        self.renumbers = self.order != list(range(len(self.pair.names)))

    def _ordered(self, parents: dict[int, int]) -> list[int]:
        """Return the keys of joints: parents first, as readers require, and otherwise in original order, new ones last.

        An original with children before their parents keeps its order if no joint was added or removed.
        """
        keys = list(parents)
        stored: Sequence[Joint | ModelJoint] = self.pair.joints or self.pair.model_joints
        if keys == list(range(len(stored))) and any(joint.parent > at for at, joint in enumerate(stored)):
            return keys
        place = {key: at for at, key in enumerate(keys)}
        parent_places = [place.get(parent, -1) for parent in parents.values()]
        return [keys[at] for at in parents_first(parent_places, list(range(len(keys))))]

    def merged(self) -> tuple[Document, dict[str, object]]:
        document = self.original.document
        documents: dict[type, Document] = {}
        if self.animation is not None and self.pair.animation is not None:
            documents[Animation] = replace(self.pair.animation, records=[self._animation(self.animation)])
        meshes = [] if self.model is None else [child for child in self.model.children if isinstance(child, Mesh)]
        if self.model is not None:
            original = self.pair.model or Document(document.format, dialect=document.dialect)
            documents[Model] = replace(original, records=[self._model(self.model, meshes)])
        main = documents.pop(Animation if document.first(Model) is None else Model)
        names = {Animation: "animation", Model: "model"}
        reader_options: dict[str, object] = {names[kind]: companion for kind, companion in documents.items()}
        return main, {**reader_options, "found": ""} if reader_options else {}

    def _with_parent_number(self, record: Any) -> Any:
        """Return a joint with the new number of its parent."""
        if self.renumbers:
            record = copy.copy(record)
            record.parent = self.place.get(record.parent, -1)
        return record

    def _animation(self, top: Animation) -> Animation:
        by_key = {self.keys[id(child)]: child for child in top.children if isinstance(child, Joint)}
        joints = {key: self._with_parent_number(by_key[key]) for key in self.order}
        stored = None if self.pair.animation is None else self.pair.animation.first(Frames)
        boxes = next((child.rows for child in top.children if isinstance(child, Frames)), None)
        if boxes is not None and stored is not None:
            count = len(boxes)
            named = {self.parts[id(child)][1:]: child.values for child in top.children if isinstance(child, Column)}
            rows = self.pair.rows
            if len(rows) != count:  # columns that no joint reads get the nearest frames
                rows = rows[np.rint(np.linspace(0, len(rows) - 1, count)).astype(np.int64)]
            columns, joints = arrange_columns(rows, dict(enumerate(self.pair.joints)), joints, named)
            stored = copy.copy(stored)
            stored.rows = np.column_stack([boxes, *columns])
        animation = copy.copy(top)
        animation.children = [*joints.values(), *([] if stored is None else [stored])]
        return animation

    def _model(self, top: Model, meshes: list[Mesh]) -> Model:
        by_key = {self.keys[id(child)]: child for child in top.children if isinstance(child, ModelJoint)}
        model = copy.copy(top)
        model.children = [
            *map(self._with_joint_numbers, meshes),
            *(self._with_parent_number(by_key[key]) for key in self.order),
        ]
        return model

    def _with_joint_numbers(self, mesh: Mesh) -> Mesh:
        """Return a mesh with the new joint numbers in its weights.

        Weights of removed joints go to their parents.
        """
        if not self.renumbers:
            return mesh
        numbers = dict(self.place)
        for key in range(len(self.pair.model_joints)):
            ancestor, steps = key, 0  # steps are counted because parents may form a cycle
            while ancestor not in self.place and ancestor >= 0 and steps < len(self.pair.model_joints):
                ancestor, steps = self.pair.model_joints[ancestor].parent, steps + 1
            numbers.setdefault(key, self.place.get(ancestor, 0))
        weighted, weights = copy.copy(mesh), np.array(mesh.weights)
        keys, places = np.unique(weights["joint"], return_inverse=True)
        weights["joint"] = np.array([numbers[key] for key in keys.tolist()], np.int64)[places]
        weighted.weights = weights
        return weighted


def named_columns(rows: Singles, joints: Sequence[Joint]) -> dict[tuple[int, int], Singles]:
    """Return the columns of the original frames, by joint and component."""
    return {
        (number, bit): rows[:, BOUNDS_FLOATS + at]
        for number, joint in enumerate(joints if len(rows) else ())
        for bit, at in zip(joint.moving, _columns_of(joint), strict=True)
    }


def _columns_of(joint: Joint) -> range:
    """Return the columns of a joint, after the box."""
    return range(joint.start_index, joint.start_index + len(joint.moving))


def arrange_columns(
    rows: Singles, before: Mapping[int, Joint], edited: Mapping[int, Joint], named: Mapping[tuple[int, int], Singles]
) -> tuple[list[Singles], dict[int, Joint]]:
    """Return the columns of edited frames, and the joints with their column positions.

    ``before`` are the joints of the original ``rows``, which have the box first. ``named`` has the columns of the
    ``edited`` joints. Unchanged columns of a joint keep their position. Changed ones keep it if no other joint reads
    them; otherwise they are appended, like those of new joints. Columns of removed joints are removed unless other
    joints read them. Columns that no original joint reads stay.
    """
    columns: dict[object, Singles] = dict(enumerate(rows[:, BOUNDS_FLOATS:].T))
    readers = Counter(at for number in edited.keys() & before.keys() for at in _columns_of(before[number]))
    removed = {at for number in before.keys() - edited.keys() for at in _columns_of(before[number])} - readers.keys()
    replacements: dict[object, list[object]] = {at: [] for at in removed}
    appended: list[object] = []
    joints: dict[int, Joint] = {}
    first: dict[int, object] = {}
    """the first column of each joint that has some"""
    for number, joint in edited.items():
        new = {bit: (number, bit) for bit in range(COMPONENTS) if (number, bit) in named}
        old = list(_columns_of(before[number])) if number in before else []
        names = list(new.values())
        joints[number] = copy.copy(joint)
        joints[number].flags = joint.flags & ~((1 << COMPONENTS) - 1) | sum(1 << bit for bit in new)
        values = [named[name].tobytes() for name in names]
        if old and list(new) == before[number].moving and values == [columns[at].tobytes() for at in old]:
            first[number] = old[0]
            continue
        columns |= {name: named[name] for name in names}
        if old and all(readers[at] == 1 for at in old):
            replacements |= {at: [] for at in old} | {old[0]: list(names)}
        else:
            readers.subtract(old)
            appended += names
        if names:
            first[number] = names[0]
    order = [name for at in range(rows.shape[1] - BOUNDS_FLOATS) for name in replacements.get(at, [at])] + appended
    place = {name: at for at, name in enumerate(order)}
    for number, name in first.items():
        joints[number].start_index = place[name]
    return [columns[name] for name in order], joints
