"""Writes animations: every clip of the scene, exact if possible, otherwise sampled, with the error measured in the
written form. The report has the outcome of each track.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keyframer.arrays import Floats, Indices, Singles
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.gltf.conventions import Json, Names, attach_extras, json_value, non_default_fields
from keyframer.exchange.gltf.write.animation_channels import Channels, Properties, animate_visibility
from keyframer.exchange.gltf.write.cameras_lights import Lights
from keyframer.exchange.gltf.write.compact import (
    ROTATION_FRACTIONS,
    add_rounding,
    can_round_rotations,
    is_rounded,
    rounded,
)
from keyframer.exchange.gltf.write.nodes import Tree
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.aims import AimConstraint
from keyframer.exchange.kit.boxes import largest_distance
from keyframer.exchange.kit.clip_motions import PROPERTY_KINDS, ClipMotions
from keyframer.exchange.kit.motion import (
    CUBIC,
    LINEAR,
    STEP,
    Sampler,
)
from keyframer.exchange.kit.motion_report import report_tracks
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.spans import Span
from keyframer.exchange.kit.start_transforms import StartTransforms
from keyframer.limits import budget_left
from keyframer.maths.distinct_values import unique_values
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import active_segment, clip_span
from keyframer.posing.evaluation_order import reachable
from keyframer.posing.rig import MATRICES_PER_BLOCK
from keyframer.scene import Channel, Clip, Node, Scene
from keyframer.scene.losses import (
    AIM_BAKED,
    FIELD_KEPT,
    KEYS_RESAMPLED,
    MOTION_SAMPLED,
)

_POSITIVE_SIGNS = np.ones(3, np.float32)


class ClipWriter:
    """Writes one clip: an animation with the motion, and a second one with properties of cameras and lights and with
    visibility (KHR_animation_pointer).
    """

    def __init__(
        self,
        context: Context,
        tree: Tree,
        aims: dict[int, AimConstraint],
        lights: Lights,
        number: int,
        rig: Rig,
        names: Names,
    ) -> None:
        """``names`` are those of the animations."""
        self._context = context
        self._tree = tree
        self._aims = aims
        self._lights = lights
        self._number = number
        self._names = names
        options = context.options
        self._motions = ClipMotions(
            *(rig, aims, options, context.size), cubic=options.keys == "cubic", every_frame=options.keys == "frames"
        )
        self.clip, self.span = rig.clip, self._motions.span
        if options.keys == "frames" and self._motions.frames is None:
            context.report.add(MOTION_SAMPLED["too many frames"], f"/clips/{self.clip.name}")
        self._rig = rig
        self._position_signs = single(context.axes.vectors(np.ones(3)))
        """signs of the components of positions in the axes of the file"""
        self._rotation_signs = single(context.axes.rotations(np.ones(4)))
        self._inverse_rotation_signs = self._rotation_signs * np.array((-1, -1, -1, 1), np.float32)

    def write(self) -> Json:
        """Write the animation, if anything moves; returns the data of the clip for the extras of the scene."""
        rounds = can_round_rotations(self._context)
        samplers = self._samplers(rounds)
        if samplers:
            allowed = self._context.options.max_error * self._context.size
            error = self._world_error(samplers)
            if rounds and error > allowed:
                rounds, samplers = False, self._samplers(rounds=False)
                error = self._world_error(samplers)
            measured = self._context.report.measured
            measured["size"] = self._context.size
            measured["world_error"] = max(error, measured.get("world_error", 0.0))
            measured["world_error_allowed"] = allowed
        moving, settings = Channels(self._context.asset), Channels(self._context.asset)
        for (node, path), sampler in samplers.items():
            moving.node(node, path, sampler, ROTATION_FRACTIONS if rounds and is_rounded(path, sampler) else "<f4")
        for motion in self._motions.motions.values() if rounds else ():
            add_rounding(motion)
        self._other_channels(moving, settings)
        content = clip_extras(self._context, self.clip, self.span)
        end = float(self.span.seconds([self.span.end])[0])
        for channels in (moving, settings):
            if not len(channels):
                continue
            if "animation" not in content:
                content["animation"] = self._names.claim(self.clip.name, "animation")
                channels.finish(content["animation"], end)
            else:
                animation = channels.finish(self._names.claim(f"{content['animation']} settings"), end)
                attach_extras(animation, {"settings_of": content["animation"]})
        self._report_tracks()
        self._motions.report_incomplete(self._context.report)
        return content

    def _report_tracks(self) -> None:
        """Report the outcome of each track, and in one line that authored keys became others."""
        context = self._context
        geometry = {
            number: parts.geometry for number, parts in enumerate(self._tree.parts) if parts.geometry is not None
        }
        # a mesh without faces is left out
        drawn = {number for number, node in geometry.items() if "mesh" in context.asset.nodes[node]}
        resampled = report_tracks(self._motions, context.report, geometry, drawn)
        if resampled and not context.options.embed_source:
            path, extras = f"/clips/{self.clip.name}/keys", self.clip.extras
            context.report.add(KEYS_RESAMPLED["tracks"], path, extras=extras, count=resampled)

    def _targets(self, node: int, animated: str) -> list[tuple[int, str, Singles]]:
        """Return which properties of which glTF nodes a motion of a node animates (`ClipMotions.property_of`), and the
        signs of its values."""
        parts = self._tree.parts[node]
        if animated == "position":
            return [(parts.head, "translation", self._position_signs)]
        if animated == "rotation":
            return [(parts.head, "rotation", self._rotation_signs)]
        if animated == "scale":
            return [(parts.scaled, "scale", _POSITIVE_SIGNS)]
        if animated == "scale_axes" and parts.shape is not None:
            return [
                (parts.scaled, "rotation", self._rotation_signs),
                (parts.shape, "rotation", self._inverse_rotation_signs),
            ]
        return []

    def _world_error(self, samplers: Samplers) -> float:
        worst = self._motions.worst_moments()
        return _world_error(self._context, self._rig, self.span, self._tree, samplers, worst)

    def _samplers(self, rounds: bool) -> dict[tuple[int, str], Sampler]:
        """Return the samplers of translations, rotations and scales of nodes; rotations rounded, if it ``rounds``."""
        samplers: dict[tuple[int, str], Sampler] = {}
        for (node, animated), sampler in self._motions.samplers().items():
            for target, path, signs in self._targets(node, animated):
                samplers[target, path] = sampler.mirrored(signs)
        if self._number:
            self._add_still_values(samplers)
        if rounds:
            return {
                target: rounded(sampler) if is_rounded(target[1], sampler) else sampler
                for target, sampler in samplers.items()
            }
        return samplers

    def aim_error(self, node: int) -> float:
        """Return the largest error of the rotation of an aimed node, in degrees."""
        return self._motions.aim_error(node)

    def _add_still_values(self, samplers: dict[tuple[int, str], Sampler]) -> None:
        """For a clip after the first: add constant values that differ from the start of the first clip, also for nodes
        that only the first clip animates.
        """
        start = StartTransforms(self._context.scene, self._context.axes, self._rig, self._rig.sample([self.span.begin]))
        first_clip = self._tree.start
        for kind, values, first_values, signs_of_axes in (
            ("position", start.position, first_clip.position, self._position_signs),
            ("rotation", start.rotation, first_clip.rotation, self._rotation_signs),
            ("scale", start.scale, first_clip.scale, _POSITIVE_SIGNS),
            ("scale_axes", start.axes, first_clip.axes, self._rotation_signs),
        ):
            differs = ~np.isclose(values, first_values, rtol=1e-6, atol=1e-7).all(axis=1)
            for node in np.flatnonzero(differs).tolist():
                for target, path, signs in self._targets(node, self._motions.property_of(node, kind)):
                    if (target, path) not in samplers:
                        constant = single(values[node : node + 1] * signs_of_axes * signs)
                        samplers[target, path] = Sampler.of(LINEAR, np.zeros(1, np.float32), constant)

    def _other_channels(self, channels: Channels, settings: Channels) -> None:
        """Write visibility, morphs, cameras and lights."""
        properties = Properties(self._context, self._lights, settings, self._motions)
        for node, tracks in self._motions.tracks.items():
            parts = self._tree.parts[node]
            for kind in ("visible", "morph"):
                motion = self._motions.motions.get((node, kind))
                if motion is None or motion.sampler.is_still or parts.geometry is None:
                    continue
                if kind == "visible":
                    animate_visibility(self._context, node, parts, motion, channels, settings)
                elif "mesh" in self._context.asset.nodes[parts.geometry]:
                    channels.node(parts.geometry, "weights", motion.sampler)
            property_tracks = {kind: number for kind, number in tracks.items() if kind in PROPERTY_KINDS}
            if property_tracks:
                properties.write(node, property_tracks)


def write_animations(
    context: Context, tree: Tree, aims: dict[int, AimConstraint], lights: Lights, first_rig: Rig
) -> list[Json]:
    """Write all clips; returns their data for the extras of the scene. ``first_rig`` is that of the first clip."""
    clips: list[Json] = []
    names = Names()
    errors = dict.fromkeys(aims, 0.0)
    for number in range(len(context.scene.clips)):
        rig = Rig(context.scene, number) if number else first_rig
        writer = ClipWriter(context, tree, aims, lights, number, rig, names)
        clips.append(writer.write())
        errors = {node: max(error, writer.aim_error(node)) for node, error in errors.items()}
    for number, error in errors.items():
        node = context.scene.nodes[number]
        target = "kept in extras" if node.target is None else "kept as a separate node"
        path = f"/nodes/{node.name}/target"
        context.report.add(AIM_BAKED["rotation"], path, error=error or None, extras=node.extras, target=target)
    return clips


def clip_extras(context: Context, clip: Clip, span: Span) -> Json:
    """Return the clip for extras, with the written rate; ``origin`` is its time at second 0 of the animation."""
    content: Json = {
        "name": clip.name,
        "start": json_value(float(clip.start)),
        "end": json_value(float(clip.end)),
        "rate": span.rate,
        "unit": clip.unit,
        "origin": span.begin,
        "duration": float(span.seconds([span.end])[0]),
        **non_default_fields(clip, "units_per_frame", "current", "bounds"),
    }
    if clip.raw_channels:
        content["raw_channels"] = clip.raw_channels
        for channel in clip.raw_channels:
            context.report.add(FIELD_KEPT["raw channel"], f"/clips/{clip.name}/{channel.name}", extras=channel.extras)
    if clip.bounds is not None:
        context.report.add(FIELD_KEPT["bounds"], f"/clips/{clip.name}/bounds", extras=clip.extras)
    if clip.extras:
        content["extras"] = clip.extras
    segment = active_segment(clip)
    if segment is not None:
        first, last = (time / (clip.units_per_frame or 1.0) for time in clip_span(clip))
        played = f"{segment[0]:g} to {segment[1]:g} of {first:g} to {last:g}"
        context.report.add(FIELD_KEPT["segment"], f"/clips/{clip.name}/segment", extras=clip.extras, played=played)
    return content


Samplers = Mapping[tuple[int, str], Sampler]
"""by node and path of a glTF channel"""

_MOST_MATRICES = 40_000
_MOST_TIMES = 600
_SAMPLES_PER_MATRIX = 64
"""samples of the budget that a matrix counts for: more than it uses"""
_FRACTIONS = np.array((0.05, 0.5, 0.95))
"""fractions between two key times at which poses are compared"""
_INTERPOLATIONS = {STEP: Interpolation.STEP, LINEAR: Interpolation.LINEAR, CUBIC: Interpolation.CUBIC}
_TRACK_KINDS = {"translation": "position", "rotation": "rotation", "scale": "scale"}
_NODE_FIELDS = {"translation": "position", "rotation": "rotation_xyzw", "scale": "scale"}


def _world_error(context: Context, rig: Rig, span: Span, tree: Tree, samplers: Samplers, worst: Floats) -> float:
    """Return the largest measured distance along an axis between the written pose and the pose of the scene, in scene
    units: of the origins of moving nodes, and of the corners of boxes around their geometry. It is measured between all
    keys and at the ``worst`` moments, but not where a motion jumps.
    """
    times = np.concatenate([sampler.times for sampler in samplers.values()])
    lengths, closest = times[1:] - times[:-1], span.closest / span.rate
    jumps = np.flatnonzero((lengths > 0) & (lengths <= 1.1 * closest))
    starting, ending = (np.sort(times[rows]).astype(np.float64) for rows in (jumps, jumps + 1))

    def outside_jumps(moments: Floats) -> Floats:
        """Return the moments that are not between two keys of a sampler as close as those of a jump."""
        begun, ended = np.searchsorted(starting, moments, "right"), np.searchsorted(ending, moments, "left")
        return np.asarray(moments[begun <= ended])

    key_times = unique_values(times).astype(np.float64)
    lengths = key_times[1:] - key_times[:-1]
    gaps = np.flatnonzero(lengths > 0.5 * closest)
    gaps = gaps[np.linspace(0, len(gaps) - 1, min(len(gaps), _MOST_TIMES)).astype(int)]
    begins, lengths = key_times[gaps, None], lengths[gaps, None]
    fractions = np.where(lengths > span.indivisible / span.rate, _FRACTIONS, 0.5)
    seconds, worst = outside_jumps(unique_values(begins + lengths * fractions)), outside_jumps(worst)
    if not len(seconds):
        return 0.0
    tails = np.array([node.tail for node in tree.parts])
    nodes = context.asset.nodes
    below = reachable([node for node, _ in samplers], lambda number: nodes[number].get("children", ()))
    moving = np.flatnonzero(np.isin(tails, below))
    if not len(moving):
        return 0.0
    matrix_count = min(_MOST_MATRICES, budget_left("samples") // _SAMPLES_PER_MATRIX)
    most_times = max(24, min(_MOST_TIMES, matrix_count // len(moving)))
    if len(seconds) > most_times:
        seconds = seconds[np.linspace(0, len(seconds) - 1, most_times).astype(int)]
    seconds = unique_values(np.concatenate([seconds, worst[: most_times // 2]]))
    written = Rig(_written_scene(context.asset.nodes, tree.root, samplers, seconds))
    boxes = _boxes(context, moving.tolist())
    step = max(1, MATRICES_PER_BLOCK // len(context.asset.nodes))
    largest = 0.0
    with np.errstate(all="ignore"):
        for times in np.split(seconds, range(step, len(seconds), step)):
            found = written.world(written.sample(times), len(times))[:, tails[moving]]
            scene_world = rig.world(rig.sample(times * span.rate + span.begin), len(times))[:, moving]
            largest = max(largest, largest_distance(found, context.axes.matrices(scene_world), boxes))
    return largest


def _written_scene(written: list[Json], root: int | None, samplers: Samplers, seconds: Floats) -> Scene:
    """Return a scene of the written nodes, without geometry, animated by samplers: only by the keys that determine the
    poses at some ``seconds``. The root is not turned and scaled: the unit and the axes are those of the scene.
    """
    nodes = [Node(item["name"]) for item in written]
    for number, (node, item) in enumerate(zip(nodes, written, strict=True)):
        for path in _NODE_FIELDS.keys() & item.keys() if number != root else ():
            setattr(node, _NODE_FIELDS[path], np.array(item[path]))
        for child in item.get("children", ()):
            nodes[child].parent = number
    channels = []
    for (number, path), sampler in samplers.items():
        keys: slice | Indices = slice(None)
        if len(sampler.times) > 2 * len(seconds):
            after = np.minimum(np.searchsorted(sampler.times, seconds), len(sampler.times) - 1)
            keys = unique_values(np.concatenate([np.maximum(after - 1, 0), after]))
        track = Track(
            _TRACK_KINDS[path],
            sampler.times[keys],
            sampler.values[keys],
            _INTERPOLATIONS[sampler.mode],
            form=RotationForm.QUATERNION_ABSOLUTE if path == "rotation" else RotationForm.NONE,
            tangents_in=sampler.tangents_in[keys] if sampler.mode == CUBIC else None,
            tangents_out=sampler.tangents_out[keys] if sampler.mode == CUBIC else None,
        )
        channels.append(Channel(number, track))
    return Scene(nodes, clips=[Clip(channels=channels, rate=1.0)])


def _boxes(context: Context, numbers: list[int]) -> list[tuple[Floats, Floats]]:
    """Return centres and half sizes (nodes, 3) of boxes around the geometry and skin vertices of nodes, in their own
    space. Nodes with fewer boxes than others get empty boxes at the origin.
    """
    boxes = [_boxes_of(context, number) for number in numbers]
    centred_boxes = []
    for slot in range(max(map(len, boxes))):
        with_box = [place for place, node_boxes in enumerate(boxes) if len(node_boxes) > slot]
        low, high = (np.array([boxes[place][slot][end] for place in with_box]) for end in (0, 1))
        centre, half = np.zeros((len(numbers), 3)), np.zeros((len(numbers), 3))
        centre[with_box], half[with_box] = context.axes.vectors((low + high) / 2), np.abs(high - low) / 2
        centred_boxes.append((centre, half))
    return centred_boxes


def _boxes_of(context: Context, number: int) -> list[tuple[Floats, Floats]]:
    node = context.scene.nodes[number]
    boxes = [context.joint_boxes[number]] if number in context.joint_boxes else []
    if node.mesh is not None and node.skin is None and len(context.scene.meshes[node.mesh].positions):
        pivot = np.asarray(node.pivot, np.float64)
        low, high = context.boxes[node.mesh]
        boxes.append((low - pivot, high - pivot))
    return boxes
