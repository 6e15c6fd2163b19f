"""Rasteriser: projects triangles and finds the visible one at each pixel.

All triangles are processed together: they are split into rows, and rows into runs of pixels. A depth buffer finds the
nearest. A pixel belongs to a triangle if its centre does. On a shared edge it belongs to exactly one of the two
triangles, because an edge is always computed from its upper end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Indices
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
    barycentric: Floats
    """(M, 3, 3) barycentric coordinates of each corner in its face"""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def clockwise(self) -> Flags:
        """(M,) whether the corners run clockwise on the picture."""
        edge = self.points[:, 1:] - self.points[:, :1]
        return np.asarray(edge[:, 0, 0] * edge[:, 1, 1] > edge[:, 0, 1] * edge[:, 1, 0])

    def only(self, chosen: Flags) -> Screen:
        """Return some of the triangles."""
        return Screen(self.points[chosen], self.closeness[chosen], self.source[chosen], self.barycentric[chosen])


def project_faces(points: Floats, corners: Indices, view: View, width: int, height: int) -> Screen:
    """Return the triangles of faces (F, 3) over points (V, 3) that may be visible, projected."""
    seen = view.camera_coordinates(points)
    usable = np.asarray(np.isfinite(seen).all(axis=1))
    depth = np.where(usable, seen[:, 2], -np.inf)
    deep = depth[corners]
    front = (deep > view.near).sum(axis=1)
    complete = np.asarray(usable[corners].all(axis=1))
    source, barycentric = _clip_near(deep, front, complete, view.near)
    camera = np.einsum("mij,mjk->mik", barycentric, np.where(usable[:, None], seen, 0.0)[corners[source]])
    z = np.maximum(camera[:, :, 2], view.near * (1 - 1e-9))
    out = np.empty((len(source), 3, 2))
    out[:, :, 0] = (camera[:, :, 0] / (z * view.half_width) + 1) * (width / 2)
    out[:, :, 1] = (1 - camera[:, :, 1] / (z * view.half_height)) * (height / 2)
    inside = (
        (out[:, :, 0].max(axis=1, initial=-np.inf) >= 0)
        & (out[:, :, 0].min(axis=1, initial=np.inf) <= width)
        & (out[:, :, 1].max(axis=1, initial=-np.inf) >= 0)
        & (out[:, :, 1].min(axis=1, initial=np.inf) <= height)
    )
    return Screen(out[inside], 1.0 / z[inside], source[inside], barycentric[inside])


def _clip_near(deep: Floats, front: Indices, complete: Flags, near: float) -> tuple[Indices, Floats]:
    """Return faces and barycentric coordinates of the parts in front of the near plane.

    ``deep`` (F, 3) are the depths of corners, ``front`` (F,) counts those in front of the plane, ``complete`` (F,)
    marks faces whose corners are all finite.
    """
    identity = np.eye(3)
    clear = np.flatnonzero(complete & (front == 3))
    sources, barycentric = [clear], [np.broadcast_to(identity, (len(clear), 3, 3))]
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


Numbers = npt.NDArray[np.int32]

ROWS_AT_ONCE = 400_000
PIXELS_AT_ONCE = 25_000
"""pixels processed at once; temporaries have a few dozen bytes each and stay in the cache"""
BOXES_AT_ONCE = 4_000_000
"""number of pixels in the bounding boxes of triangles that are drawn before hidden triangles are removed again"""
_BUDGET_SHARES = 16
"""shares of the budget of pixels: a picture of the usual size uses at most one, a larger one more in proportion"""
_STANDARD_SIZE = 512 * 512
"""pixels of a picture of the usual size, before it is reduced"""
TRANSLUCENT_COST = 25
"""additional cost of a visible pixel of a translucent face, which is kept and sorted, relative to an opaque one"""

Fragments = tuple[Indices, Indices, Floats]
"""pixel numbers, triangle numbers, closeness"""


def fragments(screen: Screen, chosen: Indices, width: int, height: int) -> Iterator[Fragments]:
    """Yield the pixels of the chosen triangles in portions, in the order of triangles."""
    points = screen.points[chosen]
    order = np.argsort(points[:, :, 1], axis=1, kind="stable")
    x = np.take_along_axis(points[:, :, 0], order, axis=1)
    y = np.take_along_axis(points[:, :, 1], order, axis=1)
    first = np.clip(np.ceil(y[:, 0] - 0.5), 0, height).astype(np.intp)
    last = np.clip(np.ceil(y[:, 2] - 0.5), 0, height).astype(np.intp)
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
        nearest = screen.closeness[chosen].max(axis=1, initial=0.0)
        chosen = chosen[np.argsort(-nearest, kind="stable")]
        for begin, end in _portions(self._boxes(screen, chosen), BOXES_AT_ONCE):
            portion = chosen[begin:end]
            portion = portion[screen.closeness[portion].max(axis=1, initial=0.0) >= self.closeness.min()]
            if not len(portion) or self.left < 0:
                return
            for pixel, triangle, near in fragments(screen, portion, self.width, self.height):
                self.charge(len(pixel))
                np.maximum.at(self.closeness, pixel, near)
                front = np.flatnonzero(near == self.closeness[pixel])  # half as much work as with flags
                self.owner[pixel[front]] = triangle[front]
                if self.left < 0:
                    return

    def in_front(self, screen: Screen, chosen: Indices) -> Iterator[Fragments]:
        """Yield the pixels of triangles that are not hidden by drawn ones."""
        for pixel, triangle, near in fragments(screen, chosen, self.width, self.height):
            clear = np.flatnonzero(near > self.closeness[pixel])
            self.charge(len(pixel) + TRANSLUCENT_COST * len(clear))
            yield pixel[clear], triangle[clear], near[clear]
            if self.left < 0:
                return

    def _boxes(self, screen: Screen, chosen: Indices) -> Indices:
        """Return (m,) estimated numbers of pixels in the visible part of the bounding box of each triangle."""
        low, high = screen.points[chosen].min(axis=1), screen.points[chosen].max(axis=1)
        size = np.clip(high, 0, (self.width, self.height)) - np.clip(low, 0, (self.width, self.height)) + 1
        return np.asarray(size[:, 0] * size[:, 1], np.int64)
