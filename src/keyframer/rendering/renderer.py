"""Renders pictures of a scene: selects frame, view and background. A `Presentation` says what a picture shows: one
frame, a contact sheet or a playback."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Bytes, Floats
from keyframer.exchange import IMPORTERS
from keyframer.exchange.opening import Source, scene_from
from keyframer.files import PathLike
from keyframer.limits import budgeted
from keyframer.posing import Pose, Rig, pose
from keyframer.rendering.drawable_scene import DrawableScene
from keyframer.rendering.encoding import STILL, encode_animation, encode_still
from keyframer.rendering.frame import Canvas, Exposure
from keyframer.rendering.frame import render as render_frame
from keyframer.rendering.viewpoint import View, camera_view, fitted_view
from keyframer.scene import Clip, Scene
from keyframer.scene.scene import with_clip
from keyframer.text import did_you_mean
from keyframer.textures import TextureFinder, TextureSource, pillow

if TYPE_CHECKING:
    from PIL.Image import Image


RgbBytes = tuple[int, int, int]

NEUTRAL: RgbBytes = (226, 229, 234)
"""the default background"""
LARGEST_SIDE = 4096
"""maximum number of pixels along one side of a picture"""
_SAMPLES = 12
"""maximum number of frames that a view is fitted to"""
_LEAST_SEEN = 0.015
"""fraction of the picture that must show something, otherwise a camera of the file is not used"""
_FILLED = 0.25
"""a camera may leave out any part of the scene if this fraction of its picture is filled; the less is filled, the more
of the scene must be inside. In 3 of 58 corpus files with cameras, the cameras point past the objects.
"""
_MOST_CAMERAS = 16
"""maximum number of cameras that are tried"""
_MOST_OF_ONE = 0.97
"""largest part of the picture that one object among others may cover"""
_PREVIEW, _ROUNDS = 256, 16
"""side of the pictures in which hidden subjects are searched, and maximum number of such pictures"""
_NOTICED = 0.1
"""objects that hide this fraction of what the one in front hides most are left out together with it"""
_LABEL, _LABEL_OUTLINE = (24, 26, 30), (255, 255, 255)
"""dark with a bright outline, so that frame numbers are readable on any picture"""


@dataclass(frozen=True, slots=True)
class Settings:
    """How pictures are rendered."""

    width: int = 256
    height: int = 256
    camera: str = "auto"
    """``fit``, the name of a camera node, or ``auto``: the first camera of the file that shows something, else a
    fitted view
    """
    lights: str = "auto"
    """``file``, ``studio``, or ``auto``: the lights of the file, if any, plus as much studio light as needed"""
    background: RgbBytes | str | None = NEUTRAL
    """a colour, ``file`` for that of the file, None for transparent"""
    bones: bool | None = None
    """draw the skeleton: always, never, or (None) if no face is visible"""
    around_degrees: float | None = None
    """angle of a fitted view to the right of the front; None: a default angle"""
    above_degrees: float | None = None
    two_sided: bool = False
    """draw all faces from both sides; otherwise faces whose material is one-sided, and those without a material, are
    visible from the front only, as in the exported glTF file
    """

    def __post_init__(self) -> None:
        if not (1 <= self.width <= LARGEST_SIDE and 1 <= self.height <= LARGEST_SIDE):
            raise ValueError(f"a picture is 1 to {LARGEST_SIDE} pixels wide and high, not {self.width} x {self.height}")
        if self.lights not in ("auto", "file", "studio"):
            raise ValueError(f"lights must be auto, file or studio, not {self.lights!r}")
        if isinstance(self.background, str) and self.background != "file":
            raise ValueError(f"background must be a colour, file or None, not {self.background!r}")


class Renderer:
    """Renders pictures of one scene, all with the same camera or fitted view and the same exposure."""

    def __init__(
        self,
        scene: Scene,
        settings: Settings | None = None,
        *,
        textures: TextureSource | None = None,
        frames: Sequence[float] | None = None,
    ) -> None:
        """Raise LookupError if no camera has the name in the settings."""
        self.scene = scene
        self.settings = settings or Settings()
        with budgeted(size=scene.stored_bytes):
            self.drawable = DrawableScene(
                scene, textures, self.settings.bones, self.settings.lights != "file", self.settings.two_sided
            )
        self._rig = Rig(scene)
        self._last_pose: tuple[float, Pose] | None = None
        self._exposure = Exposure(self.settings.lights)
        self.frames = frames
        """frames that will be requested, if known before the first picture: a view is fitted to some or all of them"""
        self._cameras = {node.name: at for at, node in enumerate(scene.nodes) if node.camera is not None}
        if self.settings.camera not in ("auto", "fit", *self._cameras):
            suggestion = did_you_mean(self.settings.camera, ("auto", "fit", *self._cameras))
            raise LookupError(f"no camera is named {self.settings.camera!r}{suggestion}")

    def sized(self, width: int, height: int) -> Renderer:
        """Return a renderer of other pictures, with its own view and exposure; what both need is not prepared again."""
        other = copy(self)
        other.settings = replace(self.settings, width=width, height=height)
        other.frames, other._exposure = None, Exposure(self.settings.lights)
        for name in ("_camera", "_size", "_fitted", "_backdrop"):
            vars(other).pop(name, None)
        return other

    @cached_property
    def _camera(self) -> int | None:
        """The node of the camera in use; None for a fitted view."""
        wanted = self.settings.camera
        if wanted == "fit":
            return None
        if wanted == "auto":
            nodes = islice(self._cameras.values(), _MOST_CAMERAS)
            return next((node for node in nodes if self._shows_something(node)), None)
        return self._cameras[wanted]

    def pose_at(self, frame: float) -> Pose:
        """Return the pose at a frame. The last pose is kept: choosing, fitting and drawing a picture each need it."""
        if self._last_pose is None or self._last_pose[0] != frame:
            self._last_pose = frame, pose(self.scene, frames=[frame], rig=self._rig)
        return self._last_pose[1]

    @cached_property
    def segment(self) -> tuple[float, float]:
        """First and last frame of the playback."""
        clip = self._clip
        if clip is None or not clip.units_per_frame:
            return 0.0, 0.0
        start, end = clip.start / clip.units_per_frame, clip.end / clip.units_per_frame
        return (start, max(start, end)) if math.isfinite(start) and math.isfinite(end) else (0.0, 0.0)

    @property
    def _clip(self) -> Clip | None:
        return self.scene.clips[0] if self.scene.clips else None

    @property
    def rate(self) -> float:
        """Frames per second; 25 if the file has no valid rate."""
        stated = self._clip.frames_per_second if self._clip is not None else 0.0
        return stated if 0 < stated < math.inf else 25.0

    @property
    def seconds(self) -> float:
        """Duration of the playback."""
        return (self.segment[1] - self.segment[0]) / self.rate

    @cached_property
    def default_frame(self) -> float:
        """The current frame of the file, else the first; the middle one if this frame shows nothing."""
        start, end = self.segment
        clip = self._clip
        current = clip.current / clip.units_per_frame if clip is not None and clip.current is not None else start
        chosen = current if start <= current <= end else start
        middle = (start + end) / 2
        if middle != chosen and not len(self.drawable.extent(self.pose_at(chosen))):
            return middle
        return chosen

    def spread(self, count: int, *, with_last: bool) -> list[float]:
        """Return evenly spaced frames, whole ones if there are enough; only one if the playback has no duration."""
        start, end = self.segment
        if end <= start:
            return [start]
        frames = np.linspace(start, end, count, endpoint=with_last)
        has_enough = end - start >= count and start == round(start)
        return [float(frame) for frame in (np.round(frames) if has_enough else frames)]

    def picture(self, frame: float) -> Image:
        """Return a picture: RGB, or RGBA with a transparent background."""
        return next(self.pictures([frame]))

    def pictures(self, frames: Sequence[float]) -> Iterator[Image]:
        """Yield the picture of each frame, like `picture`."""
        width, height = self.settings.width, self.settings.height
        for frame in frames:
            drawn = self._draw(frame)
            backdrop = self._backdrop
            if backdrop is None:
                yield pillow.Image.fromarray(_unpremultiplied(drawn))
            else:
                picture = np.empty((height, width, 3), np.uint8)
                through = 255 - drawn[:, :, 3].astype(np.uint16)
                for part in range(3):
                    behind = (through * backdrop[:, :, part] + 127) // 255
                    picture[:, :, part] = np.minimum(behind + drawn[:, :, part], 255)
                yield pillow.Image.fromarray(picture)

    def _draw(self, frame: float) -> Bytes:
        """Return (height, width, 4) premultiplied RGBA."""
        width, height = self.settings.width, self.settings.height
        oversampling = 2 if max(width, height) <= 1536 else 1
        with budgeted(size=self.scene.stored_bytes):
            pose = self.pose_at(frame)
            return render_frame(self.drawable, pose, 0, self._view(pose), width, height, self._exposure, oversampling)

    def exposure(self) -> tuple[float, float]:
        """Return the added studio light and the factor of all light, determined with the first picture."""
        if self._exposure.fill is None:
            self._draw(self.default_frame)
        return self._exposure.fill or 0.0, self._exposure.gain

    @property
    def complete(self) -> bool:
        """Whether the pictures so far show every face: false if drawing all of them would take too long."""
        return self._exposure.complete

    def sheet(self, frames: Sequence[float], columns: int) -> Image:
        """Return one picture with those of all frames in rows, each labelled with its frame."""
        width, height = self.settings.width, self.settings.height
        rows = -(-len(frames) // columns)
        if columns * width > 4 * LARGEST_SIDE or rows * height > 4 * LARGEST_SIDE:
            raise ValueError(f"a sheet of {columns * width} x {rows * height} pixels is too large")
        transparent = self._backdrop is None
        sheet = pillow.Image.new("RGBA" if transparent else "RGB", (columns * width, rows * height))
        draw = pillow.ImageDraw.Draw(sheet)
        size = max(11, height // 14)
        font = pillow.ImageFont.load_default(size)
        for number, (frame, picture) in enumerate(zip(frames, self.pictures(frames), strict=True)):
            left, top = number % columns * width, number // columns * height
            sheet.paste(picture, (left, top))
            place, label = (left + size // 3, top + size // 4), f"{frame:.4g}"
            draw.text(place, label, fill=_LABEL, font=font, stroke_width=-(-size // 8), stroke_fill=_LABEL_OUTLINE)
        return sheet

    def _view(self, pose: Pose) -> View:
        aspect = self.settings.width / self.settings.height
        if self._camera is not None:
            view = camera_view(pose, 0, self._camera, aspect, self._size)
            if view is not None:
                return view
        return self._fitted

    def _extent(self) -> Floats:
        frames = list(self.frames if self.frames is not None else [self.default_frame])
        if len(frames) > _SAMPLES:
            frames = [frames[round(index * (len(frames) - 1) / (_SAMPLES - 1))] for index in range(_SAMPLES)]
        extents = [self.drawable.extent(self.pose_at(frame)) for frame in frames]
        return np.concatenate(extents) if extents else np.empty((0, 3))

    @cached_property
    def _size(self) -> float:
        extent = self._extent()
        return (float(np.ptp(extent, axis=0).max()) if len(extent) else 0.0) or 1.0

    def _uncover(self) -> None:
        """Leave out the objects that hide most of the subjects of a scene: the roof and the walls before them."""
        subjects = _subjects_of(self.scene)
        others = frozenset(self.drawable.mesh_nodes) - subjects
        if len(others) == len(self.drawable.mesh_nodes):
            return
        pose, hiding = self.pose_at(self.default_frame), frozenset[int]()
        for _ in range(_ROUNDS):
            self.drawable.leave_out(hiding)
            view = self._view_of(self.drawable.extent(pose))
            shown = Canvas(self.drawable, self.drawable.shape(pose, 0), view, _PREVIEW, _PREVIEW).nodes
            self.drawable.leave_out(others)
            alone = Canvas(self.drawable, self.drawable.shape(pose, 0), view, _PREVIEW, _PREVIEW).nodes
            self.drawable.leave_out(hiding)
            before = shown[alone >= 0]
            before = before[np.isin(before, list(others))]
            if 2 * len(before) <= (alone >= 0).sum():
                return
            counts = np.bincount(before)
            hiding |= frozenset(np.flatnonzero(counts >= max(1.0, counts.max() * _NOTICED)).tolist())

    @cached_property
    def _fitted(self) -> View:
        self._uncover()
        return self._view_of(self._extent())

    def _view_of(self, points: Floats) -> View:
        settings = self.settings
        aspect = settings.width / settings.height
        return fitted_view(points, self.scene.space, aspect, settings.around_degrees, settings.above_degrees)

    def _shows_something(self, node: int) -> bool:
        """Return whether a camera of the file shows more than a speck or a corner of the scene, and not only the inside
        of one object.

        One of two frames is enough: the first or the middle one.
        """
        frames = list(self.frames) if self.frames else [self.default_frame]
        return any(self._shows_at(node, frame) for frame in dict.fromkeys((frames[0], frames[len(frames) // 2])))

    def _shows_at(self, node: int, frame: float) -> bool:
        pose = self.pose_at(frame)
        view = camera_view(pose, 0, node, self.settings.width / self.settings.height, self._size)
        if view is None:
            return False
        shape = self.drawable.shape(pose, 0)
        preview = Canvas(self.drawable, shape, view, 64, 64)
        if preview.coverage < _LEAST_SEEN or preview.largest_object_share >= _MOST_OF_ONE:
            return False
        fraction_inside = view.fraction_inside(shape.used_points)
        return fraction_inside + preview.coverage / _FILLED >= 1.0

    @cached_property
    def _backdrop(self) -> npt.NDArray[np.uint16] | None:
        """(height, 1, 3) background colours of the rows; None for transparent."""
        background = self.settings.background
        if background is None:
            return None
        rows: npt.ArrayLike = self._file_background() if isinstance(background, str) else background
        out = np.empty((self.settings.height, 1, 3), np.uint16)
        out[:, 0] = rows
        return out

    def _file_background(self) -> npt.ArrayLike:
        environment = self.scene.environment
        gradient = environment.gradient if "gradient" in environment.uses else None
        if gradient is not None and len(gradient.colors) == 3:
            middle = min(max(gradient.midpoint, 0.01), 0.99) if math.isfinite(gradient.midpoint) else 0.5
            down = np.linspace(0, 1, self.settings.height)
            colors = np.nan_to_num(np.array(gradient.colors)).clip(0, 1) * 255
            return np.stack([np.interp(down, [0, middle, 1], colors[:, part]) for part in range(3)], axis=1)
        if environment.background_color is not None and "background_color" in environment.uses:
            color: Floats = np.nan_to_num(np.array(environment.background_color)).clip(0, 1) * 255
            return color
        return NEUTRAL


def _subjects_of(scene: Scene) -> frozenset[int]:
    """Return the nodes that a picture must show, with their descendants."""
    importer = next((known for known in IMPORTERS if known.name == scene.source_format), None)
    subjects = set() if importer is None else set(importer.subjects(scene))
    for number, node in enumerate(scene.nodes if subjects else ()):
        if node.parent in subjects:
            subjects.add(number)
    return frozenset(subjects)


def _unpremultiplied(pixels: Bytes) -> Bytes:
    """Return colours that are not multiplied by alpha, as in PNG."""
    alpha = pixels[:, :, 3:].astype(np.uint16)
    colors = (pixels[:, :, :3].astype(np.uint16) * 255 + alpha // 2) // np.maximum(alpha, 1)
    return np.concatenate([colors.clip(0, 255), alpha], axis=2).astype(np.uint8)


def render(
    scene: Scene | Source,
    *,
    frame: float | None = None,
    clip: int | str = 0,
    size: int | tuple[int, int] = 256,
    camera: str = "auto",
    lights: str = "auto",
    background: RgbBytes | str | None = NEUTRAL,
    texture_path: Sequence[PathLike] = (),
    two_sided: bool = False,
) -> Image:
    """Return a picture of a scene or a file as a Pillow image: ``render(scene).save("scene.png")``. Notebooks show it.

    ``frame`` is the frame to show (default: `Renderer.default_frame`) of ``clip``, the index or the name of a clip;
    ``size`` is the width and height in pixels, or one number for both. The other options are those of `Settings`.
    Images are taken from the file itself, from the folder it was loaded from, and from the folders of
    ``texture_path``. Raises LookupError if no camera or clip has this name, ValueError for another invalid option.
    """
    width, height = (size, size) if isinstance(size, int) else size
    shown = with_clip(scene_from(scene, clip), clip)
    folder = shown.origin.folder if shown.origin is not None else shown.folder
    images = TextureSource(TextureFinder([*([] if folder is None else [folder]), *texture_path]))
    settings = Settings(width, height, camera=camera, lights=lights, background=background, two_sided=two_sided)
    renderer = Renderer(shown, settings, textures=images)
    return renderer.picture(renderer.default_frame if frame is None else frame)


_PICTURES_PER_SECOND, _MOST_PICTURES = 15, 90


@dataclass(frozen=True)
class Presentation:
    """The kind of picture, and the frames that it shows."""

    kind: str = "png"
    """one of `STILL`, or one of `ANIMATED` for a playback"""
    sheet: tuple[int, int] | None = None
    """columns and rows of a contact sheet"""
    frames: tuple[float, ...] | None = None
    """None: selected automatically"""
    pictures: int | None = None
    """number of pictures of a playback; None: 15 per second, 2 to 90"""

    def data(self, renderer: Renderer) -> bytes:
        """Return the bytes of the picture; sets the frames of the renderer."""
        renderer.frames = frames = self._frames(renderer)
        if self.sheet is not None:
            return encode_still(renderer.sheet(frames, self.sheet[0]), self.kind)
        if self.kind in STILL:
            return encode_still(renderer.picture(frames[0]), self.kind)
        seconds = renderer.seconds if self.frames is None else _durations(frames, renderer.rate)
        return encode_animation(list(renderer.pictures(frames)), seconds, self.kind)

    def _frames(self, renderer: Renderer) -> list[float]:
        if self.frames is not None:
            return list(self.frames)
        if self.sheet is not None:
            return renderer.spread(self.sheet[0] * self.sheet[1], with_last=True)
        if self.kind in STILL:
            return [renderer.default_frame]
        default_count = round(min(max(renderer.seconds * _PICTURES_PER_SECOND, 2), _MOST_PICTURES))
        return renderer.spread(self.pictures or default_count, with_last=False)


def picture_options(options: Mapping[str, Any]) -> tuple[Settings, Presentation]:
    """Return what ``options["settings"]`` and ``options["presentation"]`` describe, with lists for tuples as in JSON;
    raises ValueError if they are invalid."""

    def fields(part: str) -> dict[str, Any]:
        given = dict(options.get(part) or {})
        return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}

    return Settings(**fields("settings")), Presentation(**fields("presentation"))


def _durations(frames: list[float], rate: float) -> list[float]:
    """Return how many seconds each frame is shown: until the next one; the last as long as the one before."""
    steps = [abs(after - before) for before, after in pairwise(frames)]
    steps.append(steps[-1] if steps else 1.0)
    return [step / rate for step in steps]
