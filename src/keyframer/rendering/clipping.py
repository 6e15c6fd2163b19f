"""From points in front of the eye to triangles on the picture: cut at the near plane, divided by depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.rendering.viewpoint import View

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@dataclass(eq=False)
class Screen:
    """Triangles on the picture. M may be more than there are faces: one that is cut becomes one or two."""

    points: Floats
    """(M, 3, 2) across from the left and down from the top, in pixels"""
    closeness: Floats
    """(M, 3) 1 / depth, which changes evenly over the picture; larger is nearer"""
    source: Indices
    """(M,) the face each is part of"""
    shares: Floats
    """(M, 3, 3) each corner as shares of the face's corners"""

    def __len__(self) -> int:
        return len(self.source)


def on_screen(points: Floats, corners: Indices, view: View, width: int, height: int) -> Screen:
    """The faces (F, 3) over points (V, 3) that can be seen at all."""
    seen = view.in_front(points)
    usable = np.asarray(np.isfinite(seen).all(axis=1))
    depth = np.where(usable, seen[:, 2], -np.inf)
    deep = depth[corners]
    front = (deep > view.near).sum(axis=1)
    whole = np.asarray(usable[corners].all(axis=1))
    source, shares = _cut(deep, front, whole, view.near)
    camera = np.einsum("mij,mjk->mik", shares, np.where(usable[:, None], seen, 0.0)[corners[source]])
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
    return Screen(out[inside], 1.0 / z[inside], source[inside], shares[inside])


def _cut(deep: Floats, front: Indices, whole: npt.NDArray[np.bool_], near: float) -> tuple[Indices, Floats]:
    """Faces and shares of the parts that lie in front of the near plane."""
    identity = np.eye(3)
    clear = np.flatnonzero(whole & (front == 3))
    sources, shares = [clear], [np.broadcast_to(identity, (len(clear), 3, 3))]
    for kept in (1, 2):
        cut = np.flatnonzero(whole & (front == kept))
        if not len(cut):
            continue
        # Turn each face so that the corner that is alone on its side comes first.
        alone = np.argmax((deep[cut] > near) == (kept == 1), axis=1)
        order = (alone[:, None] + np.arange(3)) % 3
        depths = np.take_along_axis(deep[cut], order, axis=1)
        basis = identity[order]
        step = ((near - depths[:, :1]) / (depths[:, 1:] - depths[:, :1]))[:, :, None]
        edges = basis[:, :1] * (1 - step) + basis[:, 1:] * step  # where the two edges of the lone corner meet the plane
        if kept == 1:
            sources.append(cut)
            shares.append(np.concatenate([basis[:, :1], edges], axis=1))
        else:
            sources += [cut, cut]
            shares.append(np.concatenate([edges[:, :1], basis[:, 1:]], axis=1))
            shares.append(np.concatenate([edges[:, :1], basis[:, 2:], edges[:, 1:]], axis=1))
    return np.concatenate(sources), np.concatenate(shares)
