"""Read a scene from an ASE document, in the order of `read_scene`."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_RATE_INVALID,
    LIMIT_SAMPLES,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
)
from keyframer.curves import Interpolation, Track
from keyframer.formats.ase.bridge.declared_fields import (
    ATTENUATION,
    CAMERA,
    CONE,
    ENVIRONMENT,
    LIGHT,
    LIGHT_SETTINGS,
    LIGHT_TYPES,
)
from keyframer.formats.ase.bridge.objects import Palette, local_positions, read_mesh, read_skins, table
from keyframer.formats.ase.bridge.tracks import (
    Motion,
    read_tracks,
    sample_step,
    separate_rolls,
    setting_tracks,
    visibility,
)
from keyframer.formats.ase.keywords import NODES
from keyframer.formats.ase.records import Block, Keys, VertexList
from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.merging import Parts
from keyframer.limits import spend
from keyframer.maths import affine
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Camera, Channel, Clip, Light, LightType, Morph, Node, NodeKind, Scene
from keyframer.text import decode_name

_ROTATION_KEYS = ("auto", "relative", "absolute")
_KINDS = {
    b"GEOMOBJECT": NodeKind.OBJECT,
    b"SHAPEOBJECT": NodeKind.DUMMY,
    b"HELPEROBJECT": NodeKind.DUMMY,
    b"CAMERAOBJECT": NodeKind.CAMERA,
    b"LIGHTOBJECT": NodeKind.LIGHT,
}
_ROWS = (b"TM_ROW0", b"TM_ROW1", b"TM_ROW2", b"TM_ROW3")
ROUNDING = 1e-3
"""files have 4 decimals: scales this close to 1 are 1, and shear below this is 0"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options; the defaults match the exporter of 3ds Max."""

    rotation_keys: str = "auto"
    """meaning of linear, Bezier and TCB rotation keys: ``relative`` to the key before, ``absolute``, or ``auto``: TCB
    and Bezier keys are relative, linear ones absolute (sampled tracks are always relative)"""
    encoding: str | None = None
    """encoding of names; None: UTF-8 if valid, else Windows code page 1252"""

    def __post_init__(self) -> None:
        if self.rotation_keys not in _ROTATION_KEYS:
            raise ValueError(f"rotation_keys must be one of {', '.join(_ROTATION_KEYS)}, not {self.rotation_keys!r}")


class Links(NamedTuple):
    """Data of a document that a merge needs."""

    parts: Parts
    group_nodes: Collection[int]
    """nodes that are groups: they have no block of their own"""
    parents_by_group: Mapping[int, int | None]
    """parents of these nodes, and of those whose parent is the group around their block"""
    materials: Mapping[int, tuple[int, int]]
    """for each material the number in MATERIAL_REF and the id of a face that select it"""
    world: Floats
    """(N, 4, 4) stored matrices of nodes"""


def read_scene(document: Document, options: Options) -> tuple[Scene, Links]:
    """Return the scene of a document, and links to the records of its nodes, animations and materials."""
    scene = Scene(source_format="ase")
    reporter = Reporter(document, scene.issues)
    palette = Palette(reporter, document, options.encoding)
    scene.materials = palette.materials
    nodes = _Nodes(document, options, scene, reporter)
    nodes.link_parents()
    world = nodes.set_rest_transforms()
    scene_block = next((block for block in document.find(Block) if block.keyword == b"SCENE"), Block())
    nodes.read_clip(scene_block)
    motion = Motion(scene)
    nodes.attach_parts(motion, world, palette)
    separate_rolls(scene, motion, world)
    read_skins(reporter, document, scene, nodes.blocks, world)
    read_declared_fields(scene.environment, scene_block, ENVIRONMENT)
    scene.title = decode_name(scene_block.name(b"SCENE_FILENAME") or b"", options.encoding)
    parts: dict[int, Hashable] = {block: ("materials", number) for block, number in palette.numbers.items()}
    for number, (node, block) in enumerate(zip(scene.nodes, nodes.blocks, strict=True)):
        if block.keyword == b"GROUP":
            continue
        record = nodes.transforms[number] if node.kind is NodeKind.TARGET else block
        parts[id(record)] = ("nodes", number)
        animation = _animation_of(node, block)
        if animation is not None:
            parts.setdefault(id(animation), ("nodes", number, "animation"))
    return scene, Links(parts, nodes.group_numbers.values(), nodes.parents_by_group, palette.places(), world)


class _Nodes:
    """The nodes of a scene and their blocks."""

    def __init__(self, document: Document, options: Options, scene: Scene, reporter: Reporter) -> None:
        self.document = document
        self.options = options
        self.scene = scene
        self.reporter = reporter
        self.blocks: list[Block] = []
        """block of each node; a target has the block of its camera or light"""
        self.transforms: list[Block | None] = []
        self.by_name: dict[bytes, int] = {}
        self.parents_by_group: dict[int, int | None] = {}
        self._group_around: dict[int, Block] = {}
        """the group around each block, by the `id` of the block"""
        self.group_numbers: dict[int, int] = {}
        """the node of each group, by the `id` of its block"""
        names = UniqueNames()
        blocks = [block for block in document.find(Block) if block.keyword in NODES or block.keyword == b"GROUP"]
        helpers = {block.name(b"NODE_NAME") for block in blocks if block.keyword == b"HELPEROBJECT"}
        for block in blocks:
            if block.keyword == b"GROUP":
                self._group_around |= {id(child): block for child in block.children if isinstance(child, Block)}
                raw = _group_name(block)
                if raw not in helpers:
                    self.group_numbers[id(block)] = self._add(block, names, raw, NodeKind.DUMMY, None)
                continue
            raw = block.name(b"NODE_NAME") or b""
            transforms = block.blocks(b"NODE_TM")
            kind = _KINDS[block.keyword]
            if kind is NodeKind.DUMMY and b"bone" in (block.name(b"HELPER_CLASS") or b"").lower():
                kind = NodeKind.BONE
            number = self._add(block, names, raw, kind, transforms[0] if transforms else None)
            if kind in (NodeKind.CAMERA, NodeKind.LIGHT) and len(transforms) > 1:
                raw = transforms[1].name(b"NODE_NAME") or raw + b".Target"
                scene.nodes[number].target = self._add(block, names, raw, NodeKind.TARGET, transforms[1])

    def _add(self, block: Block, names: UniqueNames, raw: bytes, kind: NodeKind, transform: Block | None) -> int:
        number = len(self.blocks)
        node = Node(names.claim(decode_name(raw, self.options.encoding)), kind, raw_name=raw)
        self.reporter.mark(node, "ase", block if kind is not NodeKind.TARGET or transform is None else transform)
        self.scene.nodes.append(node)
        self.blocks.append(block)
        self.transforms.append(transform)
        self.by_name.setdefault(raw, number)
        return number

    def link_parents(self) -> None:
        nodes = self.scene.nodes
        for number, (node, block) in enumerate(zip(nodes, self.blocks, strict=True)):
            if node.kind is NodeKind.TARGET:
                continue
            raw = block.name(b"NODE_PARENT")
            group = self._group_of(number, block, raw)
            if raw is None:
                node.parent = group
                if group is not None or block.keyword == b"GROUP":
                    self.parents_by_group[number] = group
                continue
            node.parent = self.by_name.get(raw) if group is None else group
            if node.parent is None:
                args: Any = {"parent": repr(decode_name(raw, self.options.encoding)), "name": repr(node.name)}
                self.reporter.report(LINK_PARENT_MISSING, block, "node_parent", **args)
        for number in evaluation_order([Node(node.name, parent=node.parent) for node in nodes]).cut:
            self.reporter.report(LINK_PARENT_CYCLE, self.blocks[number], "node_parent", name=repr(nodes[number].name))
            nodes[number].parent = None

    def _group_of(self, number: int, block: Block, name: bytes | None) -> int | None:
        """Return the node of the innermost group around a block, of that with a ``name`` if it is given."""
        group = self._group_around.get(id(block))
        while group is not None:
            group_name = _group_name(group)
            group_number = self.group_numbers.get(id(group), self.by_name.get(group_name))
            if group_number not in (None, number) and name in (None, group_name):
                return group_number
            group = self._group_around.get(id(group))
        return None

    def set_rest_transforms(self) -> Floats:
        """Set the rest transform of every node. Return the stored (N, 4, 4) world matrices.

        Scale and axes within rounding errors are 1 and the identity.
        """
        nodes = self.scene.nodes
        world = np.stack([self._world_matrix(block) for block in self.transforms]) if nodes else np.empty((0, 4, 4))
        parents = np.array([-1 if node.parent is None else node.parent for node in nodes], np.int64)
        parent_world = np.concatenate([world, np.eye(4)[None]])[parents]
        local = affine.multiply(affine.inverse(parent_world), world)
        positions, rotations, scales, axes, _ = affine.decompose_with_axes(local, ROUNDING, 1.0)
        for number, node in enumerate(nodes):
            node.position, node.rotation_xyzw = positions[number], rotations[number]
            if (np.abs(scales[number] - 1) > ROUNDING).any():
                node.scale = scales[number]
                if (axes[number] != (0, 0, 0, 1)).any():
                    node.scale_axes_xyzw = axes[number]
        return world

    def _world_matrix(self, block: Block | None) -> Floats:
        """Return the world matrix in a NODE_TM block, the identity without one; files store it for row vectors."""
        matrix = np.eye(4)
        if block is None:
            return matrix
        for row, keyword in enumerate(_ROWS):
            vector = block.vector(keyword)
            if vector is not None:
                matrix[:3, row] = vector
            elif block.get(keyword) is not None:
                self.reporter.report(DATA_NON_FINITE, block, keyword.decode().lower(), count=1, index=0)
        return matrix

    def read_clip(self, scene_block: Block) -> None:
        ticks_per_frame = scene_block.number(b"SCENE_TICKSPERFRAME", 160.0)
        rate = scene_block.number(b"SCENE_FRAMESPEED", 30.0)
        if ticks_per_frame <= 0 or rate <= 0:
            field = "scene_framespeed" if rate <= 0 else "scene_ticksperframe"
            stored = f"{rate:g} frames per second, {ticks_per_frame:g} ticks per frame"
            self.reporter.report(DATA_RATE_INVALID, scene_block, field, rate=stored)
            ticks_per_frame, rate = ticks_per_frame if ticks_per_frame > 0 else 160.0, rate if rate > 0 else 30.0
        clip = Clip(unit="tick", rate=ticks_per_frame * rate, units_per_frame=ticks_per_frame)
        clip.start = scene_block.number(b"SCENE_FIRSTFRAME", 0) * ticks_per_frame
        clip.end = scene_block.number(b"SCENE_LASTFRAME", 0) * ticks_per_frame
        self.scene.clips.append(clip)
        step = sample_step(list(self.document.find(Keys)), ticks_per_frame)
        for number, (node, block) in enumerate(zip(self.scene.nodes, self.blocks, strict=True)):
            tracks: list[Track] = []
            for keys in _keys_in(_animation_of(node, block)):
                tracks += read_tracks(self.reporter, keys, self.options.rotation_keys, clip.start, step)
            if node.kind is not NodeKind.TARGET:
                for keys in _keys_in(block.block(b"NODE_VISIBILITY_TRACK")):
                    track = visibility(self.reporter, keys)
                    tracks += [track] if track is not None else []
                    node.hidden = track is None and len(keys.times) == 1 and not float(keys.values[0, 0]) > 0
            if node.kind in (NodeKind.CAMERA, NodeKind.LIGHT):
                tracks += setting_tracks(self.reporter, block, node.kind.name)
            first_of_kind = {track.kind: track for track in reversed(tracks)}
            clip.channels += [Channel(number, track) for track in tracks if first_of_kind[track.kind] is track]

    def attach_parts(self, motion: Motion, world: Floats, palette: Palette) -> None:
        """Read the cameras, lights and meshes of all nodes."""
        scene = self.scene
        for number, (node, block) in enumerate(zip(scene.nodes, self.blocks, strict=True)):
            if node.kind is NodeKind.CAMERA:
                node.camera = len(scene.cameras)
                scene.cameras.append(self._camera(node, block))
            elif node.kind is NodeKind.LIGHT:
                node.light = len(scene.lights)
                scene.lights.append(self._light(node, block))
                if scene.lights[-1].type is LightType.OMNI:
                    node.target = None
            elif (mesh_block := block.block(b"MESH")) is not None and node.kind is not NodeKind.TARGET:
                mesh = read_mesh(self.reporter, block, mesh_block, node.name, world[number], palette)
                if mesh is not None:
                    node.mesh = len(scene.meshes)
                    scene.meshes.append(mesh)
                    self._read_morph(number, node, block, motion)

    def _camera(self, node: Node, block: Block) -> Camera:
        settings = block.block(b"CAMERA_SETTINGS") or Block()
        camera = Camera(node.name, raw_name=block.name(b"NODE_NAME"))
        read_declared_fields(camera, settings, CAMERA)
        distance = settings.number(b"CAMERA_TDIST", -1.0)
        self.reporter.mark(camera, "ase", block, {"target_distance": distance} if distance >= 0 else None)
        return camera

    def _light(self, node: Node, block: Block) -> Light:
        settings = block.block(b"LIGHT_SETTINGS") or Block()
        light = Light(node.name, LIGHT_TYPES.get(block.name(b"LIGHT_TYPE") or b"", LightType.OMNI))
        light.raw_name = block.name(b"NODE_NAME")
        read_declared_fields(light, block, LIGHT)
        cone = CONE if light.type is LightType.SPOT else ()
        read_declared_fields(light, settings, (*LIGHT_SETTINGS, *cone, *ATTENUATION))
        excluded = block.block(b"LIGHT_EXCLUDELIST")
        if excluded is not None and excluded.number(b"LIGHT_EXCLUDED_INCLUDE", 0) == 0:
            light.excludes = [decode_name(raw, self.options.encoding) for raw in excluded.names(b"LIGHT_EXCLUDED")]
        self.reporter.mark(light, "ase", block)
        return light

    def _read_morph(self, number: int, node: Node, block: Block, motion: Motion) -> None:
        """Read meshes at several times as shapes, and a track that blends from each to the next.

        Meshes with another number of vertices are left out.
        """
        animation = block.block(b"MESH_ANIMATION")
        if animation is None or node.mesh is None:
            return
        count = len(self.scene.meshes[node.mesh].positions)
        frames = [(mesh.number(b"TIMEVALUE", 0.0), table(mesh, VertexList)) for mesh in animation.blocks(b"MESH")]
        usable = [
            (time, vertices) for time, vertices in frames if vertices is not None and len(vertices.index) == count
        ]
        if len(usable) < 2:
            return
        spend("copies", len(usable) ** 2, self.reporter.path(animation))
        times = np.array([time for time, _ in usable])
        worlds = motion.world_at(number, times)
        if worlds is None:
            self.reporter.report(LIMIT_SAMPLES, animation, count=motion.requested_samples, limit=motion.most_samples)
            return
        shapes = [
            local_positions(self.reporter, vertices, world) for (_, vertices), world in zip(usable, worlds, strict=True)
        ]
        node.morph = Morph([f"{node.name} at {time:g}" for time in times], shapes)
        track = Track("morph", times, np.eye(len(times)), Interpolation.LINEAR)
        self.reporter.mark(track, "ase", animation)
        self.scene.clips[0].channels.append(Channel(number, track))


def _group_name(group: Block) -> bytes:
    return group.values[0] if group.values and isinstance(group.values[0], bytes) else b""


def _animation_of(node: Node, block: Block) -> Block | None:
    """Return the first animation with the name of the node, or else, except for targets, the first without a name."""
    names = (node.raw_name,) if node.kind is NodeKind.TARGET else (node.raw_name, None)
    animations = {animation.name(b"NODE_NAME"): animation for animation in reversed(block.blocks(b"TM_ANIMATION"))}
    return next((animations[name] for name in names if name in animations), None)


def _keys_in(block: Block | None) -> list[Keys]:
    return [] if block is None else [child for child in block.children if isinstance(child, Keys)]
