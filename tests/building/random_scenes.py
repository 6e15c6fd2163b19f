"""Random scenes made by hypothesis, and the largest difference in motion between two scenes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.key_reduction import turn_degrees
from keyframer.formats.kit.coordinates import in_space
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene

Floats = npt.NDArray[np.float64]

SUFFIXES = {"3ds": ".3ds", "uto3d": ".u3d", "hale3d": ".anim", "midtown": ".anim", "nodeanim": ".nanim", "ase": ".ase"}
KEYED = ("3ds", "uto3d", "nodeanim", "ase")
LAST_FRAME = 40


def _floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, width=32).map(lambda value: 0.0 if abs(value) < 1e-6 else value)


def _vectors(low: float, high: float) -> st.SearchStrategy[list[float]]:
    return st.lists(_floats(low, high), min_size=3, max_size=3)


@st.composite
def _times(draw: st.DrawFn) -> list[int]:
    """Whole frames, beginning with 0."""
    return [0, *sorted(draw(st.sets(st.integers(1, LAST_FRAME), max_size=5)))]


@st.composite
def _shapes(draw: st.DrawFn, count: int) -> dict[str, list[float]]:
    """Tension, continuity, bias and ease, or some of them, as float32 numbers."""
    ranges = {"tension": (-1, 1), "continuity": (-1, 1), "bias": (-1, 1), "ease_to": (0, 1), "ease_from": (0, 1)}
    chosen = draw(st.sets(st.sampled_from(sorted(ranges))))
    return {name: draw(st.lists(_floats(*ranges[name]), min_size=count, max_size=count)) for name in sorted(chosen)}


@st.composite
def rotations(draw: st.DrawFn, widest: float, relative: bool) -> Track:
    """Rotation keys; increments of up to ``widest`` radians after the first."""
    times = draw(_times())
    interpolation = draw(st.sampled_from([Interpolation.TCB, Interpolation.LINEAR]))
    rows = []
    for number in range(len(times)):
        axis = np.array(draw(_vectors(-1, 1)))
        length = float(np.linalg.norm(axis))
        axis = axis / length if length > 1e-2 else np.array([0.0, 0.0, 1.0])
        angle = draw(_floats(-3.0 if number == 0 else -widest, 3.0 if number == 0 else widest))
        rows.append([*axis.tolist(), angle])
    values = np.array(rows, np.float32).astype(np.float64)
    shapes: dict[str, Any] = draw(_shapes(len(times))) if interpolation is Interpolation.TCB else {}
    track = Track(
        "rotation",
        np.array(times, np.float64),
        values,
        interpolation,
        form=RotationForm.AXIS_ANGLE_RELATIVE,
        **{name: np.array(column) for name, column in shapes.items()},
    )
    if relative:
        return track
    from keyframer.curves.rotation_forms import with_form

    return with_form(track, RotationForm.QUATERNION_ABSOLUTE)


@st.composite
def vectors(draw: st.DrawFn, kind: str, low: float, high: float) -> Track:
    times = draw(_times())
    interpolation = draw(st.sampled_from([Interpolation.TCB, Interpolation.LINEAR]))
    values = np.array([draw(_vectors(low, high)) for _ in times], np.float64)
    shapes: dict[str, Any] = draw(_shapes(len(times))) if interpolation is Interpolation.TCB else {}
    columns = {name: np.array(column) for name, column in shapes.items()}
    return Track(kind, np.array(times, np.float64), values, interpolation, **columns)


@st.composite
def figures(draw: st.DrawFn, *, sizes: bool = False, widest: float = 2.5) -> Scene:
    """A tree of bones at 30 frames per second: the root moves and rotates, the others rotate.

    With ``sizes`` all of them have all kinds of tracks.
    """
    count = draw(st.integers(1, 4))
    nodes, channels = [], []
    for number in range(count):
        parent = None if number == 0 else draw(st.integers(0, number - 1))
        node = Node(f"bone{number}", NodeKind.BONE, parent)
        node.position = np.array(draw(_vectors(-4, 4)))
        nodes.append(node)
        if number == 0 or sizes:
            channels.append(Channel(number, draw(vectors("position", -4, 4))))
        if number == 0 or draw(st.booleans()):
            channels.append(Channel(number, draw(rotations(widest, relative=draw(st.booleans())))))
        if sizes and draw(st.booleans()):
            channels.append(Channel(number, draw(vectors("scale", 0.25, 2))))
    return Scene(nodes=nodes, clips=[Clip(channels=channels, end=float(LAST_FRAME))])


def save_and_load(scene: Scene, format: str, folder: Path, name: str = "made", **options: object) -> Scene:
    """Save the scene in a format, with keys if it has them, and load it with the reading options of the writer."""
    if format == "ase":
        options = {"keys": True, **options}
    known = next(format_ for format_ in keyframer.supported_formats() if format_.name == format)
    written = known.from_scene(scene, options)
    path = folder / f"{name}{SUFFIXES[format]}"
    path.write_bytes(keyframer.encode(written.document))
    for suffix, content in written.companions:
        path.with_suffix(suffix).write_bytes(content)
    checked = keyframer.check(path, format=format)
    assert not [issue for issue in checked.issues if issue.severity is keyframer.Severity.ERROR], list(checked.issues)
    return keyframer.load(path, format=format, **written.reader_options)


def local_motion(scene: Scene, frames: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Position (T, 3) and rotation (T, 4) of every node relative to its parent; frames are those of 30 per second."""
    rig = Rig(scene)
    clip = scene.clips[0]
    times = frames / 30.0 * clip.rate
    local = rig.local(rig.sample(times), len(frames))
    places, turns, _ = affine.decompose(local)
    return {node.name: (places[:, i], turns[:, i]) for i, node in enumerate(scene.nodes)}


def largest_difference(a: Scene, b: Scene, frames: Floats | None = None) -> tuple[float, float]:
    """The largest difference between the nodes of both scenes, in length and in degrees. Names must agree."""
    frames = np.arange(LAST_FRAME + 1.0) if frames is None else frames
    mine, others = local_motion(a, frames), local_motion(in_space(b, a.space), frames)
    assert set(mine) == set(others)
    length, degrees = 0.0, 0.0
    for name, (place, turn) in mine.items():
        other_place, other_turn = others[name]
        length = max(length, float(np.abs(place - other_place).max()))
        degrees = max(degrees, float(turn_degrees(turn, other_turn).max()))
    return length, degrees


def keys_of(scene: Scene) -> dict[tuple[str, str], Track]:
    return {(scene.nodes[channel.node].name, channel.track.kind): channel.track for channel in scene.clips[0].channels}


def shape_bits(track: Track, name: str) -> list[int]:
    """The bits of a column as float32, which must survive unchanged."""
    column = getattr(track, name)
    values = np.zeros(len(track.times)) if column is None else column
    return (values.astype(np.float32) + np.float32(0)).view(np.uint32).tolist()


def spinning(angle: float, *, wrap: Wrap = Wrap.SINGLE) -> Scene:
    """A node that rotates by ``angle`` radians from frame 0 to 30 and again to 60."""
    values = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, angle], [0.0, 0.0, 1.0, angle]])
    form = RotationForm.AXIS_ANGLE_RELATIVE
    track = Track("rotation", np.array([0.0, 30.0, 60.0]), values, Interpolation.TCB, wrap, form)
    return Scene(nodes=[Node("spinner", NodeKind.DUMMY)], clips=[Clip(channels=[Channel(0, track)], end=60.0)])


TURN = 2 * math.pi
