"""One picture: what is nearest, shaded; what is translucent over it, from far to near; then made smaller, which
smooths the edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keyframer.posing import Pose
from keyframer.rendering import lighting
from keyframer.rendering.clipping import Screen, on_screen
from keyframer.rendering.lighting import Lighting
from keyframer.rendering.raster import DepthBuffer
from keyframer.rendering.shading import Shader
from keyframer.rendering.stage import Shape, Stage
from keyframer.rendering.view import View

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

LAYERS = 12
"""translucent faces that are seen through each other"""
_DARK, _BRIGHT = 0.45, 1.0
"""mean light below which light is added, and light of the brightest tenth above which it is taken away"""
_AIM, _MEAN_OF_STUDIO = 0.55, 0.65
"""the mean light that is aimed at then, and about what our own lights give"""


@dataclass(eq=False)
class Exposure:
    """Which lights are used, found out with the first picture and kept for the following ones, so that none flickers.

    ``mode``: ``file`` takes the lights of the file as they are, ``studio`` takes ours, ``auto`` those of the file with
    as much of ours as the picture needs.
    """

    mode: str = "auto"
    fill: float | None = None
    gain: float = 1.0
    complete: bool = True
    """whether all faces of all pictures were drawn"""

    def lighting(self, pose: Pose, at: int, view: View) -> Lighting:
        ours = lighting.studio(view)
        theirs = None if self.mode == "studio" else lighting.of_file(pose, at)
        if theirs is None:
            return Lighting((), (0.0, 0.0, 0.0)) if self.mode == "file" else ours
        if self.mode == "file":
            return theirs
        return theirs.plus(ours, self.fill or 0.0).times(self.gain)

    def settle(self, levels: Singles) -> bool:
        """Take in how bright the first picture was; True where it must be taken again."""
        if self.fill is not None or self.mode != "auto":
            return False
        self.fill = 0.0
        mean, bright = float(levels.mean(dtype=np.float64)), float(np.percentile(levels, 90))
        if mean < _DARK:
            self.fill = min(1.0, (_AIM - mean) / _MEAN_OF_STUDIO)
        elif bright > _BRIGHT:
            self.gain = _BRIGHT / bright
        return self.fill > 0 or self.gain < 1


def render(
    stage: Stage, pose: Pose, at: int, view: View, width: int, height: int, exposure: Exposure, finer: int = 2
) -> Bytes:
    """(height, width, 4) red, green, blue (premultiplied) and alpha of the ``at``-th time of a pose.

    ``finer``: how many pixels are made for each along both sides.
    """
    large = Canvas(stage, stage.shape(pose, at), view, width * finer, height * finer, finer)
    light = exposure.lighting(pose, at, view)
    exposure.complete = exposure.complete and large.complete
    picture, levels = large.paint(light)
    if len(levels) and exposure.settle(levels):
        picture, _ = large.paint(exposure.lighting(pose, at, view))
    small = sum(picture[down::finer, across::finer] for down in range(finer) for across in range(finer))
    return np.asarray(np.round(np.clip(np.asarray(small) / finer**2, 0, 1) * 255), np.uint8)


class Canvas:
    """Faces on a picture, ready to be painted in any light; ``finer`` x ``finer`` of its pixels will become one."""

    def __init__(self, stage: Stage, shape: Shape, view: View, width: int, height: int, finer: int = 1) -> None:
        self._finer = finer
        self._stage, self._shape, self._width, self._height = stage, shape, width, height
        self._place(shape, view)

    @np.errstate(all="ignore")  # a face without area divides by zero; it covers no pixel
    def _place(self, shape: Shape, view: View) -> None:
        stage, width, height = self._stage, self._width, self._height
        self._screen: Screen = on_screen(shape.points, shape.corners, view, width, height)
        self._shader = Shader(stage, shape, self._screen, view, width, self._finer)
        material = stage.material[shape.faces[self._screen.source]]
        translucent = stage.surfaces.translucent[material]
        is_stick = self._screen.source >= shape.sticks_at
        self._buffer = DepthBuffer(width, height)
        self._buffer.draw(self._screen, np.flatnonzero(~translucent & ~is_stick))
        self._layers = self._translucent(np.flatnonzero(translucent & ~is_stick))
        self._sticks = DepthBuffer(width, height) if is_stick.any() else None
        if self._sticks is not None:  # a skeleton is seen through everything
            self._sticks.draw(self._screen, np.flatnonzero(is_stick))

    @property
    def coverage(self) -> float:
        """Part of the picture that shows something."""
        covered = self._buffer.owner >= 0
        for pixel, _ in self._layers:
            covered[pixel] = True
        if self._sticks is not None:
            covered |= self._sticks.owner >= 0
        return float(covered.mean())

    @property
    def complete(self) -> bool:
        """Whether every face was drawn: not where there are so many pixels of faces that it would take too long."""
        return self._buffer.left >= 0

    @property
    def one_object(self) -> float:
        """The largest part of the picture that a single one of several nodes takes."""
        nodes = self._stage.node_of(self._shape.faces[self._screen.source])
        seen = np.bincount(nodes[self._buffer.owner[self._buffer.owner >= 0]] + 1)
        return float(seen.max(initial=0)) / len(self._buffer.owner) if len(self._stage.carriers) > 1 else 0.0

    def _translucent(self, chosen: Indices) -> list[tuple[Indices, Indices]]:
        """Pixels and triangles of the nearest translucent layer, of the one behind it, and so on."""
        if not len(chosen):
            return []
        kept = list(self._buffer.in_front(self._screen, chosen))
        if not kept:
            return []
        pixel, triangle, near = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        order = np.lexsort((-triangle, -near, pixel))
        pixel, triangle = pixel[order], triangle[order]
        starts = np.flatnonzero(np.diff(pixel, prepend=-1))
        rank = np.arange(len(pixel)) - np.repeat(starts, np.diff(starts, append=len(pixel)))
        return [
            (pixel[rank == layer], triangle[rank == layer])
            for layer in range(min(LAYERS, int(rank.max(initial=-1)) + 1))
        ]

    @np.errstate(all="ignore")
    def paint(self, light: Lighting) -> tuple[Singles, Singles]:
        """(height, width, 4) premultiplied, and how much light falls on what is seen."""
        out = np.zeros((self._width * self._height, 4), np.float32)
        levels = [self._paint_opaque(out, self._buffer, light)]
        for behind, triangle in reversed(self._layers):
            color, alpha, fallen = self._shader.shade(behind, triangle, light)
            out[behind] *= 1 - alpha[:, None]
            out[behind, :3] += color * alpha[:, None]
            out[behind, 3] += alpha
            levels.append(fallen)
        if self._sticks is not None:
            levels.append(self._paint_opaque(out, self._sticks, light))
        return out.reshape(self._height, self._width, 4), np.concatenate(levels)

    def _paint_opaque(self, out: Singles, buffer: DepthBuffer, light: Lighting) -> Singles:
        """Neighbouring pixels that will become one and show the same triangle are shaded once."""
        finer, width, height = self._finer, self._width, self._height
        owners = buffer.owner.reshape(height, width)
        numbers = np.arange(width * height).reshape(height, width)
        places = [(down, across) for down in range(finer) for across in range(finer)]
        planes = [owners[down::finer, across::finer].reshape(-1) for down, across in places]
        pixels = [numbers[down::finer, across::finer].reshape(-1) for down, across in places]
        chosen: list[Indices] = []
        entries: list[Indices] = []
        count = 0
        for plane, owner in enumerate(planes):
            entry = np.full(len(owner), -1)
            for before in range(plane):
                entry = np.where(planes[before] == owner, entries[before], entry)
            fresh = np.flatnonzero((owner >= 0) & (entry < 0))
            entry[fresh] = count + np.arange(len(fresh))
            count += len(fresh)
            chosen.append(fresh)
            entries.append(np.where(owner >= 0, entry, -1))
        pixel = np.concatenate([pixels[plane][fresh] for plane, fresh in enumerate(chosen)])
        color, _, fallen = self._shader.shade(pixel, buffer.owner[pixel], light)
        for pixel, entry in zip(pixels, entries, strict=True):
            there = np.flatnonzero(entry >= 0)
            out[pixel[there], :3] = color[entry[there]]
            out[pixel[there], 3] = 1
        return fallen
