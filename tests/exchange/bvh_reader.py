"""An independent reader of BVH: what programs make of a file, by the description of the University of Wisconsin."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from keyframer.arrays import Floats


@dataclass
class Joint:
    name: str
    parent: int
    offset: Floats
    channels: list[str] = field(default_factory=list)
    is_end: bool = False


@dataclass
class Bvh:
    joints: list[Joint]
    rows: Floats
    seconds_per_frame: float
    roots: int

    def world(self, *, replace: bool) -> Floats:
        """Return (frames, joints, 4, 4); positions ``replace`` offsets (Blender), or are added to them (three.js)."""
        out = np.zeros((len(self.rows), len(self.joints), 4, 4))
        for frame, row in enumerate(self.rows):
            values = iter(row.tolist())
            for number, joint in enumerate(self.joints):
                place, turn = joint.offset.copy(), np.eye(3)
                if replace and "Xposition" in joint.channels:
                    place = np.zeros(3)
                for channel in joint.channels:
                    value, axis = next(values), "XYZ".index(channel[0])
                    if channel.endswith("position"):
                        place[axis] += value
                    else:
                        turn = turn @ about(axis, math.radians(value))
                local = np.eye(4)
                local[:3, :3], local[:3, 3] = turn, place
                out[frame, number] = local if joint.parent < 0 else out[frame, joint.parent] @ local
            assert next(values, None) is None
        return out

    def at_rest(self) -> Floats:
        """Return (joints, 3)."""
        places: list[Floats] = []
        for joint in self.joints:
            places.append(joint.offset if joint.parent < 0 else joint.offset + places[joint.parent])
        return np.array(places)


def about(axis: int, angle: float) -> Floats:
    """Return the matrix of a rotation about X, Y or Z for column vectors, counter-clockwise seen from its tip."""
    matrix = np.eye(3)
    one, two = (axis + 1) % 3, (axis + 2) % 3
    matrix[one, one] = matrix[two, two] = math.cos(angle)
    matrix[one, two], matrix[two, one] = -math.sin(angle), math.sin(angle)
    return matrix


def read_bvh(path: Path) -> Bvh:
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "HIERARCHY"
    joints: list[Joint] = []
    stack: list[int] = []
    roots = 0
    motion = lines.index("MOTION")
    for line in lines[1:motion]:
        words = line.split()
        if words[0] in ("ROOT", "JOINT") or words == ["End", "Site"]:
            assert len(words) == 2
            assert (words[0] == "ROOT") == (not stack)
            roots += words[0] == "ROOT"
            parent = stack[-1] if stack else -1
            joints.append(Joint(words[1], parent, np.zeros(3), is_end=words[0] == "End"))
            stack.append(len(joints) - 1)
        elif words[0] == "OFFSET":
            joints[stack[-1]].offset = np.array([float(word) for word in words[1:]])
        elif words[0] == "CHANNELS":
            joints[stack[-1]].channels = words[2:]
            assert int(words[1]) == len(words[2:])
        elif words == ["}"]:
            stack.pop()
        else:
            assert words == ["{"]
    assert not stack
    assert lines[motion + 1].startswith("Frames: ")
    assert lines[motion + 2].startswith("Frame Time: ")
    rows = np.array([[float(word) for word in line.split()] for line in lines[motion + 3 :]])
    assert len(rows) == int(lines[motion + 1].split()[1])
    with_children = {joint.parent for joint in joints}
    assert all((number in with_children) != joint.is_end for number, joint in enumerate(joints))
    return Bvh(joints, rows, float(lines[motion + 2].split()[2]), roots)
