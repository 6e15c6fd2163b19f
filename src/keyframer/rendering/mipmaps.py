"""Looking up colours in an image: smaller copies for what is far, a weighted mean of four pixels, and repetition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PIL.Image import Image

Singles = npt.NDArray[np.float32]

LARGEST = 1024
"""pixels along the longer side: more is never seen in a picture of this kind"""


class MipMaps:
    """An image and its halves, quarters …"""

    def __init__(self, image: Image) -> None:
        self.has_alpha = image.mode == "RGBA"
        base = image.convert("RGBA")
        if max(base.size) > LARGEST:
            scale = LARGEST / max(base.size)
            size = (max(1, round(base.width * scale)), max(1, round(base.height * scale)))
            base = base.resize(size, resample=4, reducing_gap=2.0)  # 4: box
        self.levels: list[Singles] = [np.asarray(base, np.float32) / np.float32(255)]
        while max(self.levels[-1].shape[:2]) > 1:
            self.levels.append(_halved(self.levels[-1]))

    @property
    def size(self) -> tuple[int, int]:
        height, width = self.levels[0].shape[:2]
        return width, height

    def lookup(self, u: Singles, v: Singles, level: npt.NDArray[np.int64]) -> Singles:
        """(n, 4) colours at u to the right and v down, 0 to 1, repeating; ``level`` 0 is the image itself."""
        out = np.empty((len(u), 4), np.float32)
        level = np.clip(level, 0, len(self.levels) - 1)
        for number in np.unique(level).tolist():
            here = np.flatnonzero(level == number)
            out[here] = _four(self.levels[number], u[here], v[here])
        return out


def _halved(image: Singles) -> Singles:
    """Means of 2 x 2 pixels; a side of one pixel stays, an odd last row or column is left out."""
    height, width = image.shape[:2]
    rows = (image[0 : height - 1 : 2] + image[1:height:2]) / 2 if height > 1 else image
    return np.asarray((rows[:, 0 : width - 1 : 2] + rows[:, 1:width:2]) / 2 if width > 1 else rows, np.float32)


def _four(image: Singles, u: Singles, v: Singles) -> Singles:
    height, width = image.shape[:2]
    x = (u - np.floor(u)) * width - np.float32(0.5)
    y = (v - np.floor(v)) * height - np.float32(0.5)
    left, top = np.floor(x), np.floor(y)
    share_x, share_y = (x - left)[:, None], (y - top)[:, None]
    x0, y0 = left.astype(np.int64) % width, top.astype(np.int64) % height
    x1, y1 = (x0 + 1) % width, (y0 + 1) % height
    flat = image.reshape(-1, 4)
    upper = flat[y0 * width + x0] * (1 - share_x) + flat[y0 * width + x1] * share_x
    lower = flat[y1 * width + x0] * (1 - share_x) + flat[y1 * width + x1] * share_x
    return np.asarray(upper * (1 - share_y) + lower * share_y, np.float32)
