"""Read scene files: the tree of models, joints and meshes, with the values of their attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import STRUCT_SYNTAX
from keyframer.formats.document import Document
from keyframer.formats.horde3d.document import SCENE_NAME, SceneGraph
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.issues import Severity
from keyframer.maths import quat
from keyframer.wire.xml_tree import Element, parse

_ORDER = "yxz"
"""rotations are Y · X · Z for column vectors, which rotates about Z first"""
ATTACHMENT = "Attachment"
"""an element with data for programs: the engine skips it"""


@dataclass(eq=False, slots=True)
class Part:
    """An element of the scene that is a node, with the number of its parent."""

    element: Element
    parent: int | None

    @property
    def tag(self) -> str:
        return self.element.tag

    @property
    def name(self) -> str:
        return self.element.get("name")


class SceneFile:
    """A scene file: its parts, parents first, in file order."""

    def __init__(self, document: Document, reporter: Reporter) -> None:
        self.record = document.first(SceneGraph)
        self.reporter = reporter
        self.parts: list[Part] = []
        if self.record is not None:
            self.parts = list(_parts_of(parse(self.record.text, SCENE_NAME, document.limits)))

    @property
    def geometry(self) -> str:
        """The path of the geometry, from the folder of the engine's content; empty without one."""
        return self.parts[0].element.get("geometry") if self.parts else ""

    def number(self, part: Part, name: str, default: float = 0.0) -> float:
        """Return a number from an attribute; the default if it is missing or, which is reported, invalid."""
        text = part.element.get(name).strip()
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        path, wanted = f"{self.reporter.root}{part.element.path}/@{name}", "a finite number"
        offset, found = part.element.offset, repr(text[:40])
        self.reporter.issues.add(STRUCT_SYNTAX, path, offset, severity=Severity.WARNING, wanted=wanted, found=found)
        return default

    def count(self, part: Part, name: str, default: int = 0) -> int:
        return int(min(max(self.number(part, name, default), -1), 1 << 32))

    def transform(self, part: Part) -> tuple[Floats, Floats, Floats]:
        """Return position, rotation x y z w, and scale of a part at rest."""
        position = np.array([self.number(part, f"t{axis}") for axis in "xyz"])
        rotation = np.array([0.0, 0.0, 0.0, 1.0])
        for axis in _ORDER:
            angle = np.radians([self.number(part, f"r{axis}")])
            turn = quat.from_axis_angle(np.eye(3)["xyz".index(axis)], angle)[0]
            rotation = quat.multiply(rotation, turn)
        return position, rotation, np.array([self.number(part, f"s{axis}", 1.0) for axis in "xyz"])


def _parts_of(root: Element) -> Iterator[Part]:
    waiting: list[tuple[Element, int | None]] = [(root, None)]
    number = 0
    while waiting:
        element, parent = waiting.pop()
        yield Part(element, parent)
        waiting += [(child, number) for child in reversed(element.children) if child.tag != ATTACHMENT]
        number += 1
