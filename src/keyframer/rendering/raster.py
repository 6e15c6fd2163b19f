"""Rasteriser: projects triangles and finds the visible one at each pixel.

All triangles are processed together: they are split into rows, and rows into runs of pixels. A depth buffer finds the
nearest. A pixel belongs to a triangle if its centre does. On a shared edge it belongs to exactly one of the two
triangles, because an edge is always computed from its upper end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Flags, Floats, Indices, Numbers
from keyframer.limits import budget_left, budget_total, spend
from keyframer.rendering.viewpoint import View


@dataclass(eq=False)
class Screen:
    """Projected triangles. There may be more triangles than faces: clipping turns a face into one or two."""

    points: Floats
    """(M, 3, 2) x from the left and y from the top, in pixels"""
    closeness: Floats
    """(M, 3) 1 / depth, which is linear on the picture; larger is nearer"""
    source: Indices
    """(M,) the face of each triangle"""
    cut: Indices
    """(M,) its row in ``barycentric``"""
    barycentric: Floats
    """(K, 3, 3) barycentric coordinates of the corners of a triangle in its face; the first row is a whole face"""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def clockwise(self) -> Flags:
        """(M,) whether the corners run clockwise on the picture."""
        edge = self.points[:, 1:] - self.points[:, :1]
        return np.asarray(edge[:, 0, 0] * edge[:, 1, 1] > edge[:, 0, 1] * edge[:, 1, 0])

    def only(self, chosen: Flags) -> Screen:
        """Return some of the triangles."""
        return Screen(
            self.points[chosen], self.closeness[chosen], self.source[chosen], self.cut[chosen], self.barycentric
        )


FACES_AT_ONCE = 100_000
"""faces projected at once"""


def project_faces(points: Floats, corners: Numbers, view: View, width: int, height: int) -> Screen:
    """Return the triangles of faces (F, 3) over points (V, 3) that may be visible, projected.

    Triangles that contain the centre of no pixel are left out: in a picture of a million faces, most are.
    """
    seen = view.camera_coordinates(points)
    seen[~np.isfinite(seen).all(axis=1)] = np.nan
    parts = [
        _project(seen, corners[at : at + FACES_AT_ONCE], at, view, width, height)
        for at in range(0, max(len(corners), 1), FACES_AT_ONCE)
    ]
    pieces = [np.eye(3)[None], *(part.barycentric for part in parts)]
    for part, before in zip(parts, np.cumsum([len(each) for each in pieces]), strict=False):
        part.cut[part.cut > 0] += before - 1
    return Screen(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.closeness for part in parts]),
        np.concatenate([part.source for part in parts]),
        np.concatenate([part.cut for part in parts]),
        np.concatenate(pieces),
    )


@np.errstate(invalid="ignore")
def _project(seen: Floats, corners: Numbers, first: int, view: View, width: int, height: int) -> Screen:
    """Project some faces, which are numbered from ``first``; ``cut`` counts the rows from 1, and 0 is a whole face."""
    camera = seen[corners]
    deep = camera[:, :, 2]
    complete: Flags = ~np.asarray(np.isnan(deep).any(axis=1))
    front = (deep > view.near).sum(axis=1)
    clear = np.flatnonzero(complete & (front == 3))
    cut_source, barycentric = _clip_near(deep, front, complete, view.near)
    camera = np.concatenate([camera[clear], np.einsum("mij,mjk->mik", barycentric, camera[cut_source])])
    source = np.concatenate([clear, cut_source])
    cut = np.concatenate([np.zeros(len(clear), np.int64), 1 + np.arange(len(cut_source))])
    z = np.maximum(camera[:, :, 2], view.near * (1 - 1e-9))
    out = np.empty((len(source), 3, 2))
    out[:, :, 0] = (camera[:, :, 0] / (z * view.half_width) + 1) * (width / 2)
    out[:, :, 1] = (1 - camera[:, :, 1] / (z * view.half_height)) * (height / 2)
    begin = np.maximum(np.ceil(out.min(axis=1, initial=np.inf) - 0.5), 0)
    end = np.minimum(np.ceil(out.max(axis=1, initial=-np.inf) - 0.5), (width, height))
    shown = (begin < end).all(axis=1)
    return Screen(out[shown], 1.0 / z[shown], source[shown] + first, cut[shown], barycentric)


def _clip_near(deep: Floats, front: Indices, complete: Flags, near: float) -> tuple[Indices, Floats]:
    """Return faces that the near plane cuts, and barycentric coordinates of the parts in front of it.

    ``deep`` (F, 3) are the depths of corners, ``front`` (F,) counts those in front of the plane, ``complete`` (F,)
    marks faces whose corners are all finite.
    """
    identity = np.eye(3)
    sources, barycentric = [np.empty(0, np.intp)], [np.empty((0, 3, 3))]
    for corners_in_front in (1, 2):
        cut = np.flatnonzero(complete & (front == corners_in_front))
        if not len(cut):
            continue
        # Rotate each face so that the corner that is alone on its side comes first.
        alone = np.argmax((deep[cut] > near) == (corners_in_front == 1), axis=1)
        order = (alone[:, None] + np.arange(3)) % 3
        depths = np.take_along_axis(deep[cut], order, axis=1)
        basis = identity[order]
        step = ((near - depths[:, :1]) / (depths[:, 1:] - depths[:, :1]))[:, :, None]
        edges = (
            basis[:, :1] * (1 - step) + basis[:, 1:] * step
        )  # where the two edges of the single corner meet the plane
        if corners_in_front == 1:
            sources.append(cut)
            barycentric.append(np.concatenate([basis[:, :1], edges], axis=1))
        else:
            sources += [cut, cut]
            barycentric.append(np.concatenate([edges[:, :1], basis[:, 1:]], axis=1))
            barycentric.append(np.concatenate([edges[:, :1], basis[:, 2:], edges[:, 1:]], axis=1))
    return np.concatenate(sources), np.concatenate(barycentric)


ROWS_AT_ONCE = 400_000
PIXELS_AT_ONCE = 25_000
"""pixels processed at once; temporaries have a few dozen bytes each and stay in the cache"""
BOXES_AT_ONCE = 4_000_000
"""number of pixels in the bounding boxes of triangles that are drawn before hidden triangles are removed again"""
_BUDGET_SHARES = 16
"""shares of the budget of pixels: a picture of the usual size uses at most one, a larger one more in proportion"""
_STANDARD_SIZE = 512 * 512
"""pixels of a picture of the usual size, before it is reduced"""
FRAGMENTS_AT_ONCE = 500_000
"""pixels of translucent faces that are kept before those behind too many others are removed, and approximate number in
the rows of a picture that are drawn together
"""
TRANSLUCENT_COST = 25
"""additional cost of a visible pixel of a translucent face, which is kept and sorted, relative to an opaque one"""

Fragments = tuple[Indices, Indices, Floats]
"""pixel numbers, triangle numbers, closeness"""


def fragments(screen: Screen, chosen: Indices, width: int, height: int, top: int = 0) -> Iterator[Fragments]:
    """Yield the pixels of the chosen triangles in the rows from ``top`` to ``height``, in portions, in the order of
    triangles.
    """
    points = screen.points[chosen]
    order = np.argsort(points[:, :, 1], axis=1, kind="stable")
    x = np.take_along_axis(points[:, :, 0], order, axis=1)
    y = np.take_along_axis(points[:, :, 1], order, axis=1)
    first = np.clip(np.ceil(y[:, 0] - 0.5), top, height).astype(np.intp)
    last = np.clip(np.ceil(y[:, 2] - 0.5), top, height).astype(np.intp)
    rows = np.maximum(last - first, 0)
    with np.errstate(all="ignore"):
        slopes = np.nan_to_num((x[:, [1, 2, 2]] - x[:, [0, 0, 1]]) / (y[:, [1, 2, 2]] - y[:, [0, 0, 1]]))
    plane = _closeness_planes(screen, chosen)
    for begin, end in _portions(rows, ROWS_AT_ONCE):
        portion = slice(begin, end)
        triangle = np.repeat(np.arange(begin, end), rows[portion])
        row = _counting(rows[portion]) + first[triangle]
        middle = np.asarray(row + 0.5, np.float64)
        left, right = _run(x, y, slopes, triangle, middle)
        start = np.clip(np.ceil(left - 0.5), 0, width).astype(np.intp)
        runs = np.maximum(np.clip(np.ceil(right - 0.5), 0, width).astype(np.intp) - start, 0)
        across = plane[triangle, 0]
        closeness = across * (start + 0.5) + plane[triangle, 1] * middle + plane[triangle, 2]
        pixel = row * width + start
        number = chosen[triangle]
        for low, high in _portions(runs, PIXELS_AT_ONCE):
            count = runs[low:high]
            step = _counting(count)
            places, near = np.repeat(pixel[low:high], count), np.repeat(across[low:high], count)
            places += step
            near *= step
            near += np.repeat(closeness[low:high], count)
            yield places, np.repeat(number[low:high], count), near


def _run(x: Floats, y: Floats, slopes: Floats, triangle: Indices, middle: Floats) -> tuple[Floats, Floats]:
    """Return where each row enters and leaves its triangle: the long edge on one side, one of the short ones on the
    other.
    """
    upper = middle < y[triangle, 1]
    long = x[triangle, 0] + (middle - y[triangle, 0]) * slopes[triangle, 1]
    begin = np.where(upper, 0, 1)
    slope = np.where(upper, slopes[triangle, 0], slopes[triangle, 2])
    short = x[triangle, begin] + (middle - y[triangle, begin]) * slope
    return np.minimum(long, short), np.maximum(long, short)


def _closeness_planes(screen: Screen, chosen: Indices) -> Floats:
    """Return (m, 3) closeness as a plane over the picture: a x + b y + c."""
    points, values = screen.points[chosen], screen.closeness[chosen]
    edge = points[:, 1:] - points[:, :1]
    rise = values[:, 1:] - values[:, :1]
    area = edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]
    with np.errstate(all="ignore"):
        a = np.nan_to_num((rise[:, 0] * edge[:, 1, 1] - rise[:, 1] * edge[:, 0, 1]) / area)
        b = np.nan_to_num((rise[:, 1] * edge[:, 0, 0] - rise[:, 0] * edge[:, 1, 0]) / area)
    c = values[:, 0] - a * points[:, 0, 0] - b * points[:, 0, 1]
    return np.stack([a, b, c], axis=1)


def _counting(counts: Indices) -> Indices:
    """Return 0, 1, 2 … for each count, concatenated."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts)


def _portions(counts: Indices, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges whose counts sum to at most ``most``, unless a single one is larger."""
    if not len(counts):
        return
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, before + most, "right")), begin + 1)
        yield begin, end
        begin = end


class DepthBuffer:
    """The nearest triangle at each pixel."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.closeness: Floats = np.zeros(width * height)
        """0 for empty pixels"""
        self.owner: Numbers = np.full(width * height, -1, np.int32)
        """the triangle, -1 for none"""
        spend("pixels", width * height)
        share = budget_total("pixels") * max(width * height, _STANDARD_SIZE) // (_BUDGET_SHARES * _STANDARD_SIZE)
        self.left = min(share, budget_left("pixels"))
        """pixels of triangles that may still be examined; below 0 the picture is incomplete"""

    def charge(self, count: int) -> None:
        """Charge pixels of triangles to the budget."""
        self.left -= count
        spend("pixels", min(count, budget_left("pixels")))

    def draw(self, screen: Screen, chosen: Indices) -> None:
        """Draw opaque triangles, the nearest first: once the picture is covered, hidden ones cost nothing."""
        chosen = _nearest_first(screen, chosen)
        for begin, end in _portions(self._boxes(screen, chosen), BOXES_AT_ONCE):
            portion = chosen[begin:end]
            if begin:
                portion = portion[screen.closeness[portion].max(axis=1, initial=0.0) >= self.closeness.min()]
            if not len(portion) or self.left < 0:
                return
            for pixel, triangle, near in fragments(screen, portion, self.width, self.height):
                self.charge(len(pixel))
                front = np.flatnonzero(near >= self.closeness.take(pixel))  # half as much work as with flags
                pixel, triangle, near = pixel.take(front), triangle.take(front), near.take(front)
                self.closeness[pixel] = near
                hidden = np.flatnonzero(near > self.closeness.take(pixel))
                if len(hidden):  # a farther triangle of these pixels was written after a nearer one
                    np.maximum.at(self.closeness, pixel[hidden], near[hidden])
                    front = np.flatnonzero(near == self.closeness.take(pixel))
                    pixel, triangle = pixel.take(front), triangle.take(front)
                self.owner[pixel] = triangle
                if self.left < 0:
                    return

    def nearest_layers(self, screen: Screen, chosen: Indices, most: int) -> list[tuple[Numbers, Numbers]]:
        """Return pixels, in ascending order, and triangles of the nearest translucent layer, then of the next one, and
        so on. Some rows are drawn after others, so that only few pixels of hidden faces are in memory.
        """
        chosen = _nearest_first(screen, self._affordable(screen, chosen))
        low, high = screen.points[chosen].min(axis=1), screen.points[chosen].max(axis=1)
        layers: list[list[tuple[Numbers, Numbers]]] = [[] for _ in range(most)]
        rows = np.minimum(self._pixels_of_rows(low, high), most * self.width)
        for top, bottom in _portions(rows, FRAGMENTS_AT_ONCE):
            kept = _Layered(most, self.closeness)
            there = chosen[(low[:, 1] < bottom) & (high[:, 1] > top)]
            for fragment in fragments(screen, there, self.width, bottom, top):
                kept.add(fragment)
            for layer, found in zip(layers, kept.layers(), strict=False):
                layer.append(found)
        return [
            (np.concatenate([pixel for pixel, _ in layer]), np.concatenate([triangle for _, triangle in layer]))
            for layer in layers
            if layer
        ]

    def _affordable(self, screen: Screen, chosen: Indices) -> Indices:
        """Charge translucent triangles to the budget; returns as many of them, from the first, as it allows."""
        for pixel, triangle, near in fragments(screen, chosen, self.width, self.height):
            self.charge(len(pixel) + TRANSLUCENT_COST * int(np.count_nonzero(near > self.closeness.take(pixel))))
            if self.left < 0:
                return np.asarray(chosen[chosen <= triangle[-1]])
        return chosen

    def _pixels_of_rows(self, low: Floats, high: Floats) -> Indices:
        """Return how many pixels of the boxes around triangles are in each row."""
        rows = np.clip(np.stack([low[:, 1], high[:, 1] + 1]), 0, self.height).astype(np.intp)
        across = np.clip(high[:, 0] + 1, 0, self.width) - np.clip(low[:, 0], 0, self.width)
        begin, end = (np.bincount(edge, np.ceil(across), self.height + 1) for edge in rows)
        return np.asarray(np.cumsum(begin - end)[: self.height], np.int64)

    def _boxes(self, screen: Screen, chosen: Indices) -> Indices:
        """Return (m,) estimated numbers of pixels in the visible part of the bounding box of each triangle."""
        low, high = screen.points[chosen].min(axis=1), screen.points[chosen].max(axis=1)
        size = np.clip(high, 0, (self.width, self.height)) - np.clip(low, 0, (self.width, self.height)) + 1
        return np.asarray(size[:, 0] * size[:, 1], np.int64)


def _nearest_first(screen: Screen, chosen: Indices) -> Indices:
    return chosen[np.argsort(-screen.closeness[chosen].max(axis=1, initial=0.0), kind="stable")]


class _Layered:
    """The nearest translucent pixels at each place of a picture, in front of the opaque ones."""

    def __init__(self, most: int, closeness: Floats) -> None:
        self.most = most
        self.closeness = closeness
        """changed: pixels that are not nearer than this are not kept"""
        self.parts: list[Fragments] = []
        self.count = self.sorted_count = 0

    def add(self, fragment: Fragments) -> None:
        """Keep those of the pixels that may be visible."""
        pixel, triangle, near = fragment
        clear = np.flatnonzero(near > self.closeness.take(pixel))
        self.parts.append((pixel[clear], triangle[clear], near[clear]))
        self.count += len(clear)
        if self.count > 2 * self.sorted_count + FRAGMENTS_AT_ONCE:  # sorting again and again costs more than memory
            rank = self._sort()
            pixel, _, near = self.parts[0]
            last = rank == self.most - 1
            self.closeness[pixel[last]] = np.nextafter(near[last], 0)  # of equally near ones, others may be in front

    def _sort(self) -> Indices:
        """Sort by pixel, the nearest first, and keep only the first of each pixel; returns their rank in the pixel."""
        pixel, triangle, near = (np.concatenate(parts) for parts in zip(*self.parts, strict=True))
        self.parts = []
        order = np.lexsort((-triangle, -near, pixel))
        pixel = pixel[order]
        starts = np.flatnonzero(np.diff(pixel, prepend=-1))
        rank = np.arange(len(pixel)) - np.repeat(starts, np.diff(starts, append=len(pixel)))
        first = rank < self.most
        order = order[first]
        self.parts = [(pixel[first], triangle[order], near[order])]
        self.count = self.sorted_count = len(order)
        return rank[first]

    def layers(self) -> list[tuple[Numbers, Numbers]]:
        """Return pixels and triangles of each layer, the nearest first."""
        if not self.count:
            return []
        rank = self._sort()
        pixel, triangle = (part.astype(np.int32) for part in self.parts[0][:2])
        return [(pixel[rank == layer], triangle[rank == layer]) for layer in range(int(rank.max()) + 1)]
