"""Read skins that some exporters add: as weights inside a mesh, or as a separate block."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import LINK_COUNT_MISMATCH, LINK_UNRESOLVED_NAME
from keyframer.formats.ase.records import Block, Line, SoftSkin
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import shown
from keyframer.formats.kit.scene_reading import Reporter, check_weights
from keyframer.maths import affine
from keyframer.scene import NodeKind, Scene, Skin
from keyframer.wire.record import Record

Influence = tuple[int, bytes, float]


def read_skins(reporter: Reporter, document: Document, scene: Scene, blocks: list[Block], world: Floats) -> None:
    """Set the skins of nodes; bones are found by name."""
    numbers: dict[bytes, int] = {}
    for number, node in enumerate(scene.nodes):
        numbers.setdefault(node.raw_name or b"", number)
    for number, (node, block) in enumerate(zip(scene.nodes, blocks, strict=True)):
        mesh = block.block(b"MESH") if node.mesh is not None else None
        weights = mesh.block(b"MESH_WEIGHTS") if mesh is not None else None
        if weights is not None:
            _attach(reporter, scene, number, weights, _read_influences(weights), numbers, world)
    for record in document.find(SoftSkin):
        name = record.names[0] if record.names and isinstance(record.names[0], bytes) else b""
        owner = numbers.get(name)
        if owner is None or scene.nodes[owner].mesh is None:
            reporter.report(LINK_UNRESOLVED_NAME, record, "names", kind="mesh", name=shown(name))
            continue
        vertices = np.repeat(np.arange(len(record.counts)), np.asarray(record.counts)).tolist()
        bones = [bone if isinstance(bone, bytes) else b"" for bone in record.names[1:]]
        influences = list(zip(vertices, bones, np.asarray(record.weights).tolist(), strict=True))
        _attach(reporter, scene, owner, record, influences, numbers, world)


def _read_influences(weights: Block) -> list[Influence]:
    """Return the influences in a MESH_WEIGHTS block; bone -1 marks a vertex without bones."""
    names: dict[int, bytes] = {}
    for line in _lines(weights.block(b"MESH_BONE_LIST")):
        number, *texts = line.values
        if isinstance(number, int) and texts and isinstance(texts[0], bytes):
            names.setdefault(number, texts[0])
    influences: list[Influence] = []
    for line in _lines(weights.block(b"MESH_BONE_VERTEX_LIST")):
        vertex, pairs = line.values[0], line.values[4:]
        for bone, weight in zip(pairs[::2], pairs[1::2], strict=False):
            is_bone = isinstance(bone, float) and bone >= 0 and bone.is_integer()
            if isinstance(vertex, int) and isinstance(weight, float) and is_bone:
                influences.append((vertex, names.get(int(bone), b"?"), weight))
    return influences


def _lines(block: Block | None) -> list[Line]:
    return [] if block is None else [child for child in block.children if isinstance(child, Line) and child.values]


def _attach(
    reporter: Reporter,
    scene: Scene,
    owner: int,
    record: Record,
    influences: list[Influence],
    numbers: dict[bytes, int],
    world: Floats,
) -> None:
    """Add influences as a skin to the node ``owner``, unless it has one; dummies that it uses become bones.

    ``numbers`` has the number of each node, by its stored name.
    """
    node = scene.nodes[owner]
    assert node.mesh is not None
    mesh = scene.meshes[node.mesh]
    count = len(mesh.positions)
    outside = sum(not 0 <= vertex < count for vertex, _, _ in influences)
    if outside:
        last = max(vertex for vertex, _, _ in influences)
        reporter.report(LINK_COUNT_MISMATCH, record, claimed=count, found=last + 1, what="vertices of a skin")
    for bone in dict.fromkeys(bone for _, bone, _ in influences if bone not in numbers):
        reporter.report(LINK_UNRESOLVED_NAME, record, kind="bone", name=shown(bone))
    usable = sorted(
        (
            influence
            for influence in influences
            if 0 <= influence[0] < count and influence[1] in numbers and np.isfinite(influence[2])
        ),
        key=lambda influence: influence[0],
    )
    if not usable or node.skin is not None:
        return
    joints = list(dict.fromkeys(numbers[bone] for _, bone, _ in usable))
    index_of_joint = {joint: index for index, joint in enumerate(joints)}
    vertices = np.array([vertex for vertex, _, _ in usable])
    weights = np.array([weight for _, _, weight in usable])
    check_weights(reporter, record, "", vertices, weights, count)
    bind = affine.multiply(affine.inverse(world[np.array(joints)]), world[owner])
    bones = np.array([index_of_joint[numbers[bone]] for _, bone, _ in usable])
    skin = Skin(node.name, joints, bind, vertices, bones, weights)
    skin.rigid = bool(len(vertices) == len(np.unique(vertices)) and (weights == 1).all())
    skin.extras["ase"] = reporter.location_of(record)
    node.skin = len(scene.skins)
    scene.skins.append(skin)
    for joint in joints:
        if scene.nodes[joint].kind is NodeKind.DUMMY:
            scene.nodes[joint].kind = NodeKind.BONE
