"""A drawing of lines, marks and text, written as SVG or PNG. Text from files is made safe in both."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from keyframer.files import PathLike, write_bytes
from keyframer.markup import Markup, escape, opening, tag
from keyframer.text import safe_text
from keyframer.textures import pillow

Point = tuple[float, float]
Points = Sequence[Point]

FONT = "Helvetica, Arial, sans-serif"
_OVERSAMPLING = 2
"""a PNG is drawn this many times larger and then reduced, which smooths its lines"""
_LONGEST = 300
"""maximum number of characters of one text"""
MOST_PIXELS = 64_000_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points."""

    points: Points
    color: str
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Area:
    """A filled shape, translucent with an ``opacity`` below 1."""

    points: Points
    color: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A ``diamond``, ``dot`` or ``ring``, such as a key. Browsers show ``title`` when the mouse rests on the mark."""

    at: Point
    color: str
    size: float = 4.0
    shape: str = "diamond"
    title: str = ""


@dataclass(frozen=True, slots=True)
class TextLabel:
    """Text; ``anchor`` is ``start``, ``middle`` or ``end``; the point is on the base line."""

    at: Point
    text: str
    color: str = "#333333"
    size: float = 11.0
    anchor: str = "start"
    bold: bool = False


Shape = Line | Area | Mark | TextLabel


@dataclass(eq=False, repr=False)
class Drawing:
    """Shapes in the order they are drawn, on white. Notebooks show it; `save` writes it to a file."""

    width: int
    height: int
    title: str = ""
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        self.shapes.extend(shapes)

    def __repr__(self) -> str:
        title = f" {self.title!r}" if self.title else ""
        return f"<Drawing{title}: {self.width} x {self.height}>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write an ``.svg`` or ``.png`` file atomically; an existing file is replaced only with ``overwrite``."""
        extension = os.path.splitext(os.fspath(path))[1].lower()
        if extension not in (".svg", ".png"):
            raise ValueError(f"drawings are .svg or .png, not {extension!r}")
        write_bytes(path, self.png() if extension == ".png" else self.svg().encode(), overwrite=overwrite)

    def svg(self) -> str:
        """Return an SVG document without scripts, links or embedded fonts."""
        return "\n".join([*self._svg(), ""])

    def _svg(self) -> Iterator[str]:
        size = {"width": self.width, "height": self.height}
        view = f"0 0 {self.width} {self.height}"
        yield opening("svg", xmlns="http://www.w3.org/2000/svg", **size, viewBox=view, font_family=FONT)
        if self.title:
            yield tag("title", escape(self.title, _LONGEST))
        yield tag("rect", **size, fill="#ffffff")
        for shape in self.shapes:
            yield _svg_shape(shape)
        yield "</svg>"

    def png(self) -> bytes:
        if self.width * self.height * _OVERSAMPLING**2 > MOST_PIXELS:
            raise ValueError(f"a drawing of {self.width} x {self.height} is too large for PNG (SVG has no such limit)")
        picture = pillow.Image.new("RGB", (self.width * _OVERSAMPLING, self.height * _OVERSAMPLING), "#ffffff")
        pen = _Pen(picture, pillow.ImageDraw.Draw(picture))
        for shape in self.shapes:
            pen.draw(shape)
        stream = io.BytesIO()
        reduced = pen.picture.resize((self.width, self.height), pillow.Image.Resampling.BOX)
        reduced.save(stream, "PNG", compress_level=6)
        return stream.getvalue()


def _svg_shape(shape: Shape) -> Markup:
    if isinstance(shape, Line):
        dashes = "4 3" if shape.dashed else None
        return tag(
            "polyline",
            points=_svg_points(shape.points),
            fill="none",
            stroke=shape.color,
            stroke_width=f"{shape.width:g}",
            stroke_linejoin="round",
            stroke_dasharray=dashes,
        )
    if isinstance(shape, Area):
        points = _svg_points(shape.points)
        return tag("polygon", points=points, fill=shape.color, fill_opacity=f"{shape.opacity:g}")
    x, y = f"{shape.at[0]:.2f}", f"{shape.at[1]:.2f}"
    if isinstance(shape, TextLabel):
        place = {"x": x, "y": y, "font_size": f"{shape.size:g}", "text_anchor": shape.anchor}
        weight = "bold" if shape.bold else None
        return tag("text", escape(shape.text, _LONGEST), **place, fill=shape.color, font_weight=weight)
    title = tag("title", escape(shape.title, _LONGEST)) if shape.title else ""
    if shape.shape == "diamond":
        return tag("polygon", title, points=_svg_points(_diamond(shape)), fill=shape.color)
    paint = {"fill": shape.color} if shape.shape == "dot" else {"fill": "#ffffff", "stroke": shape.color}
    return tag("circle", title, cx=x, cy=y, r=f"{shape.size / 2:g}", **paint)


def _svg_points(points: Points) -> Markup:
    return Markup(" ".join(f"{x:.2f},{y:.2f}" for x, y in points))


def _diamond(mark: Mark) -> list[Point]:
    (x, y), reach = mark.at, mark.size / 2 + 0.7
    return [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]


class _Pen:
    """Draws shapes with Pillow on a picture that is `_OVERSAMPLING` times larger."""

    def __init__(self, picture: Any, draw: Any) -> None:
        self.picture, self._draw = picture, draw
        self._fonts: dict[float, Any] = {}

    def draw(self, shape: Shape) -> None:
        if isinstance(shape, Line):
            points = [(x * _OVERSAMPLING, y * _OVERSAMPLING) for x, y in shape.points]
            width = max(1, round(shape.width * _OVERSAMPLING))
            for part in _dashes(points, 4 * _OVERSAMPLING, 3 * _OVERSAMPLING) if shape.dashed else [points]:
                self._draw.line(part, fill=shape.color, width=width, joint="curve")
        elif isinstance(shape, Area):
            self._area(shape)
        elif isinstance(shape, TextLabel):
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
            at = (shape.at[0] * _OVERSAMPLING, shape.at[1] * _OVERSAMPLING)
            text = safe_text(shape.text)[:_LONGEST]
            self._draw.text(at, text, fill=shape.color, font=self._font(shape.size * _OVERSAMPLING), anchor=anchor)
        elif shape.shape == "diamond":
            self._draw.polygon([(x * _OVERSAMPLING, y * _OVERSAMPLING) for x, y in _diamond(shape)], fill=shape.color)
        else:
            (x, y), reach = shape.at, shape.size / 2
            box = [side * _OVERSAMPLING for side in (x - reach, y - reach, x + reach, y + reach)]
            fill = shape.color if shape.shape == "dot" else "#ffffff"
            self._draw.ellipse(box, fill=fill, outline=shape.color)

    def _area(self, shape: Area) -> None:
        points = [(x * _OVERSAMPLING, y * _OVERSAMPLING) for x, y in shape.points]
        if shape.opacity >= 1:
            self._draw.polygon(points, fill=shape.color)
            return
        columns = list(zip(*points, strict=True))
        left, top = (math.floor(min(column)) for column in columns)
        mask = pillow.Image.new("L", tuple(math.ceil(max(column)) - math.floor(min(column)) + 1 for column in columns))
        pillow.ImageDraw.Draw(mask).polygon([(x - left, y - top) for x, y in points], fill=round(255 * shape.opacity))
        self.picture.paste(pillow.ImageColor.getrgb(shape.color), (left, top), mask)

    def _font(self, size: float) -> Any:
        if size not in self._fonts:
            self._fonts[size] = pillow.ImageFont.load_default(size)
        return self._fonts[size]


def _dashes(points: list[Point], on: float, off: float) -> Iterator[list[Point]]:
    """Yield the pieces of a dashed line."""
    remaining, drawing = on, True
    part = points[:1]
    for (x, y), (to_x, to_y) in pairwise(points):
        length = math.hypot(to_x - x, to_y - y)
        done = 0.0
        while length - done > remaining:
            done += remaining
            corner = (x + (to_x - x) * done / length, y + (to_y - y) * done / length)
            if drawing:
                yield [*part, corner]
            drawing = not drawing
            part, remaining = [corner], on if drawing else off
        remaining -= length - done
        if drawing:
            part.append((to_x, to_y))
    if drawing and len(part) > 1:
        yield part
