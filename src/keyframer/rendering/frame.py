"""Draws one picture: finds the face, normal, material and light of each pixel, blends translucent faces from far to
near, and reduces the picture to smooth its edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Bytes, Flags, Floats, Indices, Numbers, Singles
from keyframer.posing import Pose
from keyframer.rendering.drawable_scene import DrawableScene, Shape
from keyframer.rendering.lighting import Lighting, Place, dot, file_lighting, studio_lighting
from keyframer.rendering.raster import DepthBuffer, Screen, project_faces
from keyframer.rendering.viewpoint import View

LAYERS = 12
"""maximum number of translucent faces seen through each other"""
_DARK, _BRIGHT = 0.45, 1.0
"""mean of the light below which light is added, and 90th percentile above which all light is reduced"""
_WANTED_MEAN, _STUDIO_MEAN = 0.55, 0.65
"""mean of the light that is wanted if light is added, and approximate mean of the studio lights alone"""
_BLINDING = 1e6
"""light that counts as no brighter: the light of damaged files may be infinite"""
_PIXELS_AT_ONCE = 100_000
"""pixels of the oversampled picture that are painted at once: their values stay in the cache"""
_WIRE_PIXELS = 1.2
"""half the width of the lines of wire materials, in pixels of the oversampled picture"""


class Pixels(NamedTuple):
    """n pixels, each of one triangle."""

    across: Indices
    down: Indices
    triangle: Indices

    @classmethod
    def joined(cls, parts: list[Pixels]) -> Pixels:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True)
class SurfaceSamples:
    """Surface data of n pixels. Vectors and colours are in rows, (3, n)."""

    normal: Singles
    color: Singles
    alpha: Singles
    """(n,)"""
    glow: Singles
    """light of the surface that is multiplied by the colour"""
    emitted: Singles | None
    """light of the surface that is added to the colour; None for none"""
    specular: Singles | None
    exponent: Singles | None
    """(n,) 0 without highlights; None if no pixel has any"""
    place: Place | None
    """None if the light is the same everywhere and no pixel has highlights"""

    def shade(self, light: Lighting) -> tuple[Singles, Singles]:
        """Return (3, n) colours from 0 to 1, and (n,) the light on each pixel."""
        diffuse, shine = light.illuminate(self.normal, self.exponent, self.place)
        out = np.maximum(diffuse, self.glow)
        out *= self.color
        if self.emitted is not None:
            out += self.emitted
        if shine is not None and self.specular is not None:
            shine *= self.specular
            out += shine
        return np.clip(out, 0, 1, out=out), np.asarray(diffuse.mean(axis=0))


class Shader:
    """Computes surface data for (pixel, triangle) pairs of one screen."""

    def __init__(self, drawable: DrawableScene, shape: Shape, screen: Screen, view: View, oversampling: int) -> None:
        self._drawable, self._screen, self._view = drawable, screen, view
        points = screen.points
        edge = points[:, 1:] - points[:, :1]
        area = edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0]
        with np.errstate(all="ignore"):
            # change of the barycentric coordinates of the second and third corner, per pixel to the right and down
            self._second = np.nan_to_num(np.stack([edge[:, 1, 1] / area, -edge[:, 1, 0] / area]))
            self._third = np.nan_to_num(np.stack([-edge[:, 0, 1] / area, edge[:, 0, 0] / area]))
        self._area = area
        self._face = shape.faces[screen.source]
        self._material = drawable.material[self._face]
        self._is_cut = bool(screen.cut.any())
        surfaces = drawable.surfaces
        self._is_wire, self._is_metal, self._is_shiny = (
            bool(values[self._material].any()) for values in (surfaces.wire, surfaces.metal, surfaces.specular)
        )
        # numpy is slow on a last axis of length 3: values looked up for each pixel have their components in rows
        self._start, self._closeness = (np.ascontiguousarray(values.T) for values in (points[:, 0], screen.closeness))
        corners = shape.corners[screen.source]
        self._points = [np.ascontiguousarray(shape.points[corners[:, corner]].T) for corner in range(3)]
        # Both sides of a face are lit like a front: the winding of old files is not reliable.
        places = shape.points[corners]
        cross = np.cross(places[:, 1] - places[:, 0], places[:, 2] - places[:, 0])
        facing = np.einsum("ij,ij->i", cross, view.eye - places[:, 0]) >= 0
        self._side = np.where(facing, np.float32(1), np.float32(-1))
        self._normals = [
            np.ascontiguousarray(shape.normals[screen.source, corner].T) * self._side for corner in range(3)
        ]
        # The oversampled pixels of one final pixel are shaded once, so they share the mip level of the larger pixel.
        self._level = self._levels() + (oversampling - 1)

    def _levels(self) -> Indices:
        """Return (M,) mip levels: the base-2 logarithm of the length in texture coordinates that a pixel covers."""
        drawable, screen = self._drawable, self._screen
        if drawable.uv is None:
            return np.zeros(len(screen), np.int64)
        face_uv = drawable.uv[self._face].astype(np.float64)
        uv = np.einsum("mij,mjk->mik", screen.barycentric[screen.cut], face_uv)
        edge = uv[:, 1:] - uv[:, :1]
        area = np.abs(edge[:, 0, 0] * edge[:, 1, 1] - edge[:, 0, 1] * edge[:, 1, 0])
        with np.errstate(all="ignore"):
            level = 0.5 * np.log2(np.maximum(area, 1e-30) / np.maximum(np.abs(self._area), 1e-30))
        return np.asarray(np.round(np.clip(level, -40, 40)), np.int64)

    def barycentric(self, pixels: Pixels) -> tuple[Floats, Floats]:
        """Return barycentric coordinates of pixels, (3, n) each: in the face, and on the picture."""
        across, down, triangle = pixels
        start = self._start.take(triangle, axis=1)
        x = across + 0.5 - start[0]
        y = down + 0.5 - start[1]
        on_picture = np.empty((3, len(triangle)))
        on_picture[1] = self._second[0].take(triangle) * x + self._second[1].take(triangle) * y
        on_picture[2] = self._third[0].take(triangle) * x + self._third[1].take(triangle) * y
        on_picture[0] = 1 - on_picture[1] - on_picture[2]
        in_face = np.clip(on_picture, 0, 1)
        in_face *= self._closeness.take(triangle, axis=1)
        in_face /= np.maximum(in_face.sum(axis=0), 1e-300)
        if self._is_cut:
            cut = self._screen.cut[triangle]
            in_face = np.einsum("in,nij->jn", in_face, self._screen.barycentric[cut])
        return in_face, on_picture

    def _place(self, in_face: Floats, triangle: Indices) -> Place:
        """Return positions, and directions to the eye."""
        position = np.zeros((3, len(triangle)))
        for corner in range(3):
            position += self._points[corner].take(triangle, axis=1) * in_face[corner]
        to_eye = (self._view.eye[:, None] - position).astype(np.float32)
        to_eye /= np.maximum(np.sqrt(dot(to_eye, to_eye)), np.float32(1e-20))
        return Place(position.astype(np.float32), to_eye)

    def _normal(self, in_face: Floats, share: Singles, triangle: Indices) -> Singles:
        """Return (3, n) unit normals on the side of the viewer; ``share`` is ``in_face`` in single precision."""
        normal = np.zeros((3, len(triangle)), np.float32)
        for corner in range(3):
            normal += self._normals[corner].take(triangle, axis=1) * share[corner]
        length = np.sqrt(dot(normal, normal))
        normal /= np.maximum(length, np.float32(1e-12))
        none = np.flatnonzero(~(length > 0))
        if len(none):
            normal[:, none] = self._place(in_face[:, none], triangle[none]).to_eye * self._side[triangle[none]]
        return normal

    def sample(self, pixels: Pixels, light: Lighting) -> SurfaceSamples:
        """Return the surface data of pixels: what this light needs, but without light."""
        drawable, surfaces, triangle = self._drawable, self._drawable.surfaces, pixels.triangle
        in_face, on_picture = self.barycentric(pixels)
        share = in_face.astype(np.float32)
        material = self._material.take(triangle)
        face = self._face.take(triangle)

        def of_corners(values: Singles) -> Singles:
            return np.asarray(sum(values[face, corner] * share[corner, :, None] for corner in range(3)))

        uv = None if drawable.uv is None else of_corners(drawable.uv)
        color, alpha, glow, emitted = surfaces.colors(material, uv, self._level[triangle])
        if drawable.colors is not None:
            color = color * of_corners(drawable.colors).T
        if self._is_wire:
            alpha = np.where(surfaces.wire[material] & ~self._near_edge(on_picture, triangle), 0, alpha)
        specular = exponent = None
        if self._is_shiny or self._is_metal:
            specular = surfaces.specular.T.take(material, axis=1)
            if self._is_metal:
                metal = surfaces.metal[material]
                specular = np.where(metal, color * metal * surfaces.strength[material], specular)
                color = color * (1 - metal)
            exponent = np.where(specular.any(axis=0), surfaces.exponent[material], np.float32(0))
        place = self._place(in_face, triangle) if light.has_places or exponent is not None else None
        normal = self._normal(in_face, share, triangle)
        return SurfaceSamples(normal, color, alpha, glow, emitted, specular, exponent, place)

    def _near_edge(self, on_picture: Floats, triangle: Indices) -> Flags:
        """Return whether a pixel is near the outline of its triangle."""
        first = -(self._second + self._third)
        near = np.zeros(len(triangle), np.bool_)
        for coordinate, slope in zip(on_picture, (first, self._second, self._third), strict=True):
            steep = np.sqrt(slope[0] * slope[0] + slope[1] * slope[1])[triangle]
            near |= coordinate < steep * _WIRE_PIXELS
        return near


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
        mean = float(levels.mean(dtype=np.float64))
        if mean < _DARK:
            self.fill = min(1.0, (_WANTED_MEAN - mean) / _STUDIO_MEAN)
        elif (bright := float(np.percentile(levels, 90))) > _BRIGHT:
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
    if len(levels) and exposure.adapt(levels) and file_lighting(pose, at) is not None:
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
        self._shader = Shader(drawable, shape, self._screen, view, self._oversampling)

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
        return np.asarray(nodes[self._number[self._buffer.owner]])

    @property
    def largest_object_share(self) -> float:
        """The largest fraction of the picture that opaque faces of one node cover; 0 if only one node has faces."""
        seen = np.bincount(self.nodes[self.nodes >= 0])
        return float(seen.max(initial=0)) / len(self._buffer.owner) if len(self._drawable.mesh_nodes) > 1 else 0.0

    def _forget_hidden(self) -> None:
        """Keep only the triangles that a pixel shows: shading prepares data of each. Their new numbers are looked up
        for pixels that are shaded, which are fewer than those that are drawn.
        """
        seen = np.zeros(len(self._screen) + 1, np.bool_)  # the last is for pixels without a triangle
        for buffer in (self._buffer, self._sticks):
            if buffer is not None:
                owner = buffer.owner
                seen[owner[np.flatnonzero(owner[1:] != owner[:-1])]] = True
                seen[owner[-1]] = True
        for _, triangle in self._layers:
            seen[triangle] = True
        seen[-1] = False
        self._number: Indices = np.cumsum(seen, dtype=np.int64) - 1
        self._number[-1] = -1
        self._screen = self._screen.only(seen[:-1])

    @np.errstate(all="ignore")
    def paint(self, light: Lighting) -> tuple[Bytes, Singles]:
        """Return (height, width, 4) premultiplied bytes of the final picture, and the light on visible surfaces."""
        size = self._oversampling
        picture = np.zeros((self._height // size, self._width // size, 4), np.uint8)
        levels = [np.empty(0, np.float32)]
        rows = max(1, _PIXELS_AT_ONCE // (self._width * size))
        for first in range(0, len(picture), rows):
            part = picture[first : first + rows]
            levels += self._paint(part.reshape(-1, 4), slice(first * size, (first + len(part)) * size), light)
        return picture, np.concatenate(levels)

    def _paint(self, picture: Bytes, rows: slice, light: Lighting) -> list[Singles]:
        """Paint some rows of the oversampled picture into (n, 4) pixels of the final one; returns the light on them."""
        planes = self._oversampling**2
        solid, layers = self._planes(self._buffer, rows), list(self._layers_in(rows))
        last = solid.max(axis=0)
        shown: Flags = last >= 0
        is_plain = shown & (solid.min(axis=0) == last)
        sticks = None if self._sticks is None else self._planes(self._sticks, rows)
        if sticks is not None:
            has_stick = (sticks >= 0).any(axis=0)
            shown |= has_stick
            is_plain &= ~has_stick
        for _, final, _ in layers:
            shown[final], is_plain[final] = True, False
        if not shown.any():
            return []
        # all pixels that become one show the same triangle, or not
        plain, mixed = np.flatnonzero(is_plain), np.flatnonzero(shown & ~is_plain)
        entries, distinct = self._distinct(solid[:, mixed], mixed, rows.start)
        inner = Pixels(*self._first_pixels(plain, rows.start), self._number[solid[0, plain]])
        color, light_levels = self._shader.sample(Pixels.joined([inner, *distinct]), light).shade(light)
        small = np.ones((4, len(plain)), np.float32)
        small[:3] = _mean([color[:, : len(plain)]] * planes)
        picture[plain] = _to_bytes(small)
        out, levels = np.zeros((4, planes, len(mixed)), np.float32), [light_levels]
        _paint_opaque(out, entries, color[:, len(plain) :])
        for plane, final, pixels in layers:
            samples = self._shader.sample(pixels, light)
            color, light_levels = samples.shade(light)
            places = plane, np.searchsorted(mixed, final)
            for part, value in zip(out, (*color, 1), strict=True):
                part[places] = part[places] * (1 - samples.alpha) + value * samples.alpha
            levels.append(light_levels)
        if sticks is not None:
            entries, distinct = self._distinct(sticks[:, mixed], mixed, rows.start)
            color, light_levels = self._shader.sample(Pixels.joined(distinct), light).shade(light)
            _paint_opaque(out, entries, color)
            levels.append(light_levels)
        picture[mixed] = _to_bytes(_mean(out.swapaxes(0, 1)))
        return levels

    def _planes(self, buffer: DepthBuffer, rows: slice) -> Numbers:
        """Return the triangle of each pixel as (oversampling ** 2, pixels of the final picture). A column of this array
        has the pixels that become one pixel of the final picture.
        """
        size = self._oversampling
        owner = buffer.owner.reshape(self._height, self._width)[rows]
        apart = owner.reshape(len(owner) // size, size, self._width // size, size)
        return apart.transpose(1, 3, 0, 2).reshape(size**2, -1)

    def _layers_in(self, rows: slice) -> Iterator[tuple[Indices, Indices, Pixels]]:
        """Yield translucent pixels in some rows, layer by layer, from far to near, after the plane and the pixel of the
        final picture that each becomes part of.
        """
        size, width = self._oversampling, self._width
        for pixel, triangle in reversed(self._layers):
            begin, end = np.searchsorted(pixel, (rows.start * width, rows.stop * width))
            if begin < end:
                down, across = np.divmod(pixel[begin:end].astype(np.int64), width)
                final = (down - rows.start) // size * (width // size) + across // size
                yield down % size * size + across % size, final, Pixels(across, down, self._number[triangle[begin:end]])

    def _first_pixels(self, final: Indices, top: int) -> tuple[Indices, Indices]:
        """Return the first of the pixels that become pixels of the final picture: across and, below ``top``, down."""
        size, width = self._oversampling, self._width // self._oversampling
        down = final // width
        return (final - down * width) * size, down * size + top

    def _distinct(self, planes: Numbers, final: Indices, top: int) -> tuple[Indices, list[Pixels]]:
        """Return (planes, n) indices of each pixel among the opaque ones that must be shaded, -1 for none, and these:
        those that become one and show the same triangle are shaded once.
        """
        size = self._oversampling
        across, down = self._first_pixels(final, top)
        entries = np.full(planes.shape, -1)
        parts: list[Pixels] = []
        count = 0
        for plane, owner in enumerate(planes):
            entry = entries[plane]
            for before in range(plane):
                np.copyto(entry, entries[before], where=planes[before] == owner)
            new = np.flatnonzero((owner >= 0) & (entry < 0))
            entry[new] = count + np.arange(len(new))
            count += len(new)
            parts.append(Pixels(across[new] + plane % size, down[new] + plane // size, self._number[owner[new]]))
        return entries, parts


def _paint_opaque(out: Singles, entries: Indices, color: Singles) -> None:
    """Write the colours of opaque faces into the planes (4, planes, n)."""
    is_covered = entries >= 0
    for part, value in zip(out, (*color, np.ones_like(color[0])), strict=True):
        np.copyto(part, np.append(value, np.float32(0)).take(entries, mode="wrap"), where=is_covered)


def _mean(planes: Sequence[Singles] | Singles) -> Singles:
    """Return the mean of planes, added one after the other: the same for equal colours in all planes as for one."""
    total = planes[0]
    for plane in planes[1:]:
        total = total + plane
    return total / np.float32(len(planes))


def _to_bytes(colors: Singles) -> Bytes:
    """Return (n, 4) bytes of (4, n) colours."""
    return np.round(np.clip(colors, 0, 1) * 255).T.astype(np.uint8)
