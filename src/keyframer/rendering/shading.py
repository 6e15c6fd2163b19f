"""The colour of pixels: which part of a face each shows, its normal, its material, and the light that falls there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.rendering.clipping import Screen
from keyframer.rendering.lighting import Lighting
from keyframer.rendering.stage import Shape, Stage
from keyframer.rendering.view import View

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]

_WIRE_PIXELS = 1.2
"""half the width of the lines of wire materials, in pixels of the large picture"""


class Shader:
    """Shades pixels of one screen: (pixel, triangle) pairs to colours and opacities."""

    def __init__(self, stage: Stage, shape: Shape, screen: Screen, view: View, width: int, finer: int) -> None:
        self._stage, self._shape, self._screen, self._view, self._width = stage, shape, screen, view, width
        points = screen.points
        edge = points[:, 1:] - points[:, :1]
        area = edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]
        with np.errstate(all="ignore"):
            # how the shares of the second and third corner grow to the right and down
            self._second = np.nan_to_num(np.stack([edge[:, 1, 1] / area, -edge[:, 1, 0] / area], axis=1))
            self._third = np.nan_to_num(np.stack([-edge[:, 0, 1] / area, edge[:, 0, 0] / area], axis=1))
        self._area = area
        self._uncut = bool((screen.shares == np.eye(3)).all())
        self._level = self._levels() + (finer - 1)  # pixels are shaded once for all that will become one
        # Whichever side of a face is seen is lit like a front: old files are not careful about the order of corners.
        corners = shape.points[shape.corners[screen.source]]
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self._facing = np.einsum("ij,ij->i", cross, view.eye - corners[:, 0]) >= 0

    def _levels(self) -> Indices:
        """(M,) how coarse an image may be: the logarithm of texture units that a pixel covers."""
        stage, screen = self._stage, self._screen
        if stage.uv is None:
            return np.zeros(len(screen), np.int64)
        uv = np.einsum("mij,mjk->mik", screen.shares, stage.uv[self._shape.faces[screen.source]].astype(np.float64))
        edge = uv[:, 1:] - uv[:, :1]
        area = np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0])
        with np.errstate(all="ignore"):
            level = 0.5 * np.log2(np.maximum(area, 1e-30) / np.maximum(np.abs(self._area), 1e-30))
        return np.asarray(np.round(np.clip(level, -40, 40)), np.int64)

    def shares(self, pixel: Indices, triangle: Indices) -> tuple[Floats, Floats]:
        """(n, 3) of the face's corners, right in perspective, and (n, 3) of the corners on the picture."""
        start = self._screen.points[triangle, 0]
        x = (pixel % self._width) + 0.5 - start[:, 0]
        y = (pixel // self._width) + 0.5 - start[:, 1]
        flat = np.empty((len(pixel), 3))
        flat[:, 1] = self._second[triangle, 0] * x + self._second[triangle, 1] * y
        flat[:, 2] = self._third[triangle, 0] * x + self._third[triangle, 1] * y
        flat[:, 0] = 1 - flat[:, 1] - flat[:, 2]
        deep = np.clip(flat, 0, 1) * self._screen.closeness[triangle]
        deep /= np.maximum(deep.sum(axis=1), 1e-300)[:, None]
        if not self._uncut:
            deep = np.einsum("ni,nij->nj", deep, self._screen.shares[triangle])
        return deep, flat

    def geometry(self, shares: Floats, face: Indices) -> tuple[Singles, Singles, Singles]:
        """Places, normals that face the viewer, and directions to the eye: (n, 3) each."""
        shape = self._shape
        corners = shape.corners[face]
        place = np.zeros((len(face), 3))
        normal = np.zeros((len(face), 3), np.float32)
        for corner in range(3):
            share = shares[:, corner, None]
            place += shape.points[corners[:, corner]] * share
            normal += shape.normals[face, corner] * share.astype(np.float32)
        to_eye = (self._view.eye - place).astype(np.float32)
        to_eye /= np.maximum(np.sqrt(_dot(to_eye, to_eye)), np.float32(1e-20))[:, None]
        length = np.sqrt(_dot(normal, normal))
        normal = np.where(length[:, None] > 0, normal / np.maximum(length, np.float32(1e-12))[:, None], to_eye)
        return place.astype(np.float32), normal, to_eye

    def shade(self, pixel: Indices, triangle: Indices, light: Lighting) -> tuple[Singles, Singles, Singles]:
        """(n, 3) colours from 0 to 1, (n,) opacities, and (n,) how much light falls on each pixel."""
        stage, shape = self._stage, self._shape
        shares, flat = self.shares(pixel, triangle)
        source = self._screen.source[triangle]
        face = shape.faces[source]
        place, normal, to_eye = self.geometry(shares, source)
        normal = np.where(self._facing[triangle, None], normal, -normal)
        material = stage.material[face]
        single = shares.astype(np.float32)[:, :, None]
        uv = None if stage.uv is None else (stage.uv[face] * single).sum(axis=1)
        color, alpha, glow, emitted = stage.surfaces.colors(material, uv, self._level[triangle])
        if stage.colors is not None:
            color = color * (stage.colors[face] * single).sum(axis=1)
        fallen, shine = light.fall(place, normal, to_eye, stage.surfaces.exponent[material])
        out = color * np.maximum(fallen, glow) + emitted + shine * stage.surfaces.specular[material]
        wire = stage.surfaces.wire[material]
        if wire.any():
            alpha = np.where(wire & ~self._near_edge(flat, triangle), 0, alpha)
        return np.clip(out, 0, 1), alpha, fallen.mean(axis=1)

    def _near_edge(self, flat: Floats, triangle: Indices) -> npt.NDArray[np.bool_]:
        """Whether a pixel is on the outline of its face."""
        first = -(self._second + self._third)
        near = np.zeros(len(triangle), np.bool_)
        for share, slope in zip(flat.T, (first, self._second, self._third), strict=True):
            steep = np.sqrt(np.einsum("ij,ij->i", slope, slope))[triangle]
            near |= share < steep * _WIRE_PIXELS
        return near


def _dot(a: Singles, b: Singles) -> Singles:
    return np.asarray(a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2])
