"""Writes the VUE samples after the manual: ``python -m tests.samples.vue.make``."""

from __future__ import annotations

import math
from pathlib import Path

HERE = Path(__file__).parent


def number(value: float) -> str:
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def turning() -> bytes:
    """Return three frames: a box turns and grows, a sheared plate is missing in one, a camera rolls."""
    lines = []
    for step in range(3):
        c, s = math.cos(math.radians(30 * step)), math.sin(math.radians(30 * step))
        box = [c * (1 + step), s * (1 + step), 0, -s, c, 0, 0, 0, 1, 10 * step, 0, 5]
        lines += ["", f"frame {step}", 'transform "Box" ' + " ".join(map(number, box))]
        if step != 1:
            lines.append('transform "Big Plate" 2 0 0 0.5 1 0 0 0 1 0 0 0')
        lines.append(f'light "Omni" 0 {step} 100 1 0.5 0')
        lines.append('spotlight "Spot" 100 0 100 0 0 0 1 1 1 30 45 1')
        lines.append(f"camera 0 -200 50 0 0 {step} {5 * step} 50")
    return ("\r\n".join(lines) + "\r\n").encode()


def odd() -> bytes:
    """Return frames with a morph, instances, another view, lines that are no commands, and no line end at the end."""
    return b"""frame 10
transform "a" 1 0 0 0 1 0 0 0 1 0 0 0
transform "a" 1 0 0 0 1 0 0 0 1 5 0 0
morph "face" 2 "smile" 0.25 "frown" 0.75 1 0 0 0 1 0 0 0 1 0 0 7
; by hand
transform "b" 1 0 0
frame 12
transform "a" 1 0 0 0 1 0 0 0 1 1 0 0
top 0 0 0 640
frame twelve"""


SAMPLES = {"turning.vue": turning, "odd.vue": odd}

if __name__ == "__main__":
    for file_name, make in SAMPLES.items():
        (HERE / file_name).write_bytes(make())
