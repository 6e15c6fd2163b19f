"""World matrices against lib3ds 1.3, on every animated file, at keys and between them.

lib3ds has known errors; `REASONS` lists them, each with a function that decides from the data of a node whether the
error can affect it at a frame. A difference without such a reason fails.
"""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import keyframer
from keyframer.curves import RotationForm, Track
from keyframer.scene import NodeKind, Scene
from tests.corpus import CORPUS, needs_corpus, table

pytestmark = needs_corpus

TIMEOUT_SECONDS = 20
RELATIVE = 2e-4  # lib3ds adds up float32
KINDS = {1: "ambient", 2: "object", 3: "camera", 4: "target", 5: "light", 6: "spot target"}
Matrix = npt.NDArray[np.float64]


def animated_files() -> list[str]:
    if not CORPUS.is_dir():
        return []
    rows = [row for row in table("3ds/INDEX.tsv") if int(row["multi_key_tracks"] or 0) > 0]
    return sorted(row["file"] for row in rows if (CORPUS / "3ds" / row["file"]).is_file())


# --- why lib3ds may differ ------------------------------------------------------------------------------------------


def segment(track: Track, frame: float) -> int | None:
    """The index of the segment that the frame is strictly inside of, or None."""
    times = track.times
    inside = np.flatnonzero((times[:-1] < frame) & (frame < times[1:]))
    return int(inside[0]) if len(inside) else None


def in_end_segment(track: Track, frame: float) -> bool:
    number = segment(track, frame)
    return number is not None and len(track.times) > 2 and number in (0, len(track.times) - 2)


def vector_end_tangents(track: Track, frame: float) -> bool:
    return not track.is_rotation and in_end_segment(track, frame)


def rotation_end_tangents(track: Track, frame: float) -> bool:
    return track.is_rotation and in_end_segment(track, frame)


def two_keys_with_tension(track: Track, frame: float) -> bool:
    return len(track.times) == 2 and segment(track, frame) is not None and bool(np.any(track.tension))


def ease_ignored(track: Track, frame: float) -> bool:
    return segment(track, frame) is not None and bool(np.any(track.ease_to) or np.any(track.ease_from))


def wrong_repeat_bits(track: Track, frame: float) -> bool:
    return bool(track.extras["3ds"]["flags"] & 3) and len(track.times) > 1  # type: ignore[index]


def shortest_arc(track: Track, frame: float) -> bool:
    if track.form is not RotationForm.AXIS_ANGLE_RELATIVE or len(track.times) < 2:
        return False
    return bool(np.any(np.abs(track.values[1:, 3]) > math.pi * 0.999)) and segment(track, frame) is not None


def equal_times(track: Track, frame: float) -> bool:
    return bool(np.any(np.diff(track.times) <= 0))


def before_the_first_key(track: Track, frame: float) -> bool:
    return len(track.times) > 1 and frame < track.times[0]


REASONS: dict[str, tuple[Callable[[Track, float], bool], str]] = {
    "chord ends": (
        vector_end_tangents,
        "tangents of first and last key are the chord; 3ds Max's own files disprove it",
    ),
    "rotation ends": (rotation_end_tangents, "first and last rotation key have no tangents"),
    "two keys": (two_keys_with_tension, "the tension of a track of two keys is ignored"),
    "ease": (ease_ignored, "the ease function is never called"),
    "repeat": (wrong_repeat_bits, "bit 0 is taken for repeat and bit 1 for smooth; 2 is repeat and 3 is loop"),
    "long way": (shortest_arc, "turns of more than half a circle take the shorter way"),
    "before": (before_the_first_key, "before the first key the first segment is extrapolated instead of held"),
    "jump": (equal_times, "two keys at one frame divide by the time between them"),
}
CAMERA_FRAME = "camera frame"  # children of cameras and spots get the translation only, not the way it looks
MISSING_TRACK = "missing track"  # a missing scale track becomes scale 0, not 1


def reasons(scene: Scene, number: int, frame: float) -> Iterator[str]:
    """The known errors of lib3ds that affect a node or one of its ancestors at this frame."""
    is_start = True
    node: int | None = number
    while node is not None:
        tracks = {channel.track.kind: channel.track for channel in scene.channels_of(node)}
        for kind in ("position", "rotation", "scale"):
            if kind in tracks:
                yield from (name for name, (test, _) in REASONS.items() if test(tracks[kind], frame))
            elif scene.nodes[node].kind in (NodeKind.OBJECT, NodeKind.DUMMY):
                yield MISSING_TRACK
        if not is_start and scene.nodes[node].kind in (NodeKind.CAMERA, NodeKind.LIGHT):
            yield CAMERA_FRAME
        is_start = False
        node = scene.nodes[node].parent


# --- comparing ------------------------------------------------------------------------------------------------------


def frames_of(scene: Scene) -> list[float]:
    """About a dozen frames: keys, between keys, and beyond both ends."""
    times = np.unique(np.concatenate([channel.track.times for channel in scene.clips[0].channels]))
    chosen = times[:: max(1, len(times) // 8)]
    between = (chosen[:-1] + chosen[1:]) / 2
    return sorted({*chosen.tolist(), *between.tolist(), float(times[0]) - 2.5, float(times[-1]) + 3.0})


def evaluate(program: Path, path: Path, frames: list[float]) -> dict[tuple[float, str, int], Matrix] | None:
    """Matrices of lib3ds by frame, kind and id; None if it refuses the file, crashes or hangs."""
    given = "".join(f"{frame!r}\n" for frame in frames)
    try:
        done = subprocess.run(
            [str(program), "pose", str(path)], input=given, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    matrices: dict[tuple[float, str, int], Matrix] = {}
    twice: set[tuple[float, str, int]] = set()
    for line in done.stdout.splitlines():
        frame, kind, number, _, *entries = line.split("\t")
        key = (float(frame), KINDS.get(int(kind), "?"), int(number))
        if key in matrices:
            twice.add(key)
        matrices[key] = np.array(entries, float).reshape(4, 4)
    return {key: matrix for key, matrix in matrices.items() if key not in twice}


def kind_in_lib3ds(scene: Scene, number: int) -> str:
    node = scene.nodes[number]
    if node.kind is NodeKind.TARGET:
        lookers = {other.kind for other in scene.nodes if other.target == number}
        return "spot target" if NodeKind.LIGHT in lookers else "target"
    return {NodeKind.OBJECT: "object", NodeKind.DUMMY: "object"}.get(node.kind, node.kind.value)


def difference(scene: Scene, number: int, ours: Matrix, theirs: Matrix) -> float:
    """The relative difference; only of the positions for cameras, lights and targets."""
    size = max(float(np.abs(ours[:3, 3]).max()), 1.0)
    place = float(np.abs(ours[:3, 3] - theirs[:3, 3]).max()) / size
    if scene.nodes[number].kind not in (NodeKind.OBJECT, NodeKind.DUMMY):
        return place
    axes = np.abs(ours[:3, :3]).max()
    turned = float(np.abs(ours[:3, :3] - theirs[:3, :3]).max()) / max(float(axes), 1e-6)
    return max(place, turned)


@pytest.mark.parametrize("file", animated_files())
def test_world_matrices_agree_with_lib3ds(file: str, lib3ds: Path) -> None:
    scene = keyframer.load(CORPUS / "3ds" / file, salvage=True, sign_flips="keep")
    frames = frames_of(scene)
    theirs = evaluate(lib3ds, CORPUS / "3ds" / file, frames)
    assert theirs is not None, "lib3ds refuses, crashes or hangs"
    posed = keyframer.pose(scene, frames=frames)
    agreed, excused = 0, Counter[str]()
    for number, node in enumerate(scene.nodes):
        if node.file_id is None or node.kind is NodeKind.AMBIENT:
            continue
        kind = kind_in_lib3ds(scene, number)
        for index, frame in enumerate(frames):
            apart = difference(scene, number, posed.world[index, number], theirs[frame, kind, node.file_id])
            if apart <= RELATIVE:
                agreed += 1
                continue
            why = set(reasons(scene, number, frame))
            assert why, f"{node} at {frame}: {apart:.2g} apart and nothing explains it"
            excused.update(why)
    assert agreed > sum(excused.values()) / 2, dict(excused)
