"""Shading: the part of a face that each pixel shows, its normal, material and light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Flags, Floats, Indices, Singles
from keyframer.rendering.drawable_scene import DrawableScene, Shape
from keyframer.rendering.lighting import Lighting
from keyframer.rendering.raster import Screen
from keyframer.rendering.viewpoint import View

_WIRE_PIXELS = 1.2
"""half the width of the lines of wire materials, in pixels of the oversampled picture"""


@dataclass(frozen=True, slots=True)
class SurfaceSamples:
    """Surface data of n pixels. Vectors and colours are in rows, (3, n)."""

    position: Singles
    normal: Singles
    to_eye: Singles
    color: Singles
    alpha: Singles
    """(n,)"""
    glow: Singles
    """light of the surface that is multiplied by the colour"""
    emitted: Singles
    """light of the surface that is added to the colour"""
    specular: Singles
    exponent: Singles
    """(n,) 0 without highlights"""

    def shade(self, light: Lighting) -> tuple[Singles, Singles]:
        """Return (3, n) colours from 0 to 1, and (n,) the light on each pixel."""
        diffuse, shine = light.illuminate(self.position, self.normal, self.to_eye, self.exponent)
        out = self.color * np.maximum(diffuse, self.glow) + self.emitted + shine * self.specular
        return np.clip(out, 0, 1), diffuse.mean(axis=0)


class Shader:
    """Computes surface data for (pixel, triangle) pairs of one screen."""

    def __init__(
        self, drawable: DrawableScene, shape: Shape, screen: Screen, view: View, width: int, oversampling: int
    ) -> None:
        self._drawable, self._shape, self._screen, self._view, self._width = drawable, shape, screen, view, width
        points = screen.points
        edge = points[:, 1:] - points[:, :1]
        area = edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]
        with np.errstate(all="ignore"):
            # change of the barycentric coordinates of the second and third corner, per pixel to the right and down
            self._second = np.nan_to_num(np.stack([edge[:, 1, 1] / area, -edge[:, 1, 0] / area]))
            self._third = np.nan_to_num(np.stack([-edge[:, 0, 1] / area, edge[:, 0, 0] / area]))
        self._area = area
        # numpy is slow on a last axis of length 3: values looked up for each pixel have their components in rows
        self._start, self._closeness = (np.ascontiguousarray(values.T) for values in (points[:, 0], screen.closeness))
        self._points = [np.ascontiguousarray(shape.points[shape.corners[:, corner]].T) for corner in range(3)]
        self._normals = [np.ascontiguousarray(shape.normals[:, corner].T) for corner in range(3)]
        self._uncut = bool((screen.barycentric == np.eye(3)).all())
        # The oversampled pixels of one final pixel are shaded once, so they share the mip level of the larger pixel.
        self._level = self._levels() + (oversampling - 1)
        # Both sides of a face are lit like a front: the winding of old files is not reliable.
        corners = shape.points[shape.corners[screen.source]]
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        self._facing = np.einsum("ij,ij->i", cross, view.eye - corners[:, 0]) >= 0

    def _levels(self) -> Indices:
        """Return (M,) mip levels: the base-2 logarithm of the length in texture coordinates that a pixel covers."""
        drawable, screen = self._drawable, self._screen
        if drawable.uv is None:
            return np.zeros(len(screen), np.int64)
        face_uv = drawable.uv[self._shape.faces[screen.source]].astype(np.float64)
        uv = np.einsum("mij,mjk->mik", screen.barycentric, face_uv)
        edge = uv[:, 1:] - uv[:, :1]
        area = np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0])
        with np.errstate(all="ignore"):
            level = 0.5 * np.log2(np.maximum(area, 1e-30) / np.maximum(np.abs(self._area), 1e-30))
        return np.asarray(np.round(np.clip(level, -40, 40)), np.int64)

    def barycentric(self, pixel: Indices, triangle: Indices) -> tuple[Floats, Floats]:
        """Return barycentric coordinates of pixels, (3, n) each: in the face, and on the picture."""
        start = self._start.take(triangle, axis=1)
        x = (pixel % self._width) + 0.5 - start[0]
        y = (pixel // self._width) + 0.5 - start[1]
        on_picture = np.empty((3, len(pixel)))
        on_picture[1] = self._second[0].take(triangle) * x + self._second[1].take(triangle) * y
        on_picture[2] = self._third[0].take(triangle) * x + self._third[1].take(triangle) * y
        on_picture[0] = 1 - on_picture[1] - on_picture[2]
        in_face = np.clip(on_picture, 0, 1)
        in_face *= self._closeness.take(triangle, axis=1)
        in_face /= np.maximum(in_face.sum(axis=0), 1e-300)
        if not self._uncut:
            in_face = np.einsum("in,nij->jn", in_face, self._screen.barycentric[triangle])
        return in_face, on_picture

    def geometry(self, in_face: Floats, source: Indices) -> tuple[Singles, Singles, Singles]:
        """Return positions, unit normals (not yet turned to the viewer), and directions to the eye: (3, n) each."""
        position = np.zeros((3, len(source)))
        normal = np.zeros((3, len(source)), np.float32)
        for corner in range(3):
            position += self._points[corner].take(source, axis=1) * in_face[corner]
            normal += self._normals[corner].take(source, axis=1) * in_face[corner].astype(np.float32)
        to_eye = (self._view.eye[:, None] - position).astype(np.float32)
        to_eye /= np.maximum(np.sqrt(_dot(to_eye, to_eye)), np.float32(1e-20))
        length = np.sqrt(_dot(normal, normal))
        normal = np.where(length > 0, normal / np.maximum(length, np.float32(1e-12)), to_eye)
        return position.astype(np.float32), normal, to_eye

    def sample(self, pixel: Indices, triangle: Indices) -> SurfaceSamples:
        """Return the surface data of pixels, independent of light."""
        drawable, shape = self._drawable, self._shape
        in_face, on_picture = self.barycentric(pixel, triangle)
        source = self._screen.source[triangle]
        face = shape.faces[source]
        position, normal, to_eye = self.geometry(in_face, source)
        normal = np.where(self._facing[triangle], normal, -normal)
        material = drawable.material[face]
        uv = None
        if drawable.uv is not None:
            single = in_face.astype(np.float32)
            uv = sum(drawable.uv[face, corner] * single[corner, :, None] for corner in range(3))
        color, alpha, glow, emitted = drawable.surfaces.colors(material, uv, self._level[triangle])
        if drawable.colors is not None:
            single = in_face.astype(np.float32)
            color = color * sum((drawable.colors[face, corner] * single[corner, :, None]).T for corner in range(3))
        wire = drawable.surfaces.wire[material]
        if wire.any():
            alpha = np.where(wire & ~self._near_edge(on_picture, triangle), 0, alpha)
        specular = drawable.surfaces.specular.T.take(material, axis=1)
        exponent = np.where(specular.any(axis=0), drawable.surfaces.exponent[material], np.float32(0))
        return SurfaceSamples(position, normal, to_eye, color, alpha, glow, emitted, specular, exponent)

    def _near_edge(self, on_picture: Floats, triangle: Indices) -> Flags:
        """Return whether a pixel is near the outline of its triangle."""
        first = -(self._second + self._third)
        near = np.zeros(len(triangle), np.bool_)
        for coordinate, slope in zip(on_picture, (first, self._second, self._third), strict=True):
            steep = np.sqrt(slope[0] * slope[0] + slope[1] * slope[1])[triangle]
            near |= coordinate < steep * _WIRE_PIXELS
        return near


def _dot(a: Singles, b: Singles) -> Singles:
    return np.asarray(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
