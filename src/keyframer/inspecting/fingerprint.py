"""The fingerprint of a scene: a few numbers that describe its meshes and their motion, not their order or names.

Two fingerprints match if the meshes and the motion are equal within `TOLERANCE`, as a fraction of the size of the
scene. Writers and formats split vertices, move pivots, turn axes and resample keys, so a fingerprint describes only
what these leave unchanged:

* every node with a mesh at the start of the clip, in scene space, right-handed, Y up: its middle, its radius, and sums
  of waves over the corners of its faces. A sum notices one moved vertex among thousands, a mean would not.
* the way that the node takes from there, as a change of scene space: means over eighths of the clip of the ways of four
  points. A mean over an eighth notices one changed key between many, and tolerates resampling.
* the ways of cameras and lights, apart from the others: not all formats have them.

A skinned mesh moves as its joints do. A scene without meshes is described by the motion of all its nodes.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.formats.kit.coordinates import to_right_handed_y_up
from keyframer.limits import budget_left, spend
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Mesh, Scene, Skin

TOLERANCE = 1e-4
"""largest difference of equal parts, as a fraction of the size of the scene"""
_BINS = 8
_RATE, _MOST_SAMPLES, _MOST_MATRICES = 30.0, 512, 100_000
"""samples per second, samples in all, and samples x nodes"""
_FARTHEST = 1e30
_STILL = 1e-6
"""ways below this are not stored"""
_WAVES = np.array([(0.93, 0.31, -0.22), (-0.27, 0.88, 0.41), (0.35, -0.24, 0.95), (0.61, 0.67, 0.58)])
"""wave vectors, not parallel to anything that people build"""
_SHAPE, _MOTION = 4 + 2 * len(_WAVES), 13 * _BINS
"""numbers of a part: middle, radius and waves; and those of a way: four points and invisibility in each bin"""
_MIX = np.cos(np.arange(1, _SHAPE + _MOTION + 1) * 1.7)
"""weights that make one number of many"""
_HEAD = struct.Struct("<QddIII")


@dataclass(eq=False, frozen=True)
class Fingerprint:
    """The fingerprint of a scene; lengths are fractions of its size."""

    triangles: int
    size: float
    """diagonal of the box around the meshes at the start and their middles later, in the unit of the file"""
    seconds: float
    """duration of the clip; 0 if nothing moves"""
    parts: Floats
    """(P, 12) nodes with a mesh: middle, radius, waves"""
    motion: Floats
    """(M, 104) the ways of those that move or are hidden"""
    views: Floats
    """(V, 107) cameras and lights: position and way"""

    @property
    def key(self) -> tuple[float, float]:
        """Two numbers, of the shape and of the motion, that differ by at most `KEY_WIDTH` if fingerprints match."""
        shape = math.log(self.size) + float((self.parts @ _MIX[:_SHAPE]).mean())
        ways = (self.motion @ _MIX[_SHAPE:]) / _MOTION
        return shape / (_SHAPE + 1), (float(ways.max(initial=0.0)) + float(ways.min(initial=0.0))) / 2

    def matches(self, other: Fingerprint) -> bool:
        """Return whether the meshes and their motion are equal within `TOLERANCE`."""
        if self.triangles != other.triangles or len(self.parts) != len(other.parts):
            return False
        if not math.isclose(self.size, other.size, rel_tol=TOLERANCE):
            return False
        if abs(self.seconds - other.seconds) > 0.5 / _RATE:
            return False
        return _are_equal(self.parts, other.parts) and _are_equal(self.motion, other.motion)

    def has_same_views(self, other: Fingerprint) -> bool:
        """Return whether cameras and lights are at the same places and move in the same way."""
        return len(self.views) == len(other.views) and _are_equal(self.views, other.views)

    def to_bytes(self) -> bytes:
        arrays = (self.parts, self.motion, self.views)
        head = _HEAD.pack(self.triangles, self.size, self.seconds, *map(len, arrays))
        return head + b"".join(array.astype("<f4").tobytes() for array in arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Fingerprint:
        """Return the fingerprint that `to_bytes` stored; raises ValueError for other bytes."""
        if len(data) < _HEAD.size:
            raise ValueError("a fingerprint is damaged")
        triangles, size, seconds, *counts = _HEAD.unpack_from(data)
        widths = (_SHAPE, _MOTION, 3 + _MOTION)
        lengths = [count * width for count, width in zip(counts, widths, strict=True)]
        if len(data) != _HEAD.size + 4 * sum(lengths) or not (0 < size < math.inf and 0 <= seconds < math.inf):
            raise ValueError("a fingerprint is damaged")
        numbers = np.frombuffer(data, "<f4", offset=_HEAD.size).astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("a fingerprint is damaged")
        arrays = np.split(numbers, np.cumsum(lengths[:-1]))
        parts, motion, views = (array.reshape(-1, width) for array, width in zip(arrays, widths, strict=True))
        return cls(triangles, size, seconds, parts, motion, views)


KEY_WIDTH = TOLERANCE
"""largest difference of the keys of fingerprints that match"""


def _are_equal(a: Floats, b: Floats) -> bool:
    """Return whether the rows are equal, in any order; missing rows are zeros.

    Sorting each column pairs the rows so that their largest difference is smallest. In a long column the neighbours of
    a changed number may hide it, but not in the sum.
    """
    count = max(len(a), len(b))
    if len(a) != len(b):
        a, b = (np.pad(rows, ((0, count - len(rows)), (0, 0))) for rows in (a, b))
    apart = np.abs(np.sort(a, axis=0) - np.sort(b, axis=0)).max(initial=0.0)
    in_sum = np.abs(a.sum(axis=0) - b.sum(axis=0)).max(initial=0.0)
    return bool(apart <= TOLERANCE and in_sum <= TOLERANCE * math.sqrt(max(count, 1)))


def fingerprint(scene: Scene) -> Fingerprint | None:
    """Return the fingerprint of a scene; None if it has neither meshes nor motion, or numbers without any meaning."""
    rig = Rig(scene)
    times, seconds = _times(scene, rig)
    samples = rig.sample(times)
    with np.errstate(all="ignore"):
        world = rig.world(samples, len(times))
        described = _Description(scene, rig, world, rig.properties.morph_weights(samples, len(times)))
        hidden = 1.0 - rig.properties.visible.at(samples, len(times))[..., 0]
        return described.fingerprint(seconds, hidden)


def _times(scene: Scene, rig: Rig) -> tuple[Floats, float]:
    """Return the first time and those of all bins, in the unit of the clip, and the duration in seconds.

    The times are whole frames at 30 per second: between frames, formats with a value for each frame differ from others.
    """
    begin, end = clip_span(rig.clip)
    if not (rig.channels.animated and end > begin):
        return np.array([begin]), 0.0
    rate = rig.clip.rate if 0 < rig.clip.rate < math.inf else _RATE * max(rig.clip.units_per_frame, 1e-9)
    seconds = (end - begin) / rate
    affordable = min(_MOST_MATRICES, budget_left("samples") // 64) // max(len(scene.nodes), 1)
    frames = max(round(min(seconds, 1e6) * _RATE), 1)
    count = -(-min(frames, _MOST_SAMPLES, max(affordable, 1)) // _BINS) * _BINS
    chosen = (2 * np.arange(1, count + 1) * frames + count) // (2 * count)
    return begin + (end - begin) * np.concatenate([[0.0], chosen / frames]), seconds


class _Description:
    """The parts of a scene in scene space, right-handed, Y up."""

    def __init__(self, scene: Scene, rig: Rig, world: Floats, weights: dict[int, Floats]) -> None:
        self.scene = scene
        self.world = to_right_handed_y_up(scene.space)[0] @ world
        self.moving = frozenset(rig.moving_nodes.tolist() if len(world) > 1 else ())
        self.is_flat: list[bool] = (np.abs(np.linalg.det(self.world[0, :, :3, :3])) < 1e-30).tolist()
        self.weights = weights
        self.triangles = 0
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)
        self.shapes: list[Floats] = []
        """middle, radius and waves of each part; the waves are not yet fractions of the size"""
        self.pieces: list[tuple[int, Floats, float, Floats | None]] = []
        """what moves: a node, the middle and radius of what it moves, and the way of the middle by morphing"""
        for number, node in enumerate(scene.nodes):
            if node.mesh is not None and len(scene.meshes[node.mesh].corners):
                self._add_mesh(number, scene.meshes[node.mesh])
        if not self.shapes:
            self._add_nodes()

    def _add_mesh(self, number: int, mesh: Mesh) -> None:
        node = self.scene.nodes[number]
        weights = self.weights.get(number)
        vertices = posed_vertices(self.scene, number, self.world[:1], None if weights is None else weights[:1])[0]
        corners = np.asarray(mesh.corners, np.int64).ravel()
        spend("samples", len(corners))
        uses = np.bincount(corners, minlength=len(vertices))
        points, counts = vertices, uses.astype(np.float64)
        if not uses.all():
            points, counts = points[uses > 0], counts[uses > 0]
        self._grow(points)
        middle, radius, offsets = _middle_and_radius(points, counts)
        # sines of single precision take a tenth of the time, and change a sum by less than its last stored digit
        phases = (offsets @ (_WAVES.T / max(radius, 1e-30))).astype(np.float32)
        waves = np.concatenate([counts @ np.cos(phases), counts @ np.sin(phases)])
        self.shapes.append(np.concatenate([middle, [radius], waves * (radius / math.sqrt(len(corners)))]))
        self.triangles += len(mesh.corners)
        if node.skin is not None:
            self._add_joints(self.scene.skins[node.skin], vertices, uses)
            return
        way = None
        if weights is not None and node.morph is not None and node.morph.positions:
            middles = np.stack([np.asarray(shape, np.float64)[corners].mean(axis=0) for shape in node.morph.positions])
            local = weights @ middles
            way = np.einsum("tij,tj->ti", self.world[:, number, :3, :3], local - local[0])
        self.pieces.append((number, middle, radius, way))

    def _add_joints(self, skin: Skin, vertices: Floats, uses: Ints) -> None:
        owners, moved = np.asarray(skin.joint_indices, np.int64), np.asarray(skin.vertex_indices, np.int64)
        weights: Floats = np.abs(np.nan_to_num(np.asarray(skin.weights, np.float64))) * uses[moved]
        order = np.argsort(owners, kind="stable")
        joints, begins = np.unique(owners[order], return_index=True)
        for joint, chosen in zip(joints.tolist(), np.split(order, begins)[1:], strict=True):
            if weights[chosen].sum() > 0:
                middle, radius, _ = _middle_and_radius(vertices[moved[chosen]], weights[chosen])
                self.pieces.append((skin.joints[joint], middle, radius, None))

    def _add_nodes(self) -> None:
        origins = self.world[:, :, :3, 3]
        self._grow(origins.reshape(-1, 3))
        radius = float(np.linalg.norm(self.high - self.low)) if len(self.scene.nodes) else 0.0
        for number, origin in enumerate(origins[0]):
            self.shapes.append(np.concatenate([origin, np.zeros(_SHAPE - 3)]))
            self.pieces.append((number, origin, radius or 1.0, None))

    def _grow(self, points: Floats) -> None:
        self.low = np.minimum(self.low, points.min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, points.max(axis=0, initial=-np.inf))

    def fingerprint(self, seconds: float, hidden: Floats) -> Fingerprint | None:
        ways = [self._way(*piece) for piece in self.pieces]
        for way in ways:
            self._grow(way[:, 0])
        size = float(np.linalg.norm(self.high - self.low))
        if not self.shapes or not size < _FARTHEST:  # false for NaN, too
            return None
        size = size or 1.0
        hidden_nodes = set(np.nonzero(hidden)[1].tolist())
        rows = [
            _row(way, hidden[:, piece[0]], size)
            for way, piece in zip(ways, self.pieces, strict=True)
            if len(way) > 1 or piece[0] in hidden_nodes
        ]
        motion = np.array(rows).reshape(-1, _MOTION)
        motion = motion[np.abs(motion).max(axis=1) > _STILL]
        views = [n for n, node in enumerate(self.scene.nodes) if node.camera is not None or node.light is not None]
        places = self.world[0, :, :3, 3]
        seen = [[*(places[n] / size), *_row(self._way(n, places[n], size, None), hidden[:, n], size)] for n in views]
        if not self.triangles and not len(motion) and not seen:
            return None
        found = Fingerprint(
            self.triangles,
            size,
            seconds if len(motion) else 0.0,
            np.array(self.shapes) / size,
            motion,
            np.array(seen).reshape(-1, 3 + _MOTION),
        )
        arrays = (found.parts, found.motion, found.views)
        return found if all(bool((np.abs(array) < _FARTHEST).all()) for array in arrays) else None

    def _way(self, number: int, middle: Floats, radius: float, morphing: Floats | None) -> Floats:
        """Return (T, 4, 3): the middle and three points around it, moved as the node moves from the first time on; if
        it stays where it is, (1, 1, 3): its middle."""
        matrices = self.world[:, number]
        if number not in self.moving and (morphing is None or len(morphing) == 1):
            return (matrices[:1, :3, 3] if self.is_flat[number] else middle[None])[None]
        if self.is_flat[number]:
            way = np.broadcast_to(matrices[:, None, :3, 3], (len(matrices), 4, 3))
        else:
            points = middle + radius * np.vstack([np.zeros(3), np.eye(3)])
            moves = matrices @ np.linalg.inv(matrices[0])
            way = np.einsum("tij,kj->tki", moves[:, :3, :3], points) + moves[:, None, :3, 3]
        return way if morphing is None else way + morphing[:, None]


def _middle_and_radius(points: Floats, weights: Floats) -> tuple[Floats, float, Floats]:
    """Return the weighted mean of points, the root of their mean squared distance from it, and their offsets."""
    total = weights.sum()
    middle = weights @ points / total
    offsets = points - middle
    return middle, math.sqrt(float((weights @ (offsets * offsets)).sum() / total)), offsets


def _row(way: Floats, hidden: Floats, size: float) -> Floats:
    """Return the way from the first time on, and how long the node is hidden, as means over bins."""
    row = np.zeros((_BINS, 13))
    if len(way) > 1:
        row[:, :12] = ((way[1:] - way[0]) / size).reshape(_BINS, -1, 12).mean(axis=1)
    row[:, 12] = hidden[1:].reshape(_BINS, -1).mean(axis=1) if len(hidden) > 1 else hidden
    return row.ravel()
