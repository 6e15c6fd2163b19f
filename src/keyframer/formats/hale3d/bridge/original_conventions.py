"""The original animation and model, and the data that the writer takes from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Singles
from keyframer.formats.document import Document
from keyframer.formats.hale3d.model import Mesh, ModelJoint
from keyframer.formats.hale3d.records import Frames, Joint, unquoted
from keyframer.formats.kit.scene_writing import UniqueByteNames
from keyframer.scene import Scene
from keyframer.text import encode_name


class Pair(NamedTuple):
    """The two files of an original, None for a missing one, and their records."""

    animation: Document | None = None
    model: Document | None = None
    joints: Sequence[Joint] = ()
    rows: Singles = np.zeros((0, 0), "<f4")
    """frames of the animation"""
    model_joints: Sequence[ModelJoint] = ()
    """joints of the model, in bind pose"""
    meshes: Sequence[Mesh] = ()

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
        """Return the names of joints: those of the model if there is one.

        The only known animation names all its joints "origin".
        """
        return [joint.name for joint in (self.joints if self.model is None else self.model_joints)]


@dataclass(frozen=True, eq=False)
class OriginalConventions:
    """Conventions of the original files. Nodes are numbered as in the scene that is written."""

    pair: Pair = field(default_factory=Pair)
    scene: Scene = field(default_factory=Scene)
    """the scene of the original"""
    original_numbers: Mapping[int, int] = field(default_factory=dict)
    """the original number of each remaining joint, by its node"""
    joint_numbers: Mapping[int, int] = field(default_factory=dict)
    """the numbers that parents and weights use for joints, by node; if empty, they use the indices of the joints"""
    meshes: Mapping[int, Mesh] = field(default_factory=dict)
    """the original mesh of each remaining mesh node"""

    def names(self, scene: Scene, nodes: list[int]) -> list[bytes]:
        """Return the names of the joints of these nodes (-1: the anchor): as stored if they were not renamed.

        A renamed joint keeps its quotes. A new one gets quotes if all stored names have them.
        """
        stored = self.pair.names
        quoted = bool(stored) and all(unquoted(name) != name for name in stored)
        unique_names = UniqueByteNames(reserved=[unquoted(name) for name in stored])
        names = []
        for node in nodes:
            name = "anchor" if node < 0 else scene.nodes[node].name
            old = self.original_numbers.get(node)
            if old is None:
                raw, quotes = unique_names.claim(name), quoted
            else:
                raw, quotes = encode_name(name), unquoted(stored[old]) != stored[old]
            if old is not None and name == self.scene.nodes[old].name:
                names.append(stored[old])
            else:
                names.append(b'"' + raw + b'"' if quotes else raw)
        return names
