"""The law of writing: what a writer wrote is read again and posed, and its report covers every difference.

A scene and the scene that is read from its file are posed at frames, between frames, and in the second and third
period of tracks that repeat. Meshes are compared by their vertices, cameras and lights by their direction, other nodes
by their axes. A difference above 1e-4 of the size of the scene must be covered: by the errors that the report states
for the node, its ancestors, its target and its joints, or by a part of these that it calls dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import keyframer
from keyframer.curves import Interpolation, Wrap, compile_track
from keyframer.errors import FormatError
from keyframer.formats import properties_of
from keyframer.formats.kit.coordinates import in_space
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import clip_span, scene_size
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import CannotWrite, Loss, LossReport, Outcome
from keyframer.scene.losses import NAME_CHANGED
from tests.building.random_scenes import SUFFIXES

Floats = npt.NDArray[np.float64]

_SUFFIXES = SUFFIXES | {"b3d": ".b3d"}
ALLOWED = 1e-4
"""of the size: smaller differences need no word"""
_MOTION = ("position", "rotation", "scale", "scale_axes", "roll")
_PERIODS = 3
_SLACK = 1.1
"""an error is measured at some moments, the pose is compared at others"""


def write_and_read(scene: Scene, format: str, folder: Path, **options: object) -> tuple[Scene, LossReport]:
    """Write a scene in a format, or as glTF, and read the file with the options that it needs."""
    path = folder / f"written{_SUFFIXES.get(format, '.glb')}"
    if format == "gltf":
        report = keyframer.save(scene, path, overwrite=True, **options)
        return keyframer.load(path), report
    known = next(each for each in keyframer.supported_formats() if each.name == format)
    written = known.from_scene(scene, options)
    suffix = ".mdl" if options.get("file") == "model" else path.suffix
    path = path.with_suffix(suffix)
    path.write_bytes(keyframer.encode(written.document))
    for suffix, content in written.companions:
        path.with_suffix(suffix).write_bytes(content)
    return keyframer.load(path, format=format, **written.reader_options), written.report


def unreported(scene: Scene, format: str, folder: Path, **options: object) -> list[str]:
    """Return the differences between a scene and what is read from its file that the report does not cover."""
    try:
        loaded, report = write_and_read(scene, format, folder, **options)
    except CannotWrite:
        return []
    except FormatError as error:
        return [f"refused: {error}"]
    if format == "nodeanim":
        scene = _without_parents(scene)
    comparison = _Comparison(scene, loaded, report, format)
    return list(comparison.differences()) if len(comparison.times) else []


def _without_parents(scene: Scene) -> Scene:
    """Return the scene as a node animation stores it: transforms that are relative to parents it does not name."""
    kinds = [NodeKind.DUMMY if node.camera is node.light is None else NodeKind.TARGET for node in scene.nodes]
    nodes = [
        Node(node.name, kind, None, node.position, node.rotation_xyzw, node.scale)
        for node, kind in zip(scene.nodes, kinds, strict=True)
    ]
    clips = []
    for clip in scene.clips[:1]:
        channels = [channel for channel in clip.channels if channel.track.kind in ("position", "rotation", "scale")]
        clips.append(replace(clip, channels=channels))
    return replace(scene, nodes=nodes, meshes=[], cameras=[], lights=[], skins=[], clips=clips)


@dataclass
class _Claims:
    """What a report says of one node."""

    dropped: bool = False
    errors: dict[str, float] = field(default_factory=dict)
    """the largest stated error of each kind of track"""
    shifts: float = 0.0
    """seconds by which keys are moved"""


class _Comparison:
    def __init__(self, scene: Scene, loaded: Scene, report: LossReport, format: str) -> None:
        self.scene, self.report, self.format = scene, report, format
        self.loaded = in_space(
            loaded, replace(scene.space, metres_per_unit=loaded.space.metres_per_unit, v_up=loaded.space.v_up)
        )
        self.size = scene_size(scene)
        self.clip = scene.clips[0] if scene.clips else Clip()
        self.names = {node.name: number for number, node in enumerate(self.loaded.nodes)}
        for loss in report:
            if loss.type is NAME_CHANGED["rule"] and loss.args["name"] in self.names:
                self.names.setdefault(loss.path.removeprefix("/nodes/"), self.names[str(loss.args["name"])])
        self.claims = [self._claims(node) for node in scene.nodes]
        for channel in self.clip.channels:
            if any(loss.path == f"/channels/{channel.track.kind}" for loss in report):
                self.claims[channel.node].dropped |= channel.track.kind in _MOTION
        self.times = self._times()
        rig = Rig(scene)
        samples = rig.sample(self.times)
        self.world = rig.world(samples, len(self.times))
        self.weights = rig.properties.morph_weights(samples, len(self.times))
        clip = self.loaded.clips[0] if self.loaded.clips else None
        other = Rig(self.loaded)
        shift = self._shift()
        seconds = self.times / self.clip.rate
        others = np.zeros(1) if clip is None else (seconds + shift) * clip.rate
        samples = other.sample(others)
        self.other_world = other.world(samples, len(others))
        self.other_weights = other.properties.morph_weights(samples, len(others))
        if clip is None:
            self.other_world = np.broadcast_to(self.other_world, (len(self.times), *self.other_world.shape[1:]))

    def _shift(self) -> float:
        """Return by how many seconds the file is later than the scene, as its report says."""
        if self.format in ("hale3d", "midtown") and any(loss.path == "/clips/start" for loss in self.report):
            begin = clip_span(self.clip)[0]
            (loss,) = (loss for loss in self.report if loss.path == "/clips/start")
            shift = float(str(loss.args["seconds"]))
            assert shift >= -begin / self.clip.rate - 1e-5
            return shift
        return 0.0

    def _claims(self, node: Node) -> _Claims:
        claims = _Claims()
        prefix = f"/nodes/{node.name}"
        for loss in self.report:
            part = loss.path.removeprefix(prefix).strip("/") if loss.path.startswith(prefix) else None
            if loss.path == prefix or (
                (part in (*_MOTION, "skin", "mesh", "target", "pivot", "morph", "axes"))
                and loss.path == f"{prefix}/{part}"
            ):
                self._add(claims, part or "", loss)
            elif (loss.path == "/morphs" and node.morph is not None) or (
                loss.path == "/scale_axes" and node.scale_axes_xyzw is not None
            ):
                claims.dropped = True
            elif loss.path in ("/clips/frames", "/clips/keys"):
                kind = "rotation" if loss.unit == "degree" else "position"
                self._add(claims, kind, loss)
        return claims

    @staticmethod
    def _add(claims: _Claims, part: str, loss: Loss) -> None:
        claims.dropped |= loss.outcome is Outcome.DROPPED
        if loss.error is None or loss.outcome in (Outcome.EXACT, Outcome.DROPPED):
            return
        if loss.unit == "second":
            claims.shifts = max(claims.shifts, loss.error)
        else:
            kind = {"scene unit": "position"}.get(loss.unit or "", part) if part not in _MOTION else part
            claims.errors[kind] = max(claims.errors.get(kind, 0.0), loss.error)

    # Times

    def _times(self) -> Floats:
        """Return frames, times between them, and times in further periods, except next to jumps."""
        begin, end = clip_span(self.clip)
        step = self.clip.units_per_frame
        tracks = [channel.track for channel in self.clip.channels if len(channel.track.times) > 1]
        periods = [track.times[-1] for track in tracks if track.wrap is not Wrap.SINGLE and track.times[-1] > 0]
        if periods and self._repeats():
            end = max(end, min(_PERIODS * max(periods), end + 400 * step))
        frames = np.arange(math.ceil(begin / step), math.floor(end / step) + 1) * step
        if len(frames) > 150:
            frames = frames[np.unique(np.linspace(0, len(frames) - 1, 150).astype(int))]
        random = np.random.default_rng(7)
        plays_between = all(properties_of(name).plays_between_frames for name in self.clip.extras)
        between = random.uniform(begin, end, 200 if plays_between else 0)
        times = np.unique(np.clip(np.concatenate([frames, between, [begin, end]]), begin, end))
        guard = max(1.1e-3 * self.clip.rate, 2e-3 * step)
        bad = np.zeros(len(times), bool)
        for track in tracks:
            period = track.times[-1] if track.wrap is not Wrap.SINGLE else 0.0
            moments = track.times[:-1][np.diff(track.times) == 0]
            if track.interpolation is Interpolation.STEP:
                moments = track.times
            shift = max((claim.shifts for claim in self.claims), default=0.0) * self.clip.rate
            local = np.mod(times, period) if period > 0 else times
            for moment in moments:
                bad |= (local > moment - guard - shift) & (local < moment + guard + shift)
            if period > 0:
                bad |= (local < guard + shift) | (local > period - guard - shift)
        return times[~bad]

    def _repeats(self) -> bool:
        """Return whether the file repeats all that the scene repeats."""
        wrapped = [channel for channel in self.clip.channels if channel.track.wrap is not Wrap.SINGLE]
        return all(
            any(
                other.track.kind == channel.track.kind and other.track.wrap is not Wrap.SINGLE
                for other in self.loaded.channels_of(self.names.get(self.scene.nodes[channel.node].name, -1))
            )
            for channel in wrapped
        )

    # Differences

    def differences(self) -> Iterator[str]:
        yield from self._lost_repetitions()
        errors = self._chain_errors()
        for number, node in enumerate(self.scene.nodes):
            if node.name not in self.names:
                if not any(loss.outcome is not Outcome.EXACT and self._may_explain(loss, node) for loss in self.report):
                    yield f"{node.name}: missing without a word"
                continue
            difference, reach = self._difference(number, self.names[node.name])
            if difference is None:
                continue
            allowed = self._allowed(number, reach, errors)
            worst = int(np.argmax(difference))
            if not difference[worst] <= allowed:
                share = difference[worst] / self.size
                yield (
                    f"{node.name}: {share:.2g} of the size off at {self.times[worst]:.6g}, "
                    f"reported {allowed / self.size:.2g}"
                )

    def _may_explain(self, loss: Loss, node: Node) -> bool:
        kinds = {"/meshes": node.mesh, "/cameras": node.camera, "/lights": node.light}
        return (
            loss.path.startswith(f"/nodes/{node.name}")
            or kinds.get(loss.path) is not None
            or (loss.path == "/lights/ambient" and node.kind is NodeKind.AMBIENT)
            or (node.kind is NodeKind.TARGET)
        )

    def _lost_repetitions(self) -> Iterator[str]:
        for channel in self.clip.channels:
            track, name = channel.track, self.scene.nodes[channel.node].name
            inside = track.times[-1] * np.linspace(0, 1, 50)[1:-1]
            moves = len(track.times) > 1 and np.ptp(compile_track(track)(inside), axis=0).any()
            if (
                track.kind not in _MOTION
                or track.wrap is Wrap.SINGLE
                or not moves
                or track.times[-1] <= 0
                or name not in self.names
            ):
                continue
            kept = [
                other.track for other in self.loaded.channels_of(self.names[name]) if other.track.kind == track.kind
            ]
            if any(other.wrap is not Wrap.SINGLE for other in kept):
                continue
            losses = [
                loss
                for loss in self.report
                if loss.path
                in (f"/nodes/{name}/{track.kind}", f"/nodes/{name}/target", f"/channels/{track.kind}", "/clips/frames")
            ]
            if not any(loss.outcome is not Outcome.EXACT or track.wrap.value in str(loss.args) for loss in losses):
                yield f"{name}: {track.kind} repeats no more, without a word"

    def _difference(self, number: int, other: int) -> tuple[Floats | None, Floats]:
        """Return (T,) the largest distance of a node, and (T, P, 3) its points."""
        points = self._points(self.scene, number, self.world, self.weights.get(number))
        others = self._points(self.loaded, other, self.other_world, self.other_weights.get(other))
        if not points.size:
            return None, points
        is_split = self.loaded.nodes[other].mesh is None or points.shape != others.shape
        if self.scene.nodes[number].mesh is not None and is_split:
            if not self.loaded.meshes:
                points = self._points(self.scene, number, self.world, None, bare=True)
                others = self._points(self.loaded, other, self.other_world, None, bare=True)
            else:
                return self._to_nearest(points), points
        if self.format == "gltf" and self.scene.nodes[number].mesh is not None:  # vertices may change places
            return _nearest(points, others), points
        if points.shape != others.shape:
            points, others = points[:, :1], others[:, :1]
        return np.sqrt(((points - others) ** 2).sum(axis=-1)).max(axis=1), points

    def _to_nearest(self, points: Floats) -> Floats:
        """Return (T,) the largest distance of points to the nearest vertex of the file: for meshes that were split."""
        vertices = [
            posed_vertices(self.loaded, i, self.other_world, self.other_weights.get(i))
            for i, node in enumerate(self.loaded.nodes)
            if node.mesh is not None
        ]
        return _nearest(points, np.concatenate(vertices, axis=1))

    def _points(self, scene: Scene, number: int, world: Floats, weights: Floats | None, bare: bool = False) -> Floats:
        node = scene.nodes[number]
        if node.mesh is not None and not bare:
            return posed_vertices(scene, number, world, weights)
        matrices = world[:, number]
        origin = matrices[:, None, :3, 3]
        length = 0.1 * self.size
        if node.camera is not None or (
            node.light is not None and scene.lights[node.light].type in (LightType.SPOT, LightType.DIRECTIONAL)
        ):
            axes = matrices[:, :3, :3] / np.sqrt((matrices[:, :3, :3] ** 2).sum(axis=1))[:, None]
            tips = [origin, origin - length * axes[:, None, :, 2]]
            if node.camera is not None:
                tips.append(origin + length * axes[:, None, :, 1])
            return np.concatenate(tips, axis=1)
        if node.kind in (NodeKind.TARGET, NodeKind.LIGHT, NodeKind.AMBIENT):
            return origin
        if affine.determinant(self.world[:, :, :3, :3]).min() <= 0 or any(
            node.scale_axes_xyzw is not None for node in self.scene.nodes
        ):
            return origin
        axes = affine.decompose(matrices)[1]
        turned = affine.compose(np.zeros((len(axes), 3)), axes, np.ones(3))[:, :3, :3]
        if self._is_sheared(number, scene, world):
            return origin
        return np.concatenate([origin, *(origin + length * turned[:, None, :, axis] for axis in range(3))], axis=1)

    def _is_sheared(self, number: int, scene: Scene, world: Floats) -> bool:
        if scene is not self.scene:
            return False
        columns = world[:, number, :3, :3]
        products = np.einsum("tij,tik->tjk", columns, columns)
        off = np.abs(products[:, [0, 0, 1], [1, 2, 2]]).max(axis=1)
        return bool((off > 1e-6 * np.abs(products).max(axis=(1, 2))).any())

    # What the report states

    def _chain_errors(self) -> list[list[tuple[int, float, float]]]:
        """Return for each node its ancestors and itself, each with the stated errors: a length, and a length for each
        unit of distance from it.
        """
        chains: list[list[tuple[int, float, float]]] = []
        for number in range(len(self.scene.nodes)):
            chain, at = [], number
            while at is not None:
                chain.append((at, *self._own_error(at)))
                at = self.scene.nodes[at].parent  # type: ignore[assignment]
            chains.append(chain)
        return chains

    def _own_error(self, number: int) -> tuple[float, float]:
        node, errors = self.scene.nodes[number], self.claims[number].errors
        largest, ratio = 1.0, 1.0
        if node.parent is not None:
            largest, ratio = self._stretch(node.parent)
        own_ratio = self._stretch(number)[1]
        length = sum(errors.get(kind, 0.0) for kind in ("position", "skin", "mesh", "")) * largest
        turned = math.radians(errors.get("rotation", 0.0) + errors.get("roll", 0.0) + errors.get("target", 0.0)) * ratio
        turned += math.radians(errors.get("scale_axes", 0.0)) * own_ratio
        if errors.get("scale"):
            scales = [np.abs(np.asarray(node.scale)).min()]
            for channel in self.scene.channels_of(number):
                if channel.track.kind == "scale":
                    scales.append(np.abs(channel.track.values).min())
            turned += errors["scale"] / max(min(scales) - errors["scale"], 1e-6) * own_ratio
        return length, turned

    def _stretch(self, number: int) -> tuple[float, float]:
        values = np.linalg.svd(self.world[:, number, :3, :3], compute_uv=False)
        return float(values.max()), float((values[:, 0] / np.maximum(values[:, -1], 1e-9)).max())

    def _allowed(self, number: int, points: Floats, errors: list[list[tuple[int, float, float]]]) -> float:
        node = self.scene.nodes[number]
        involved = [number] if node.skin is None else self.scene.skins[node.skin].joints
        total = 0.0
        chains = [errors[each] for each in involved]
        if node.skin is not None:
            chains.append([(number, *self._own_error(number))])
        for chain in chains:
            bound = 0.0
            for at, length, turned in chain:
                if self.claims[at].dropped:
                    return math.inf
                bound += (
                    length + self._aim_error(at, errors) * self._reach(at, points) + turned * self._reach(at, points)
                )
            total = max(total, bound)
        measured = self.report.measured.get("world_error", 0.0) * math.sqrt(3)
        if not any(loss.error for loss in self.report):  # no part says that it is off
            measured = 0.0
        return _SLACK * max(total, measured) + ALLOWED * self.size

    def _reach(self, number: int, points: Floats) -> float:
        return float(np.sqrt(((points - self.world[:, None, number, :3, 3]) ** 2).sum(axis=-1)).max())

    def _aim_error(self, number: int, errors: list[list[tuple[int, float, float]]]) -> float:
        """Return the angle by which stated errors turn a node that is aimed at a target."""
        target = self.scene.nodes[number].target
        if target is None:
            return 0.0
        if self.claims[target].dropped:
            return math.inf
        moved = 0.0
        for chain in (errors[number], errors[target]):
            for at, length, turned in chain:
                moved += length + (
                    turned * self._reach(at, self.world[:, [number, target]][..., :3, 3]) if turned else 0.0
                )
        distance = np.sqrt(((self.world[:, number, :3, 3] - self.world[:, target, :3, 3]) ** 2).sum(axis=-1)).min()
        steepest = 1.0
        if self.scene.nodes[number].camera is not None:  # the picture of a camera turns where it looks up or down
            up = np.eye(3)["xyz".index(self.scene.space.up)]
            steepest = float(np.abs(np.cross(self.world[:, number, :3, 2], up)).max(axis=-1).min())
        return moved / max(float(distance) * steepest, 1e-9)


def _nearest(points: Floats, others: Floats) -> Floats:
    """Return (T,) the largest distance of one of the points (T, n, 3) to the nearest of the others (T, m, 3)."""
    if not points.size:
        return np.zeros(len(points))
    return np.array(
        [
            np.sqrt(((row[:, None] - other[None]) ** 2).sum(axis=-1)).min(axis=1).max()
            for row, other in zip(points, others, strict=True)
        ]
    )
