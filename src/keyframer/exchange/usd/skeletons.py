"""Writes skeletons, skins and blend shapes of UsdSkel.

All joints, and all nodes above them, are in one ``SkelAnimation``; each skin has a ``Skeleton`` with its bind poses. A
morph without a skin gets a skeleton of one joint below its node.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keyframer.arrays import Array, Floats, Singles
from keyframer.exchange.kit.motion import STEP, Sampler
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.skinning import bind_error, has_unbound_vertices, influences
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, PrimNames, Samples, matrix, tokens, wxyz
from keyframer.exchange.usd.nodes import LocalTransforms
from keyframer.maths import affine, quat
from keyframer.maths.distinct_values import unique_values
from keyframer.posing.evaluation_order import reachable
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import (
    NORMALS_CHANGED,
    SCALE_AXES_UNSUPPORTED,
    SKIN_CHANGED,
    VALUES_ROUNDED,
)

_STILL = "still"
"""joint of vertices that follow no other"""


class Skeletons:
    """Writes the skeletons of a scene, and binds meshes to them."""

    def __init__(self, context: Context, local: LocalTransforms, weights: dict[int, Floats]) -> None:
        """``weights`` are those of morphs at the start, by node."""
        self._context, self._local, self._weights = context, local, weights
        scene = context.scene
        used = {node.skin for node in scene.nodes if node.skin is not None}
        joints = {joint for skin in used for joint in scene.skins[skin].joints}
        above = set(reachable(joints, lambda number: [parent] if (parent := local.parents[number]) >= 0 else []))
        self._joints = [number for number in context.motions.rig.order.flat.tolist() if number in above]
        self._paths = self._joint_paths()
        self._morphs = {
            number: self._shape_names(number)
            for number, node in enumerate(scene.nodes)
            if node.morph is not None and node.morph.positions and node.mesh is not None
        }
        """names of the shapes of each node, unique in the scene"""
        self._animation: Prim | None = None
        self._skeletons: dict[tuple[int, bool], Prim] = {}

    @property
    def is_needed(self) -> bool:
        return bool(self._joints or self._morphs)

    def _joint_paths(self) -> dict[int, str]:
        names: dict[int, PrimNames] = {}
        paths: dict[int, str] = {}
        for number in self._joints:
            parent = self._local.parents[number]
            name = names.setdefault(parent, PrimNames()).claim(self._context.scene.nodes[number].name, "joint")
            paths[number] = f"{paths[parent]}/{name}" if parent >= 0 else name
        return paths

    def _shape_names(self, number: int) -> list[str]:
        morph = self._context.scene.nodes[number].morph
        assert morph is not None
        names = PrimNames()
        return [f"{names.claim(name, 'shape')}_{number}" for name in morph.names[: len(morph.positions)]]

    def left_out(self) -> set[int]:
        """Return the joints that need no prims of their own: nothing but joints is below them."""
        nodes, parents = self._context.scene.nodes, self._local.parents
        kept: set[int] = set()
        for number in reversed(self._context.motions.rig.order.flat.tolist()):
            node = nodes[number]
            has_parts = (
                node.camera is not None or node.light is not None or (node.mesh is not None and node.skin is None)
            )
            if number in kept or number not in self._paths or has_parts:
                kept |= {number, parents[number]}
        return set(range(len(nodes))) - kept

    def bind(self, number: int, prim: Prim) -> None:
        """Bind the mesh of a node to its skeleton, and write its blend shapes."""
        node = self._context.scene.nodes[number]
        if node.skin is None and number not in self._morphs:
            return
        assert node.mesh is not None
        mesh = self._context.scene.meshes[node.mesh]
        prim.schemas.append("SkelBindingAPI")
        if node.skin is not None:
            skin = self._context.scene.skins[node.skin]
            joints, weights = influences(skin, len(mesh.positions), self._context.report)
            positions = {joint: place for place, joint in enumerate(self._joints_of(node.skin))}
            places = np.array([*(positions[joint] for joint in skin.joints), len(positions)])
            joints = places[joints]
            skeleton = self._skeleton(node.skin, has_unbound_vertices(skin, len(mesh.positions)))
            error = bind_error(skin, mesh.positions)
            if error > self._context.options.max_error * self._context.size:
                self._context.report.add(
                    SKIN_CHANGED["bind positions"], f"/skins/{skin.name}", error=error, extras=skin.extras
                )
        else:
            joints, weights = (
                np.zeros((len(mesh.positions), 1), np.int32),
                np.ones((len(mesh.positions), 1), np.float32),
            )
            parent = prim.parent
            assert parent is not None
            skeleton = parent.add("Skeleton", "skeleton")
            self._set_joints(skeleton, [_STILL], np.eye(4)[None], np.eye(4)[None])
        size = f"elementSize = {joints.shape[1]}"
        for name, values in (
            ("int[] primvars:skel:jointIndices", joints),
            ("float[] primvars:skel:jointWeights", weights),
        ):
            prim.set(name, np.ascontiguousarray(values).reshape(-1), size, 'interpolation = "vertex"')
        geometry = np.eye(4)
        if node.skin is None:
            geometry[:3, 3] = -self._context.axes.vectors(np.asarray(node.pivot, np.float64))
        prim.set("matrix4d primvars:skel:geomBindTransform", matrix(geometry))
        prim.relate("skel:skeleton", skeleton)
        if number in self._morphs:
            self._shapes(number, prim)

    def _shapes(self, number: int, prim: Prim) -> None:
        node = self._context.scene.nodes[number]
        assert node.morph is not None
        assert node.mesh is not None
        base = single(self._context.axes.vectors(self._context.scene.meshes[node.mesh].positions))
        shapes = []
        for name, positions in zip(node.morph.names, node.morph.positions, strict=False):
            shape = prim.add("BlendShape", name)
            offsets = single(self._context.axes.vectors(positions)) - base
            moved = np.flatnonzero(offsets.any(axis=1))
            shape.set("uniform vector3f[] offsets", offsets[moved])
            shape.set("uniform int[] pointIndices", moved.astype(np.int32))
            shapes.append(shape)
        prim.set("uniform token[] skel:blendShapes", tokens(self._morphs[number]))
        prim.set("rel skel:blendShapeTargets", f"[{', '.join(f'<{shape.path}>' for shape in shapes)}]")
        path = f"/meshes/{self._context.scene.meshes[node.mesh].name}/morph"
        self._context.report.add(NORMALS_CHANGED["morph"], path, count=len(shapes))

    def _joints_of(self, skin: int) -> list[int]:
        """Return the joints of a skin and all nodes above them."""
        joints = self._context.scene.skins[skin].joints
        parents = self._local.parents
        above = set(reachable(joints, lambda number: [parents[number]] if parents[number] >= 0 else []))
        return [number for number in self._joints if number in above]

    def _skeleton(self, number: int, has_still: bool) -> Prim:
        key = number, has_still
        if key not in self._skeletons:
            skin, axes = self._context.scene.skins[number], self._context.axes
            joints = self._joints_of(number)
            world = axes.matrices(self._context.motions.rig.world_at_rest[0][joints])
            bind, row_of = world.copy(), {joint: row for row, joint in enumerate(joints)}
            inverse = axes.matrices(np.asarray(skin.inverse_bind, np.float64).reshape(-1, 4, 4))
            for joint, matrix_of in zip(skin.joints, inverse, strict=True):
                bind[row_of[joint]] = affine.inverse(matrix_of)
            rest = world.copy()
            for row, joint in enumerate(joints):
                if (parent := self._local.parents[joint]) >= 0:
                    rest[row] = affine.multiply(affine.inverse(world[row_of[parent]]), world[row])
            names = [self._paths[joint] for joint in joints]
            if has_still:
                names, eye = [*names, _STILL], np.eye(4)[None]
                bind, rest = np.concatenate([bind, eye]), np.concatenate([rest, eye])
            skeleton = self._skeletons[key] = self._context.root.add("Skeleton", skin.name or "skeleton")
            self._set_joints(skeleton, names, bind, rest)
            originals = [self._context.scene.nodes[joint].name for joint in joints]
            skeleton.set("uniform token[] jointNames", tokens(originals + [_STILL] * has_still))
            self._report(f"/skins/{skin.name}", joints)
        return self._skeletons[key]

    def _report(self, path: str, joints: list[int]) -> None:
        """Report what joints cannot have: scale axes, and scales with more than three digits."""
        local, report = self._local, self._context.report
        if any(local.has_axes[joint] for joint in joints):
            report.add(SCALE_AXES_UNSUPPORTED["joints"], f"{path}/scale_axes", outcome=Outcome.APPROXIMATED)
        scales: list[Array] = [local.scale[joints].reshape(-1, 3)]
        scales += [
            local.samplers[joint]["scale"].values for joint in joints if "scale" in local.samplers.get(joint, {})
        ]
        values = np.concatenate(scales)
        with np.errstate(over="ignore"):
            error = float(np.nan_to_num(np.abs(values.astype(np.float16) - values)).max())
        if error > self._context.options.max_error:
            report.add(VALUES_ROUNDED["half precision"], f"{path}/scale", unit="1", error=error)

    def _set_joints(self, skeleton: Prim, names: list[str], bind: Floats, rest: Floats) -> None:
        skeleton.schemas.append("SkelBindingAPI")
        skeleton.set("uniform token[] joints", tokens(names))
        for name, matrices in (("bindTransforms", bind), ("restTransforms", rest)):
            finite = np.nan_to_num(matrices)
            skeleton.set(f"uniform matrix4d[] {name}", f"[{', '.join(map(matrix, finite))}]")
        skeleton.relate("skel:animationSource", self._animated())

    def _animated(self) -> Prim:
        """Return the prim of the animation of all joints and shapes."""
        if self._animation is None:
            prim = self._animation = self._context.root.add("SkelAnimation", "Animation")
            if self._joints:
                prim.set("uniform token[] joints", tokens(self._paths[joint] for joint in self._joints))
                self._joint_samples(prim)
            if self._morphs:
                names = [name for shapes in self._morphs.values() for name in shapes]
                prim.set("uniform token[] blendShapes", tokens(names))
                self._weight_samples(prim)
        return self._animation

    def _joint_samples(self, prim: Prim) -> None:
        """Set translations, rotations and scales: the three have the same time codes, as UsdSkel wants it."""
        local, joints = self._local, self._joints
        samplers = [local.samplers.get(joint, {}) for joint in joints]
        seconds = self._times(sampler for each in samplers for sampler in each.values())
        for name, kind, rest, width in (
            ("float3[] translations", "position", local.position, 3),
            ("quatf[] rotations", "rotation", local.rotation, 4),
            ("half3[] scales", "scale", local.scale, 3),
        ):
            values = np.empty((max(len(seconds), 1), len(joints), width), np.float32)
            for place, joint in enumerate(joints):
                sampler = samplers[place].get(kind)
                if sampler is None:
                    values[:, place] = single(rest[joint])
                else:
                    values[:, place] = _at(sampler, seconds)
            values = wxyz(values) if width == 4 else values
            prim.set(name, values[0])
            if len(seconds):
                prim.set(f"{name}.timeSamples", Samples(self._context.codes(seconds), values))

    def _weight_samples(self, prim: Prim) -> None:
        motions = self._context.motions.motions
        samplers = {
            number: motion.sampler
            for number in self._morphs
            if (motion := motions.get((number, "morph"))) is not None and not motion.sampler.is_still
        }
        seconds = self._times(iter(samplers.values()))
        columns = []
        for number, names in self._morphs.items():
            values = np.zeros((max(len(seconds), 1), len(names)), np.float32)
            if number in samplers and samplers[number].values.shape[1] == len(names):
                values[:] = _at(samplers[number], seconds)
            elif number in self._weights and len(self._weights[number]) == len(names):
                values[:] = single(self._weights[number])
            columns.append(values)
        weights = np.concatenate(columns, axis=1)
        prim.set("float[] blendShapeWeights", weights[0])
        if len(seconds):
            prim.set(
                "float[] blendShapeWeights.timeSamples",
                Samples(self._context.codes(seconds), list(map(_texts, weights))),
            )

    def _times(self, samplers: Iterator[Sampler]) -> Floats:
        """Return the seconds of all keys, with those just before steps."""
        closest = self._context.motions.span.closest / self._context.motions.span.rate
        times: list[Array] = []
        for sampler in samplers:
            times.append(sampler.times)
            if sampler.mode == STEP:
                times.append(sampler.times[1:] - closest)
        return unique_values(np.concatenate(times).astype(np.float64)) if times else np.empty(0)


def _texts(values: Array) -> str:
    return str(values.tolist())


def _at(sampler: Sampler, seconds: Floats) -> Singles:
    """Return the values of a sampler (n, k) at seconds (n,)."""
    times, values = sampler.times.astype(np.float64), sampler.values
    before = np.clip(np.searchsorted(times, seconds, side="right") - 1, 0, len(times) - 1)
    if sampler.mode == STEP:
        return values[before]
    after = np.minimum(before + 1, len(times) - 1)
    length = times[after] - times[before]
    u = np.clip((seconds - times[before]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    if values.shape[1] == 4:
        return single(quat.slerp(values[before], values[after], u, shortest=False))
    return single(values[before] + u[:, None] * (values[after].astype(np.float64) - values[before]))
