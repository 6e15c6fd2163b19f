"""Draws one picture: finds the face, normal, material and light of each pixel, blends translucent faces from far to
near, and reduces the picture to smooth its edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyframer.arrays import Bytes, Flags, Floats, Indices, Singles
from keyframer.posing import Pose
from keyframer.rendering.drawable_scene import DrawableScene, Shape
from keyframer.rendering.lighting import Lighting, file_lighting, studio_lighting
from keyframer.rendering.raster import DepthBuffer, Numbers, Screen, project_faces
from keyframer.rendering.viewpoint import View

LAYERS = 12
"""maximum number of translucent faces seen through each other"""
_DARK, _BRIGHT = 0.45, 1.0
"""mean of the light below which light is added, and 90th percentile above which all light is reduced"""
_WANTED_MEAN, _STUDIO_MEAN = 0.55, 0.65
"""mean of the light that is wanted if light is added, and approximate mean of the studio lights alone"""
_BLINDING = 1e6
"""light that counts as no brighter: the light of damaged files may be infinite"""
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


Opaque = tuple[Indices, SurfaceSamples]
"""(oversampling ** 2, covered pixels) index of the surface sample that each pixel of the oversampled picture shows, -1
for none; and the surface samples
"""


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
        corners = shape.corners[screen.source]
        self._points = [np.ascontiguousarray(shape.points[corners[:, corner]].T) for corner in range(3)]
        self._normals = [np.ascontiguousarray(shape.normals[screen.source, corner].T) for corner in range(3)]
        # The oversampled pixels of one final pixel are shaded once, so they share the mip level of the larger pixel.
        self._level = self._levels() + (oversampling - 1)
        # Both sides of a face are lit like a front: the winding of old files is not reliable.
        places = shape.points[corners]
        cross = np.cross(places[:, 1] - places[:, 0], places[:, 2] - places[:, 0])
        self._facing = np.einsum("ij,ij->i", cross, view.eye - places[:, 0]) >= 0

    def _levels(self) -> Indices:
        """Return (M,) mip levels: the base-2 logarithm of the length in texture coordinates that a pixel covers."""
        drawable, screen = self._drawable, self._screen
        if drawable.uv is None:
            return np.zeros(len(screen), np.int64)
        face_uv = drawable.uv[self._shape.faces[screen.source]].astype(np.float64)
        uv = np.einsum("mij,mjk->mik", screen.barycentric[screen.cut], face_uv)
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
        cut = self._screen.cut[triangle]
        if cut.any():
            in_face = np.einsum("in,nij->jn", in_face, self._screen.barycentric[cut])
        return in_face, on_picture

    def geometry(self, in_face: Floats, triangle: Indices) -> tuple[Singles, Singles, Singles]:
        """Return positions, unit normals (not yet turned to the viewer), and directions to the eye: (3, n) each."""
        position = np.zeros((3, len(triangle)))
        normal = np.zeros((3, len(triangle)), np.float32)
        for corner in range(3):
            position += self._points[corner].take(triangle, axis=1) * in_face[corner]
            normal += self._normals[corner].take(triangle, axis=1) * in_face[corner].astype(np.float32)
        to_eye = (self._view.eye[:, None] - position).astype(np.float32)
        to_eye /= np.maximum(np.sqrt(_dot(to_eye, to_eye)), np.float32(1e-20))
        length = np.sqrt(_dot(normal, normal))
        normal = np.where(length > 0, normal / np.maximum(length, np.float32(1e-12)), to_eye)
        return position.astype(np.float32), normal, to_eye

    def sample(self, pixel: Indices, triangle: Indices) -> SurfaceSamples:
        """Return the surface data of pixels, independent of light."""
        drawable, shape = self._drawable, self._shape
        in_face, on_picture = self.barycentric(pixel, triangle)
        face = shape.faces[self._screen.source[triangle]]
        position, normal, to_eye = self.geometry(in_face, triangle)
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
        metal = drawable.surfaces.metal[material]
        if metal.any():
            specular = np.where(metal, color * metal * drawable.surfaces.strength[material], specular)
            color = color * (1 - metal)
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


@dataclass(eq=False)
class Exposure:
    """The strength of the lights, determined with the first picture and kept for the following ones to avoid flicker.

    ``mode``: ``file`` uses the lights of the file, ``studio`` uses studio lights, ``auto`` uses the lights of the file
    plus as much studio light as the picture needs, or studio lights if the file has none.
    """

    mode: str = "auto"
    fill: float | None = None
    """added fraction of the studio lights; None as long as it is not determined, and in other modes than ``auto``"""
    gain: float = 1.0
    """factor of all lights"""
    complete: bool = True
    """whether all faces of all pictures were drawn"""

    def lighting(self, pose: Pose, at: int, view: View) -> Lighting:
        from_studio = studio_lighting(view)
        from_file = None if self.mode == "studio" else file_lighting(pose, at)
        if from_file is None:
            return Lighting((), (0.0, 0.0, 0.0)) if self.mode == "file" else from_studio
        if self.mode == "file":
            return from_file
        return from_file.plus(from_studio, self.fill or 0.0).times(self.gain)

    def adapt(self, levels: Singles) -> bool:
        """In mode ``auto``, adapt to the brightness of the first picture; returns True if it must be drawn again."""
        if self.fill is not None or self.mode != "auto":
            return False
        self.fill = 0.0
        levels = np.clip(np.nan_to_num(levels), -_BLINDING, _BLINDING)
        mean, bright = float(levels.mean(dtype=np.float64)), float(np.percentile(levels, 90))
        if mean < _DARK:
            self.fill = min(1.0, (_WANTED_MEAN - mean) / _STUDIO_MEAN)
        elif bright > _BRIGHT:
            self.gain = _BRIGHT / bright
        return self.fill > 0 or self.gain < 1


def render(
    drawable: DrawableScene,
    pose: Pose,
    at: int,
    view: View,
    width: int,
    height: int,
    exposure: Exposure,
    oversampling: int = 2,
) -> Bytes:
    """Return (height, width, 4) premultiplied RGBA at time index ``at`` of a pose; each pixel is the mean of a square
    of ``oversampling`` pixels a side.
    """
    large = Canvas(drawable, drawable.shape(pose, at), view, width * oversampling, height * oversampling, oversampling)
    light = exposure.lighting(pose, at, view)
    exposure.complete = exposure.complete and large.complete
    picture, levels = large.paint(light)
    if len(levels) and exposure.adapt(levels):
        picture, _ = large.paint(exposure.lighting(pose, at, view))
    return picture


class Canvas:
    """Projected faces, ready to be shaded in any light; squares of ``oversampling`` pixels a side become one pixel."""

    def __init__(
        self, drawable: DrawableScene, shape: Shape, view: View, width: int, height: int, oversampling: int = 1
    ) -> None:
        self._oversampling = oversampling
        self._drawable, self._shape, self._width, self._height = drawable, shape, width, height
        self._project(shape, view)

    @np.errstate(all="ignore")  # a face without area divides by zero; it covers no pixel
    def _project(self, shape: Shape, view: View) -> None:
        drawable, width, height = self._drawable, self._width, self._height
        self._screen: Screen = project_faces(shape.points, shape.corners, view, width, height)
        if not drawable.two_sided:
            two_sided = drawable.surfaces.two_sided[drawable.material[shape.faces[self._screen.source]]]
            is_front = self._screen.clockwise == shape.mirrored[self._screen.source]
            self._screen = self._screen.only(two_sided | is_front)
        material = drawable.material[shape.faces[self._screen.source]]
        translucent = drawable.surfaces.translucent[material]
        is_stick = self._screen.source >= shape.first_stick
        self._buffer = DepthBuffer(width, height)
        self._buffer.draw(self._screen, np.flatnonzero(~translucent & ~is_stick))
        chosen = np.flatnonzero(translucent & ~is_stick)
        self._layers = self._buffer.nearest_layers(self._screen, chosen, LAYERS)
        self._sticks = DepthBuffer(width, height) if is_stick.any() else None
        if self._sticks is not None:  # a skeleton is visible through everything
            self._sticks.draw(self._screen, np.flatnonzero(is_stick))
        self._forget_hidden()
        self._shader = Shader(drawable, shape, self._screen, view, width, self._oversampling)

    @property
    def coverage(self) -> float:
        """Fraction of the picture that shows something."""
        covered = self._buffer.owner >= 0
        for pixel, _ in self._layers:
            covered[pixel] = True
        if self._sticks is not None:
            covered |= self._sticks.owner >= 0
        return float(covered.mean())

    @property
    def complete(self) -> bool:
        """Whether every face was drawn: false if drawing all of them would take too long."""
        return self._buffer.left >= 0 and (self._sticks is None or self._sticks.left >= 0)

    @property
    def nodes(self) -> Indices:
        """The node of the opaque face that each pixel shows; -1 for none."""
        nodes = np.append(self._drawable.node_of(self._shape.faces[self._screen.source]), -1)
        return nodes[np.where(self._buffer.owner >= 0, self._buffer.owner, -1)]

    @property
    def largest_object_share(self) -> float:
        """The largest fraction of the picture that opaque faces of one node cover; 0 if only one node has faces."""
        seen = np.bincount(self.nodes[self.nodes >= 0])
        return float(seen.max(initial=0)) / len(self._buffer.owner) if len(self._drawable.mesh_nodes) > 1 else 0.0

    def _forget_hidden(self) -> None:
        """Keep only the triangles that a pixel shows, and number them again: shading prepares data of each."""
        buffers = [self._buffer, *([] if self._sticks is None else [self._sticks])]
        seen = np.zeros(len(self._screen) + 1, np.bool_)  # the last is for pixels without a triangle
        for buffer in buffers:
            seen[buffer.owner] = True
        for _, triangle in self._layers:
            seen[triangle] = True
        seen[-1] = False
        number = np.cumsum(seen, dtype=np.int32) - 1
        number[-1] = -1
        for buffer in buffers:
            buffer.owner = number[buffer.owner]
        self._layers = [(pixel, number[triangle].astype(np.int64)) for pixel, triangle in self._layers]
        self._screen = self._screen.only(seen[:-1])

    @np.errstate(all="ignore")
    def paint(self, light: Lighting) -> tuple[Bytes, Singles]:
        """Return (height, width, 4) premultiplied bytes of the final picture, and the light on visible surfaces."""
        covered, solid, layers, sticks = self._samples
        out = np.zeros((4, self._oversampling**2, len(covered)), np.float32)
        levels = [_paint_opaque(out, *solid, light)]
        for places, pixel, triangle in layers:
            samples = self._shader.sample(pixel, triangle)  # not kept: each layer may be as large as the picture
            color, light_levels = samples.shade(light)
            for part, value in zip(out, (*color, 1), strict=True):
                part[places] = part[places] * (1 - samples.alpha) + value * samples.alpha
            levels.append(light_levels)
        if sticks is not None:
            levels.append(_paint_opaque(out, *sticks, light))
        small = np.asarray(sum(out[:, plane] for plane in range(self._oversampling**2)))
        picture = np.zeros((self._width * self._height // self._oversampling**2, 4), np.uint8)
        picture[covered] = np.round(np.clip(small / self._oversampling**2, 0, 1) * 255).T
        return picture.reshape(self._height // self._oversampling, -1, 4), np.concatenate(levels)

    @cached_property
    def _samples(self) -> tuple[Indices, Opaque, list[tuple[tuple[Indices, Indices], Indices, Indices]], Opaque | None]:
        """Covered pixels of the final picture, and what they show: samples of opaque faces; places, pixels and
        triangles of translucent ones, from far to near; samples of the skeleton. They do not depend on the light.
        """
        solid, sticks = (
            None if buffer is None else self._planes(buffer.owner) for buffer in (self._buffer, self._sticks)
        )
        assert solid is not None
        shown = np.asarray((solid >= 0).any(axis=0))
        if sticks is not None:
            shown |= (sticks >= 0).any(axis=0)
        behind = [(*self._final_pixels(pixel), pixel, triangle) for pixel, triangle in reversed(self._layers)]
        for _, small, _, _ in behind:
            shown[small] = True
        covered = np.flatnonzero(shown)
        layers = [
            ((plane, np.searchsorted(covered, small)), pixel, triangle) for plane, small, pixel, triangle in behind
        ]
        return (
            covered,
            self._opaque(solid[:, covered], covered),
            layers,
            None if sticks is None else self._opaque(sticks[:, covered], covered),
        )

    def _planes(self, owner: Numbers) -> Numbers:
        """Return the triangle of each pixel as (oversampling ** 2, pixels of the final picture). A column of this array
        has the pixels that become one pixel of the final picture.
        """
        oversampling = self._oversampling
        apart = owner.reshape(self._height // oversampling, oversampling, self._width // oversampling, oversampling)
        return apart.transpose(1, 3, 0, 2).reshape(oversampling**2, -1)

    def _final_pixels(self, pixel: Indices) -> tuple[Indices, Indices]:
        """Return the plane of each pixel, and the pixel of the final picture that it becomes part of."""
        size = self._oversampling
        down, across = pixel // self._width, pixel % self._width
        return down % size * size + across % size, down // size * (self._width // size) + across // size

    def _opaque(self, planes: Numbers, covered: Indices) -> Opaque:
        """Sample opaque faces; neighbouring pixels that become one and show the same triangle are shaded once."""
        oversampling, width = self._oversampling, self._width // self._oversampling
        entries = np.full(planes.shape, -1)
        pixels: list[Indices] = []
        triangles: list[Numbers] = []
        count = 0
        for plane, owner in enumerate(planes):
            entry = entries[plane]
            for before in range(plane):
                np.copyto(entry, entries[before], where=planes[before] == owner)
            unshaded = np.flatnonzero((owner >= 0) & (entry < 0))
            entry[unshaded] = count + np.arange(len(unshaded))
            count += len(unshaded)
            down = covered[unshaded] // width * oversampling + plane // oversampling
            across = covered[unshaded] % width * oversampling + plane % oversampling
            pixels.append(down * self._width + across)
            triangles.append(owner[unshaded])
        return entries, self._shader.sample(np.concatenate(pixels), np.concatenate(triangles).astype(np.int64))


def _paint_opaque(out: Singles, entries: Indices, samples: SurfaceSamples, light: Lighting) -> Singles:
    """Write the colours of opaque samples into the planes (4, planes, n); returns the light on the samples."""
    color, light_levels = samples.shade(light)
    is_covered = entries >= 0
    for part, value in zip(out, color, strict=False):
        np.copyto(part, np.append(value, np.float32(0))[entries], where=is_covered)
    np.copyto(out[3], np.float32(1), where=is_covered)
    return light_levels
