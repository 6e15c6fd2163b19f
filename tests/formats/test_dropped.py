"""What the pose and the written file show is not reported as dropped: all operations, formats and samples.

The report names parts in several ways: one field of one part (``/nodes/3/position``, ``/nodes/Rotor/scale``), a field
of all parts of a kind (``/materials/diffuse``), a feature (``/smoothing``), a kind of track. `Written.shown` looks for
each of them in the scene of the written file, and knows nothing of the writers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer import editing
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Node, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from tests.building.random_scenes import SUFFIXES
from tests.samples import all_samples
from tests.slow import SLOW

FRAMES = [0.0, 3.0, 8.0, 15.0]
OPERATIONS: dict[str, Callable[[Scene], Scene]] = {
    "scale": lambda scene: editing.scale(scene, 2.0),
    "axes": lambda scene: editing.change_axes(scene, up="y" if scene.space.up == "z" else "z"),
    "move": lambda scene: editing.move(scene, 0, (1, 2, 3)),
    "rate": lambda scene: editing.change_rate(scene, 24),
    "cut": lambda scene: editing.cut(scene, 2, 12),
    "reverse": editing.reverse,
    "choose": lambda scene: editing.choose_nodes(scene, [scene.nodes[len(scene.nodes) // 2].name]),
    "merge": lambda scene: editing.merge(editing.reverse(scene), scene),
}
PAIRS: dict[str, Callable[[Scene], Scene]] = {
    f"{first}, {second}": lambda scene, pair=(first, second): OPERATIONS[pair[1]](OPERATIONS[pair[0]](scene))  # type: ignore[misc]
    for first, second in [("move", "scale"), ("reverse", "scale"), ("cut", "scale"), ("cut", "axes")]
}
TARGETS = [*SUFFIXES, "b3d", "gltf"]
LINKS = {"meshes": "mesh", "cameras": "camera", "lights": "light", "skins": "skin"}
FEATURES = {
    "smoothing": ("meshes", "smoothing"),
    "vertex_colours": ("meshes", "colors"),
    "textures": ("materials", "maps"),
    "pivots": ("nodes", "pivot"),
    "scale_axes": ("nodes", "scale_axes_xyzw"),
    "hidden_nodes": ("nodes", "hidden"),
}
"""features in reports that are one field of each part"""


def parts(scene: Scene, kind: str) -> Iterator[tuple[str, Any]]:
    """The parts of a kind with a name that both scenes know: their own, or that of a node that has them."""
    if kind in LINKS:
        for node in scene.nodes:
            number = getattr(node, LINKS[kind])
            if number is not None:
                yield node.name, getattr(scene, kind)[number]
    elif kind == "maps":
        for material in scene.materials:
            yield from ((f"{material.name}/{slot}", texture) for slot, texture in material.maps.items())
    elif kind in ("environment", "clips"):
        yield from ((kind, part) for part in ([scene.environment] if kind == "environment" else scene.clips[:1]))
    else:
        yield from ((part.name, part) for part in getattr(scene, kind, ()))


def same(a: Any, b: Any) -> bool:
    """Whether two values of a field are the same, apart from rounding."""
    if a is None or b is None or isinstance(a, (str, bool)):
        return bool(a == b) if not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) else a is b
    try:
        first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    except (TypeError, ValueError):
        return repr(a) == repr(b)
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=1e-5, atol=1e-5, equal_nan=True))


class Written:
    """A scene and the scene of the file that was written of it, in the same axes, with their poses."""

    def __init__(self, scene: Scene, loaded: Scene) -> None:
        self.scenes = (in_space(scene, loaded.space), loaded)
        self.poses = [keyframer.pose(each, frames=FRAMES) for each in self.scenes]

    def shown(self, path: str) -> bool:
        """Whether the file shows the part at a path of the report as the scene does."""
        steps = path.strip("/").split("/")
        match steps:
            case ["nodes", *name] if self._number(0, "/".join(name)) is not None:
                return self._same_motion("/".join(name))
            case ["channels", kind]:
                return self._same_tracks(kind, None)
            case ["clips", "0", "channels", number, kind]:
                return self._same_tracks(kind, self.scenes[0].nodes[int(number)].name)
            case ["nodes", name, kind] if kind in ("position", "rotation", "scale") and not name.isdigit():
                return self._same_tracks(kind, name)
            case [feature] if feature in FEATURES:
                return self._same_fields(*FEATURES[feature], None)
            case [kind, number, field] if number.isdigit() and kind in ("nodes", "materials", *LINKS):
                part = getattr(self.scenes[0], kind)[int(number)]
                return self._same_fields(
                    kind, field, [name for name, each in parts(self.scenes[0], kind) if each is part]
                )
            case [kind, name, field] if kind in ("nodes", "materials", *LINKS):
                return self._same_fields(kind, field, [name])
            case [kind, field] if kind in ("nodes", "materials", "maps", "environment", *LINKS):
                return self._same_fields(kind, field, None)
        return False

    def _number(self, scene: int, name: str) -> int | None:
        return next((i for i, node in enumerate(self.scenes[scene].nodes) if node.name == name), None)

    def _same_motion(self, name: str) -> bool:
        numbers = [self._number(scene, name) for scene in (0, 1)]
        if None in numbers or self._kind(0, name) != self._kind(1, name):
            return False
        return same(*(pose.world[:, number] for pose, number in zip(self.poses, numbers, strict=True)))

    def _kind(self, scene: int, name: str) -> tuple[Any, ...]:
        node: Node = self.scenes[scene].nodes[self._number(scene, name) or 0]
        return node.kind, *(getattr(node, link) is None for link in LINKS.values())

    def _same_tracks(self, kind: str, name: str | None) -> bool:
        """Whether the tracks of a kind have the same values at all frames, for one node or for all."""
        curves = []
        for scene in self.scenes:
            clip = scene.clips[0] if scene.clips else None
            found = {}
            for channel in clip.channels if clip is not None else ():
                node = scene.nodes[channel.node].name
                if channel.track.kind == kind and name in (None, node) and len(channel.track.times):
                    assert clip is not None
                    times = np.array(FRAMES) * clip.units_per_frame
                    found[node] = keyframer.compile_track(channel.track)(times)
            curves.append(found)
        if not curves[0] or not curves[0].keys() <= curves[1].keys():
            return False
        return all(
            same(_absolute(kind, values), _absolute(kind, curves[1][node])) for node, values in curves[0].items()
        )

    def _same_fields(self, kind: str, field: str, names: list[str] | None) -> bool:
        """Whether a field of all parts of a kind, or of those with these names, is the same, and stated at all."""
        if field in LINKS.values():  # "/nodes/Eye/camera" is about details of the camera
            return False
        first, second = (dict(parts(scene, kind)) for scene in self.scenes)
        if any(field in content for part in first.values() for content in part.extras.values()):
            return False  # data of another format, which only has the same name: the pivots of U3D are not ours
        if field == "axes" and all(part.axes is not None for part in second.values()):
            field = "positions"  # in a file that has axes they only say where the vertices were stored
        chosen = [name for name in first if names is None or name in names]
        if not chosen or not all(hasattr(first[name], field) for name in chosen) or not set(chosen) <= second.keys():
            return False
        if field in ("parent", "target"):
            values = [[_name(scene, dict(parts(scene, kind))[name], field) for name in chosen] for scene in self.scenes]
            return values[0] == values[1]
        return all(same(getattr(first[name], field), getattr(second[name], field)) for name in chosen)


def _absolute(kind: str, values: Any) -> Any:
    """A quaternion and its negative are the same rotation."""
    return values * np.where(values[:, 3:] < 0, -1, 1) if kind in ("rotation", "scale_axes") else values


def _name(scene: Scene, node: Node, link: str) -> str | None:
    number = getattr(node, link)
    return None if number is None else scene.nodes[number].name


CASES = []
targets = cycle(TARGETS)
for source, sample in all_samples():
    if "signalling" in sample.name:
        continue  # keys that are not finite are left out, although the pose ignored them
    for operation in OPERATIONS:
        chosen_targets = TARGETS if SLOW else dict.fromkeys([source, next(targets)])
        CASES += [(source, sample, operation, target) for target in chosen_targets]
FEWER = 1 if SLOW else 6
"""of how many samples one is written after each pair of operations, in its own format"""
EXAMPLE = Path(__file__).parents[2] / "examples/windmill.3ds"
CASES += [
    (source, sample, pair, source)
    for pair in PAIRS
    for source, sample in [("3ds", EXAMPLE), *list(all_samples())[::FEWER]]
    if "signalling" not in sample.name
]


@pytest.mark.parametrize("operation", [*OPERATIONS, *PAIRS])
def test_what_the_file_shows_is_not_dropped(operation: str, tmp_path: Path) -> None:
    checked, wrong = 0, []
    for source, path, name, target in CASES:
        if name != operation:
            continue
        folder = tmp_path / f"{source}-{path.name}-{target}"
        folder.mkdir()
        written = changed_and_written(source, path, operation, target, folder)
        if written is None:
            continue
        checked += 1
        both, report = written
        wrong += [f"{path.name} to {target}: {loss}" for loss in report.of(Outcome.DROPPED) if both.shown(loss.path)]
    assert wrong == []
    assert checked > (40 if operation in OPERATIONS else 5)


def changed_and_written(
    source: str, path: Path, operation: str, target: str, folder: Path
) -> tuple[Written, LossReport] | None:
    """Change a sample and write it; None if it is damaged, or the operation or the format is impossible for it."""
    try:
        scene = (OPERATIONS | PAIRS)[operation](keyframer.load(path, format=source))
        suffix = path.suffix if target == source else SUFFIXES.get(target, f".{target}".replace("gltf", "glb"))
        report = keyframer.save(scene, folder / f"out{suffix}", format=target)
        return Written(
            scene, keyframer.load(folder / f"out{suffix}", format=None if target == "gltf" else target)
        ), report
    except (keyframer.FormatError, ValueError, IndexError):
        return None


def test_scaled_mill_is_exact(tmp_path: Path) -> None:
    """Every node and vertex is doubled, and the report says so; what is not stored is still called dropped."""
    scene = keyframer.load(EXAMPLE)
    report = keyframer.save(editing.scale(scene, 2.0), tmp_path / "twice.3ds")
    assert report.of(Outcome.DROPPED) == []
    before, after = (keyframer.pose(each, frames=FRAMES) for each in (scene, keyframer.load(tmp_path / "twice.3ds")))
    assert np.allclose(after.world[..., :3, 3], 2 * before.world[..., :3, 3], atol=1e-4)
    assert np.allclose(after.vertices("Sail1"), 2 * before.vertices("Sail1"), atol=1e-4)
    scene.nodes[scene.find("Lamp")].scale = np.array([2.0, 2.0, 2.0])  # a light has no scale in the file
    kept = keyframer.save(scene, tmp_path / "lamp.3ds")
    assert [loss.path for loss in kept.of(Outcome.DROPPED)] == [f"/nodes/{scene.find('Lamp')}/scale"]


@pytest.mark.parametrize("second", ["scale", "axes"])
def test_cut_and_changed_mill_has_no_dropped_position(second: str, tmp_path: Path) -> None:
    """Linear keys of a target come back as others of the same curve."""
    scene = OPERATIONS[second](editing.cut(keyframer.load(EXAMPLE), 10, 50))
    report = keyframer.save(scene, tmp_path / "cut.3ds")
    assert report.of(Outcome.DROPPED) == []
