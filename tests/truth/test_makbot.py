"""One robot, stored twice: as a 3DS file with keys, and as a DirectX text file with 24 baked frames.

The axes of the text file are x, z, y of the 3DS file, its quaternion keys are w, x, y, z of the inverse rotation,
spaces in names became underscores, and missing keys are interpolated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.asset import glb_parts
from tests.corpus import CORPUS, needs_corpus
from tests.oracles.gltf.sampler import Gltf

pytestmark = needs_corpus

FRAMES = 24
ROTATION, SCALE, POSITION = 0, 1, 2
Keys = dict[int, list[float]]


@dataclass
class Bone:
    """A frame of the text file: its parent and its keys by kind."""

    parent: str | None
    keys: dict[int, Keys] = field(default_factory=dict)


def read_twin(text: str) -> dict[str, Bone]:
    """Frames and animation keys of a DirectX text file; everything else is skipped."""
    bones: dict[str, Bone] = {}
    blocks: list[list[str]] = []  # the words before each open brace
    owner = ""
    parts = re.split(r"([{}])", text)
    for body, brace in zip(parts[::2], parts[1::2], strict=False):
        if brace == "{":
            words = (body.strip().splitlines() or [""])[-1].split()
            if words[:1] == ["Frame"]:
                around = [block[1] for block in blocks if block[:1] == ["Frame"]]
                bones[words[1]] = Bone(around[-1] if around else None)
            blocks.append(words)
            continue
        block = blocks.pop()
        if not block:  # {name}: whose keys these are
            owner = body.strip()
        elif block[0] == "AnimationKey":
            numbers = re.findall(r"-?\d+(?:\.\d+)?", body)
            kind, count, width = int(numbers[0]), int(numbers[1]), int(numbers[3])
            rows = [numbers[2 + i * (2 + width) : 2 + (i + 1) * (2 + width)] for i in range(count)]
            bones[owner].keys[kind] = {int(row[0]): [float(number) for number in row[2:]] for row in rows}
    return bones


def interpolated(keys: Keys, frame: int) -> npt.NDArray[np.float64]:
    """The key at a frame, or the linear interpolation of its neighbours."""
    if frame in keys:
        return np.array(keys[frame])
    before = max((time for time in keys if time < frame), default=min(keys))
    after = min((time for time in keys if time > frame), default=max(keys))
    if before == after:
        return np.array(keys[before])
    u = (frame - before) / (after - before)
    a, b = np.array(keys[before]), np.array(keys[after])
    if len(a) == 4 and a @ b < 0:
        b = -b
    return (1 - u) * a + u * b


def local(bone: Bone, frame: int) -> npt.NDArray[np.float64]:
    """The matrix of the bone relative to its parent, for column vectors, in the axes of the text file."""
    matrix = np.eye(4)
    if ROTATION in bone.keys:
        w, x, y, z = interpolated(bone.keys[ROTATION], frame) / np.linalg.norm(interpolated(bone.keys[ROTATION], frame))
        matrix[:3, :3] = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        ).T  # of the inverse rotation
    if SCALE in bone.keys:
        matrix[:3, :3] *= interpolated(bone.keys[SCALE], frame)
    if POSITION in bone.keys:
        matrix[:3, 3] = interpolated(bone.keys[POSITION], frame)
    return matrix


def test_node_origins_agree_at_all_frames() -> None:
    scene = keyframer.load(CORPUS / "makbot" / "mak_running.3DS")
    bones = read_twin((CORPUS / "makbot" / "mak_running.x").read_text(encoding="latin-1"))
    posed = keyframer.pose(scene, frames=np.arange(FRAMES))
    names = {node.name.replace(" ", "_"): index for index, node in enumerate(scene.nodes)}
    compared = 0
    for frame in range(FRAMES):
        world: dict[str, npt.NDArray[np.float64]] = {}
        for name, bone in bones.items():  # parents come before children
            local_matrix = local(bone, frame)
            world[name] = local_matrix if bone.parent is None else world[bone.parent] @ local_matrix
        for name, matrix in world.items():
            if name in names and bones[name].keys:
                origin = matrix[[0, 2, 1], 3]
                assert np.abs(posed.world[frame, names[name], :3, 3] - origin).max() <= 1e-3, (name, frame)
                compared += 1
    assert compared >= 50 * FRAMES


def test_the_exported_file_plays_the_same() -> None:
    """The GLB, played by a player that shares no code with the exporter, compared with the text file. glTF is Y up, so
    z of the text file is negated. The promised error is 1e-4 of the size of the scene.
    """
    scene = keyframer.load(CORPUS / "makbot" / "mak_running.3DS")
    bones = read_twin((CORPUS / "makbot" / "mak_running.x").read_text(encoding="latin-1"))
    asset, report = export(scene)
    gltf = Gltf(b"".join(glb_parts(asset)))
    about = gltf.json["scenes"][0]["extras"]["keyframer"]["clips"][0]
    seconds = (np.arange(FRAMES) - about["origin"]) / about["rate"]
    worlds = gltf.worlds(seconds)
    names = {node.get("name", "").replace(" ", "_"): index for index, node in enumerate(gltf.nodes)}
    allowed = 1e-4 * report.measured["size"] + 1e-3
    compared, largest = 0, 0.0
    for frame in range(FRAMES):
        world: dict[str, npt.NDArray[np.float64]] = {}
        for name, bone in bones.items():
            local_matrix = local(bone, frame)
            world[name] = local_matrix if bone.parent is None else world[bone.parent] @ local_matrix
        for name, matrix in world.items():
            if name in names and bones[name].keys:
                origin = matrix[:3, 3] * (1, 1, -1)
                largest = max(largest, float(np.abs(worlds[frame, names[name], :3, 3] - origin).max()))
                compared += 1
    assert compared >= 50 * FRAMES
    assert largest <= allowed
