"""The original animation and model as one tree with two top records, for merging."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Singles
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.frame_table import named_columns
from keyframer.formats.hale3d.model import Mesh, Model, ModelJoint
from keyframer.formats.hale3d.records import Animation, Frames, Joint
from keyframer.formats.merging import FrameTable
from keyframer.wire.record import Record


class Pair(NamedTuple):
    """The two files of an original, None for a missing one, and their records."""

    animation: Document | None
    model: Document | None
    joints: list[Joint]
    rows: Singles
    bound: list[ModelJoint]
    meshes: list[Mesh]

    @staticmethod
    def of(animation: Document | None, model: Document | None) -> Pair:
        frames = None if animation is None else animation.first(Frames)
        return Pair(
            animation,
            model,
            [] if animation is None else list(animation.find(Joint)),
            np.zeros((0, 0), "<f4") if frames is None else frames.rows,
            [] if model is None else list(model.find(ModelJoint)),
            [] if model is None else list(model.find(Mesh)),
        )

    @property
    def names(self) -> list[bytes]:
        """Return the names of joints; the real animation names all of them "origin"."""
        return [joint.name for joint in (self.joints if self.model is None else self.bound)]

    def tops(self) -> list[Record]:
        """Return the tree, with named columns of the frames."""
        tops: list[Record] = []
        if self.animation is not None:
            tops.append(with_children(self.animation, Animation, self.joints))
            if len(self.rows):
                tops[0].children.append(frames_record(named_columns(self.rows, self.joints)))
        if self.model is not None:
            tops.append(with_children(self.model, Model, [*self.meshes, *self.bound]))
        return tops


def with_children(document: Document, kind: type[Record], children: list[Any]) -> Record:
    """Return the top record of a file with other children."""
    top = copy.copy(document.first(kind))
    assert top is not None
    top.children = list(children)
    return top


def frames_record(table: FrameTable) -> Frames:
    frames = Frames()
    frames.rows = table  # type: ignore[assignment]  # while it is merged
    return frames
