"""Read a scene from an ASE document."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

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
from keyframer.formats.ase.bridge import skins
from keyframer.formats.ase.bridge.cameras_lights import read_camera, read_light, setting_tracks
from keyframer.formats.ase.bridge.declared_fields import ENVIRONMENT
from keyframer.formats.ase.bridge.materials import Palette
from keyframer.formats.ase.bridge.object_meshes import local_positions, read_mesh, table
from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.target_roll import Motion, aim
from keyframer.formats.ase.bridge.tracks import read_tracks, sample_step, visibility
from keyframer.formats.ase.keywords import NODES
from keyframer.formats.ase.records import Block, Keys, VertexList
from keyframer.formats.document import Document
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.merging import Parts
from keyframer.limits import spend
from keyframer.maths import affine
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Channel, Clip, LightType, Morph, Node, NodeKind, Scene
from keyframer.text import decode_name

_KINDS = {
    b"GEOMOBJECT": NodeKind.OBJECT,
    b"SHAPEOBJECT": NodeKind.DUMMY,
    b"HELPEROBJECT": NodeKind.DUMMY,
    b"CAMERAOBJECT": NodeKind.CAMERA,
    b"LIGHTOBJECT": NodeKind.LIGHT,
}
_ROWS = (b"TM_ROW0", b"TM_ROW1", b"TM_ROW2", b"TM_ROW3")
_ROUNDING = 1e-3
"""files have 4 decimals: scales this close to 1 are 1, and shear below this is 0"""


class Links(NamedTuple):
    """Data of a document that a merge needs."""

    parts: Parts
    materials: Mapping[int, tuple[int, int]]
    """for each material the number in MATERIAL_REF and the id of a face that select it"""
    world: Floats
    """(N, 4, 4) stored matrices of nodes"""


def read_scene(document: Document, options: Options) -> tuple[Scene, Links]:
    """Return the scene of a document, and links to the records of its nodes, animations and materials."""
    scene = Scene(source_format="ase")
    builder = _Builder(document, options, scene)
    builder.build()
    parts: dict[int, Hashable] = {block: ("materials", number) for block, number in builder.palette.numbers.items()}
    for number, (node, block) in enumerate(zip(scene.nodes, builder.blocks, strict=True)):
        record = builder.transforms[number] if node.kind is NodeKind.TARGET else block
        parts[id(record)] = ("nodes", number)
        for animation in builder.animations_of(node, block):
            parts.setdefault(id(animation), ("nodes", number, "animation"))
    return scene, Links(parts, builder.palette.places(), builder.world)


class _Builder:
    """Builds the scene of one document."""

    def __init__(self, document: Document, options: Options, scene: Scene) -> None:
        self.document = document
        self.options = options
        self.scene = scene
        self.reporter = Reporter(document, scene.issues)
        self.palette = Palette(self.reporter, options.encoding)
        self.blocks: list[Block] = []
        """block of each node; a target has the block of its camera or light"""
        self.transforms: list[Block | None] = []
        self.by_name: dict[bytes, int] = {}
        self.world: Floats = np.empty((0, 4, 4))

    def build(self) -> None:
        blocks = [block for block in self.document.find(Block) if block.keyword in NODES]
        lists = [block for block in self.document.find(Block) if block.keyword == b"MATERIAL_LIST"]
        self.palette.read([material for material_list in lists for material in material_list.blocks(b"MATERIAL")])
        self.scene.materials = self.palette.materials
        self._add_nodes(blocks)
        self._link_parents()
        self._set_rest_transforms()
        self._read_clip()
        motion = Motion(self.scene)
        self._attach_parts(motion)
        aim(self.scene, motion, self.world)
        skins.read_skins(self.reporter, self.document, self.scene, self.blocks, self.world)
        self._read_environment()

    def _text(self, raw: bytes) -> str:
        return decode_name(raw, self.options.encoding)

    def _add_nodes(self, blocks: list[Block]) -> None:
        names = UniqueNames()
        for block in blocks:
            raw = block.name(b"NODE_NAME") or b""
            transforms = block.blocks(b"NODE_TM")
            kind = _KINDS[block.keyword]
            if kind is NodeKind.DUMMY and b"bone" in (block.name(b"HELPER_CLASS") or b"").lower():
                kind = NodeKind.BONE
            number = self._add_node(block, names, raw, kind, transforms[0] if transforms else None)
            self.by_name.setdefault(raw, number)
            if kind in (NodeKind.CAMERA, NodeKind.LIGHT) and len(transforms) > 1:
                raw = transforms[1].name(b"NODE_NAME") or raw + b".Target"
                target = self._add_node(block, names, raw, NodeKind.TARGET, transforms[1])
                self.scene.nodes[number].target = target
                self.by_name.setdefault(raw, target)

    def _add_node(self, block: Block, names: UniqueNames, raw: bytes, kind: NodeKind, transform: Block | None) -> int:
        node = Node(names.claim(self._text(raw)), kind, raw_name=raw)
        self.reporter.mark(node, "ase", block if kind is not NodeKind.TARGET or transform is None else transform)
        self.scene.nodes.append(node)
        self.blocks.append(block)
        self.transforms.append(transform)
        return len(self.blocks) - 1

    def _link_parents(self) -> None:
        nodes = self.scene.nodes
        for node, block in zip(nodes, self.blocks, strict=True):
            raw = block.name(b"NODE_PARENT")
            if raw is None or node.kind is NodeKind.TARGET:
                continue
            node.parent = self.by_name.get(raw)
            if node.parent is None:
                parent, name = repr(self._text(raw)), repr(node.name)
                self.reporter.report(LINK_PARENT_MISSING, block, "node_parent", parent=parent, name=name)
        for number in evaluation_order([Node(node.name, parent=node.parent) for node in nodes]).cut:
            self.reporter.report(LINK_PARENT_CYCLE, self.blocks[number], "node_parent", name=repr(nodes[number].name))
            nodes[number].parent = None

    def _set_rest_transforms(self) -> None:
        """Set the rest transform of every node; files store world matrices."""
        nodes = self.scene.nodes
        self.world = np.stack([self._world_matrix(block) for block in self.transforms]) if nodes else self.world
        parents = np.array([-1 if node.parent is None else node.parent for node in nodes], np.int64)
        parent_world = np.concatenate([self.world, np.eye(4)[None]])[parents]
        local = affine.multiply(affine.inverse(parent_world), self.world)
        for node, parts in zip(nodes, zip(*_decompose(local), strict=True), strict=True):
            position, rotation, scale, axes = parts
            node.position, node.rotation_xyzw = position, rotation
            if (scale != 1).any():
                node.scale = scale
                if (axes != (0, 0, 0, 1)).any():
                    node.scale_axes_xyzw = axes

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

    def _read_clip(self) -> None:
        scene_block = next((block for block in self.document.find(Block) if block.keyword == b"SCENE"), Block())
        ticks_per_frame = scene_block.number(b"SCENE_TICKSPERFRAME", 160.0)
        rate = scene_block.number(b"SCENE_FRAMESPEED", 30.0)
        if ticks_per_frame <= 0 or rate <= 0:
            field = "scene_framespeed" if rate <= 0 else "scene_ticksperframe"
            stored = f"{rate:g} frames per second, {ticks_per_frame:g} ticks per frame"
            self.reporter.report(DATA_RATE_INVALID, scene_block, field, rate=stored)
            ticks_per_frame, rate = ticks_per_frame if ticks_per_frame > 0 else 160.0, rate if rate > 0 else 30.0
        clip = Clip(unit="tick", rate=ticks_per_frame * rate, units_per_frame=ticks_per_frame)
        clip.start, clip.end = (
            scene_block.number(b"SCENE_FIRSTFRAME", 0) * ticks_per_frame,
            scene_block.number(b"SCENE_LASTFRAME", 0) * ticks_per_frame,
        )
        self.scene.clips.append(clip)
        step = sample_step(list(self.document.find(Keys)), ticks_per_frame)
        for number, (node, block) in enumerate(zip(self.scene.nodes, self.blocks, strict=True)):
            tracks = self._transform_tracks(node, block, clip.start, step)
            if node.kind is not NodeKind.TARGET:
                visibility_block = block.block(b"NODE_VISIBILITY_TRACK") or Block()
                for keys in (child for child in visibility_block.children if isinstance(child, Keys)):
                    track = visibility(self.reporter, keys)
                    tracks += [track] if track is not None else []
                    node.hidden = track is None and len(keys.times) == 1 and not float(keys.values[0, 0]) > 0
                if node.kind in (NodeKind.CAMERA, NodeKind.LIGHT):
                    tracks += setting_tracks(self.reporter, block, node.kind is NodeKind.CAMERA)
            clip.channels += [Channel(number, track) for track in _first_of_kind(tracks)]

    @staticmethod
    def animations_of(node: Node, block: Block) -> list[Block]:
        """Return at most one animation: the first with the name of the node, or else, except for targets, the first
        without a name.
        """
        animations = block.blocks(b"TM_ANIMATION")
        named = [animation for animation in animations if animation.name(b"NODE_NAME") == node.raw_name]
        if not named and node.kind is not NodeKind.TARGET:
            named = [animation for animation in animations if animation.name(b"NODE_NAME") is None]
        return named[:1]

    def _transform_tracks(self, node: Node, block: Block, start: float, step: float) -> list[Track]:
        tracks: list[Track] = []
        for animation in self.animations_of(node, block):
            for keys in animation.children:
                if isinstance(keys, Keys):
                    tracks += read_tracks(self.reporter, keys, self.options, start, step)
        return tracks

    def _attach_parts(self, motion: Motion) -> None:
        scene = self.scene
        for number, (node, block) in enumerate(zip(scene.nodes, self.blocks, strict=True)):
            if node.kind is NodeKind.CAMERA:
                node.camera = len(scene.cameras)
                scene.cameras.append(read_camera(self.reporter, block, node.name))
            elif node.kind is NodeKind.LIGHT:
                node.light = len(scene.lights)
                light = read_light(self.reporter, block, node.name, self.options.encoding)
                scene.lights.append(light)
                if light.type is LightType.OMNI:
                    node.target = None
            elif (mesh_block := block.block(b"MESH")) is not None and node.kind is not NodeKind.TARGET:
                mesh = read_mesh(self.reporter, block, mesh_block, node.name, self.world[number], self.palette)
                if mesh is not None:
                    node.mesh = len(scene.meshes)
                    scene.meshes.append(mesh)
                    self._read_morph(number, node, block, motion)

    def _read_morph(self, number: int, node: Node, block: Block, motion: Motion) -> None:
        """Read meshes at several times as shapes, and a track that blends from each to the next.

        Meshes with another number of vertices are left out.
        """
        animation = block.block(b"MESH_ANIMATION")
        if animation is None or node.mesh is None:
            return
        count = len(self.scene.meshes[node.mesh].positions)
        frames = [
            (mesh_block.number(b"TIMEVALUE", 0.0), table(mesh_block, VertexList))
            for mesh_block in animation.blocks(b"MESH")
        ]
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

    def _read_environment(self) -> None:
        for block in self.document.find(Block):
            if block.keyword != b"SCENE":
                continue
            environment = self.scene.environment
            read_declared_fields(environment, block, ENVIRONMENT)
            self.scene.title = self._text(block.name(b"SCENE_FILENAME") or b"")
            break


def _first_of_kind(tracks: list[Track]) -> list[Track]:
    kinds: dict[str, Track] = {}
    for track in tracks:
        kinds.setdefault(track.kind, track)
    return list(kinds.values())


def _decompose(local: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return positions, rotations, scales and scale axes of matrices with four decimals.

    Scale and axes within rounding errors are set to 1 and to the identity.
    """
    position, rotation, scale, axes, _ = affine.decompose_with_axes(local, _ROUNDING, 1.0)
    unscaled = np.all(np.abs(scale - 1) <= _ROUNDING, axis=-1, keepdims=True)
    return position, rotation, np.where(unscaled, 1.0, scale), axes
