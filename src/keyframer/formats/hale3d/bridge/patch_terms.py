"""A changed scene as a Hale3D pair would say it: a value and a box for every frame, a material for every mesh."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from keyframer.formats._unheld import NO_SURROUNDINGS, NO_TEXT
from keyframer.formats.hale3d.bridge.writing import boxes_at
from keyframer.formats.kit.frame_times import framed
from keyframer.formats.kit.scene_writing import Unpatchable, frames_per_second
from keyframer.formats.kit.skin_writing import with_moved_vertices
from keyframer.scene import Material, Mesh, Scene, Skin
from keyframer.scene.loss_report import LossReport, Outcome

NO_PLACE = (
    *NO_TEXT,
    *NO_SURROUNDINGS,
    ("nodes", "*", "hidden"),
    ("nodes", "*", "pivot"),
    ("clips", "*", "start"),
    *(
        ("meshes", "*", name)
        for name in ("colors", "color_corners", "axes", "casts_shadows", "receives_shadows", "dynamic")
    ),
    *(("materials", "*", item.name) for item in fields(Material) if item.name not in ("name", "maps")),
)
"""what neither of the two files says"""


def in_its_terms(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene with a value and a box for every frame; an animation without frames stays so."""
    boxes = before.clips[0].bounds if before.clips else None
    if not scene.clips or boxes is None or not len(boxes):
        return scene
    scene = framed(scene, max(round(frames_per_second(scene.clips[0])), 1), report)
    clip, frames = scene.clips[0], int(scene.clips[0].end) + 1
    if clip.bounds is not None and len(clip.bounds) == frames:
        return scene
    report.add(Outcome.BAKED, "/clips/bounds", "boxes were computed anew")
    made = boxes_at(scene, np.arange(frames, dtype=np.float64))
    return replace(scene, clips=[replace(clip, bounds=made), *scene.clips[1:]])


def in_its_order(scene: Scene, stored: Scene, report: LossReport) -> Scene:
    """The scene with skins that list all joints, and meshes that are smooth and have a material each."""
    if len(scene.skins) != len(stored.skins) or len(scene.meshes) != len(stored.meshes):
        return scene
    skins = [_on_all_joints(skin, known) for skin, known in zip(scene.skins, stored.skins, strict=True)]
    meshes, materials = [], list(scene.materials)
    for number, mesh in enumerate(scene.meshes):
        owner = _owner(mesh, number)
        if 0 <= owner < len(scene.materials) and number < len(materials):
            materials[number] = scene.materials[owner]
        own = np.full(len(mesh.corners), number, np.int32)
        smooth = np.ones(len(mesh.corners), np.uint32)
        if mesh.smoothing is not None and not np.array_equal(mesh.smoothing, smooth):
            report.add(Outcome.DROPPED, f"/meshes/{number}/smoothing", "meshes are smooth throughout")
        meshes.append(replace(mesh, smoothing=smooth, face_materials=own, edges=stored.meshes[number].edges))
    made = replace(scene, skins=skins, meshes=meshes, materials=materials)
    return with_moved_vertices(made, stored)


def _owner(mesh: Mesh, number: int) -> int:
    """The material of a mesh."""
    if mesh.face_materials is None or not len(mesh.face_materials):
        return number
    owners = np.unique(np.asarray(mesh.face_materials))
    if len(owners) > 1:
        raise Unpatchable("a mesh of several materials")
    return int(owners[0])


def _on_all_joints(skin: Skin, known: Skin) -> Skin:
    """A skin that lists the joints that another one lists; itself where one of its own is not among them."""
    place = {joint: number for number, joint in enumerate(known.joints)}
    if skin.joints == known.joints or not set(skin.joints) <= set(place):
        return skin
    chosen = np.array([place[joint] for joint in skin.joints], np.int64)
    inverse = np.array(known.inverse_bind)
    inverse[chosen] = skin.inverse_bind
    influences = chosen[np.asarray(skin.influences, np.int64)]
    return replace(skin, joints=list(known.joints), inverse_bind=inverse, influences=influences)
