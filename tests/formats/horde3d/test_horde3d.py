"""Horde3D files: their fields, and poses compared with an evaluator that does not use our code."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import NodeKind, Severity
from keyframer.checking import check
from keyframer.formats import detect
from keyframer.formats.horde3d.document import Animation, Entity, Geometry, MorphTarget, OldEntity, Stream, Triangles
from keyframer.salvaging import salvage
from tests.building.images import encoded
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.reading.test_embedded import picture
from tests.exchange.truth import assert_valid
from tests.oracles import horde3d as oracle
from tests.oracles.gltf.sampler import Gltf
from tests.samples.horde3d.make import HERE, animation, arm_mesh, arm_scene, cut, entity, frame, morphing, old, wave

FILES = sorted(path for path in (CORPUS / "horde3d").glob("*") if path.name.endswith((".anim", ".geo", ".scene.xml")))
needs_files = pytest.mark.skipif(not FILES, reason="the corpus has no Horde3D files")


def assert_poses_match(path: Path, motion: bytes = b"", **options: object) -> None:
    """Compare a scene file, its geometry and an animation with the evaluator."""
    scene = keyframer.load(path, **options)
    model = path if path.name.endswith(".scene.xml") else Path(str(options["model"]))
    parts, frames = oracle.parts_of(model.read_bytes()), oracle.animation(motion) if motion else {}
    geometry = oracle.geometry((model.parent / os.path.basename(parts[0].attributes["geometry"])).read_bytes())
    last = max((len(rows) - 1 for rows in frames.values()), default=0)
    for number in {0, 1, last // 2, last, last + 3}:
        pose = keyframer.pose(scene, frames=[number])
        expected = np.array(oracle.world_matrices(parts, frames, number))
        assert np.abs(pose.world[0, : len(parts)] - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1.0)
        for node, (used, places) in oracle.vertices(parts, geometry, frames, number).items():
            if len(used):
                size = max(np.abs(places).max(), 1.0)
                assert np.abs(pose.vertices(node)[0] - places).max() <= 1e-6 * size


def test_an_animation_beside_its_model_plays_with_its_body(tmp_path: Path) -> None:
    (tmp_path / "arm.scene.xml").write_bytes(arm_scene())
    (tmp_path / "body.geo").write_bytes(arm_mesh())
    (tmp_path / "arm.anim").write_bytes(wave())
    assert_poses_match(tmp_path / "arm.scene.xml", wave())
    assert_poses_match(tmp_path / "arm.anim", wave(), model=tmp_path / "arm.scene.xml")
    found = keyframer.load(tmp_path / "arm.anim")
    assert [(node.name, node.kind, node.parent) for node in found.nodes] == [
        ("arm", NodeKind.DUMMY, None),
        ("upper", NodeKind.BONE, 0),
        ("lower", NodeKind.BONE, 1),
        ("ring", NodeKind.OBJECT, 2),
        ("skin", NodeKind.OBJECT, 0),
        ("skin.2", NodeKind.OBJECT, 0),
        ("lamp", NodeKind.DUMMY, 0),
    ]
    assert [node.hidden for node in found.nodes] == [False] * 5 + [True, False]
    assert [node.skin is None for node in found.nodes] == [True] * 4 + [False, False, True]
    (clip,) = found.clips
    assert (clip.rate, clip.start, clip.end) == (30.0, 0.0, 4.0)
    (issue,) = found.issues
    assert (issue.code, issue.path) == ("LINK_UNRESOLVED_NAME", "/animation/entity[3]/name")  # no node is called tail


def test_a_model_in_another_folder_is_named(tmp_path: Path) -> None:
    """The scene file has the path of the geometry in the engine's content: the file of that name beside it is read."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "arm.scene.xml").write_bytes(arm_scene())
    (tmp_path / "models" / "body.geo").write_bytes(arm_mesh())
    (tmp_path / "wave.anim").write_bytes(wave())
    scene = keyframer.load(tmp_path / "wave.anim", model=tmp_path / "models" / "arm.scene.xml", fps=24)
    assert (len(scene.meshes), scene.clips[0].rate) == (3, 24.0)
    assert len(keyframer.load(tmp_path / "models" / "arm.scene.xml").meshes) == 3


CLOTH = b"""<Material class="Cloth">
<Shader source="shaders/model.shader" />
<ShaderFlag name="_F02_NormalMapping" />
<Sampler name="normalMap" map="textures/weave.tga" allowCompression="false" />
<Sampler name="albedoMap" map="models/arm/cloth.png" />
<Uniform name="matSpecParams" a="0.5" b="0.25" c="x" d="30" />
</Material>
"""
STEEL = b'<Material><Uniform name="matDiffuseCol" a="0.25" b="0.5" c="0.75" d="0.5"/></Material>'


def write_arm(folder: Path, **materials: bytes) -> Path:
    (folder / "arm.scene.xml").write_bytes(arm_scene())
    (folder / "body.geo").write_bytes(arm_mesh())
    for name, data in materials.items():
        (folder / f"{name}.material.xml").write_bytes(data)
    return folder / "arm.scene.xml"


def test_materials_are_those_of_the_files_beside_the_scene_file(tmp_path: Path) -> None:
    """The texture and the colour; what only a shader understands is kept, and reported by formats that cannot."""
    path = write_arm(tmp_path, cloth=CLOTH, steel=STEEL)
    (tmp_path / "arm.anim").write_bytes(wave())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "wave.anim").write_bytes(wave())
    scenes = [keyframer.load(path), keyframer.load(tmp_path / "arm.anim")]
    scenes.append(keyframer.load(tmp_path / "elsewhere" / "wave.anim", model=path))
    for scene in scenes:
        steel, cloth = scene.materials
        assert (steel.name, steel.diffuse, steel.maps) == ("steel", (0.25, 0.5, 0.75), {})
        assert steel.extras["horde3d"]["alpha"] == 0.5
        assert (cloth.name, cloth.diffuse) == ("cloth", (1.0, 1.0, 1.0))
        assert {slot: texture.file_name for slot, texture in cloth.maps.items()} == {"texture1": "models/arm/cloth.png"}
        kept = cloth.extras["horde3d"]
        assert (kept["shader"], kept["shader_flags"]) == ("shaders/model.shader", ["_F02_NormalMapping"])
        assert (kept["samplers"], kept["class"]) == ({"normalMap": "textures/weave.tga"}, "Cloth")
        assert kept["uniforms"] == {"matSpecParams": [0.5, 0.25, 0.0, 30.0]}
        assert "link" not in kept
    dropped = {loss.path for loss in keyframer.save(scenes[0], tmp_path / "arm.3ds")}
    assert {f"/materials/{name}" for name in ("alpha", "samplers", "shader", "shader_flags", "uniforms")} <= dropped


def test_images_of_materials_are_found_in_the_content_of_the_engine(tmp_path: Path) -> None:
    path = write_arm(tmp_path, cloth=CLOTH)
    (tmp_path / "content" / "models" / "arm").mkdir(parents=True)
    (tmp_path / "content" / "models" / "arm" / "cloth.png").write_bytes(encoded(picture((2, 2))))
    keyframer.save(keyframer.load(path), tmp_path / "arm.glb", texture_path=tmp_path / "content")
    assert len(Gltf((tmp_path / "arm.glb").read_bytes()).json["images"]) == 1


def test_files_with_names_longer_than_systems_allow_are_missing(tmp_path: Path) -> None:
    scene_file = write_arm(tmp_path)
    for name in (b"content/cloth.material.xml", b"content/body.geo"):
        folder, _, ending = name.partition(b"/")
        scene_file.write_bytes(arm_scene().replace(name, folder + b"/" + b"x" * 400 + ending))
        assert keyframer.load(scene_file).nodes


@pytest.mark.parametrize("data", [b"<Material", b"<Model />", b"", b"\xff\xfe", CLOTH[:-4]])
def test_material_files_that_cannot_be_read_are_reported(tmp_path: Path, data: bytes) -> None:
    scene = keyframer.load(write_arm(tmp_path, cloth=data))
    assert [material.diffuse for material in scene.materials] == [(1.0, 1.0, 1.0)] * 2
    (issue,) = scene.issues
    assert (issue.code, issue.severity) == ("STRUCT_SYNTAX", Severity.WARNING)
    assert "cloth.material.xml" in issue.path


def test_a_skinned_mesh_with_a_transform_of_its_own_is_moved_after_its_joints(tmp_path: Path) -> None:
    text = arm_scene().replace(b'<Mesh name="skin" material', b'<Mesh name="skin" tx="7" ry="90" material')
    (tmp_path / "arm.scene.xml").write_bytes(text)
    (tmp_path / "body.geo").write_bytes(arm_mesh())
    (tmp_path / "arm.anim").write_bytes(wave().replace(b"skin", b"body"))
    assert_poses_match(tmp_path / "arm.scene.xml", wave().replace(b"skin", b"body"))


def test_an_animation_alone_shows_its_entities_side_by_side() -> None:
    scene = keyframer.load(wave())
    assert [(node.name, node.parent) for node in scene.nodes] == [(n, None) for n in ("upper", "lower", "skin", "tail")]
    (issue,) = scene.issues
    assert (issue.code, issue.severity) == ("SCENE_NO_HIERARCHY", Severity.INFO)
    frames = oracle.animation(wave())
    for number in (0, 2, 4):
        expected = [oracle.of_frame(rows[min(number, len(rows) - 1)]) for rows in frames.values()]
        assert np.allclose(keyframer.pose(scene, frames=[number]).world[0], expected, atol=1e-6)


def test_names_end_at_their_nul() -> None:
    """Programs leave whatever was in memory after it: three of the first six real files have random bytes there."""
    scene = keyframer.load(old())
    assert [node.name for node in scene.nodes] == ["Cube", "Plane"]
    assert np.allclose(keyframer.pose(scene, frames=[1]).world[0, 1, :3, 3], (1, 2, 3))


def test_geometry_alone_has_its_joints_in_bind_pose() -> None:
    scene = keyframer.load(arm_mesh())
    assert [(node.name, node.parent) for node in scene.nodes] == [("mesh", None), ("joint1", None), ("joint2", None)]
    assert scene.nodes[2].position.tolist() == [0, 3, 0]
    assert len(scene.meshes[0].corners) == 3
    assert np.allclose(keyframer.pose(scene, frames=[0]).vertices(0)[0], scene.meshes[0].positions)
    assert scene.meshes[0].normals is not None
    assert scene.meshes[0].uv2 is None  # all zeros
    assert "SCENE_NO_HIERARCHY" in [issue.code for issue in scene.issues]


def test_morph_targets() -> None:
    scene = keyframer.load(morphing())
    morph = scene.nodes[0].morph
    assert morph is not None
    assert morph.names == ["smile"]
    difference = morph.positions[0] - scene.meshes[0].positions
    assert difference.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0.5, 0]]
    codes = [(issue.code, issue.path) for issue in check(morphing()).issues]
    assert codes == [
        ("DATA_OUT_OF_RANGE", "/geometry/stream[1]/element_size"),
        ("DATA_OUT_OF_RANGE", "/geometry/stream[2]/kind"),
        ("DATA_OUT_OF_RANGE", "/geometry/morphtarget[0]/morphstream[2]/element_size"),
    ]
    assert scene.meshes[0].normals is None


def test_fields() -> None:
    document = keyframer.decode(wave())
    header, entities = document.first(Animation), list(document.find(Entity))
    assert header is not None
    assert (header.version, header.entity_count, header.frame_count) == (3, 4, 5)
    assert [len(found.frames) for found in entities] == [1, 5, 1, 5]
    document.records[0].children.pop()
    assert struct.unpack_from("<3I", keyframer.encode(document), 4) == (3, 3, 5)
    assert len(list(keyframer.decode(old()).find(OldEntity))) == 2
    geometry = keyframer.decode(arm_mesh())
    assert [stream.kind for stream in geometry.find(Stream)] == list(range(8))
    triangles, top = geometry.first(Triangles), geometry.first(Geometry)
    assert triangles is not None
    assert top is not None
    assert (top.vertex_count, triangles.corner_count, triangles.target_count) == (7, 9, 0)
    triangles.corners = triangles.corners[:3]
    again = keyframer.decode(keyframer.encode(geometry)).first(Triangles)
    assert again is not None
    assert (again.corner_count, again.corners.tolist()) == (3, [0, 1, 2])
    target = keyframer.decode(morphing()).first(MorphTarget)
    assert target is not None
    assert target.vertices.tolist() == [0, 2]


def test_frames_of_other_length_are_refused() -> None:
    document = keyframer.decode(wave())
    lower = list(document.find(Entity))[1]
    lower.frames = lower.frames[:3]
    with pytest.raises(ValueError, match="different numbers of frames"):
        keyframer.encode(document)


def test_broken_indices_are_located_and_left_out_when_salvaged(tmp_path: Path) -> None:
    data = bytearray(arm_mesh())
    at = data.rindex(struct.pack("<3I", 4, 5, 6))
    data[at : at + 4] = struct.pack("<I", 99)
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.load(bytes(data))
    assert (caught.value.code, caught.value.path) == ("LINK_INDEX_OUT_OF_RANGE", "/geometry/triangles/corners[2]")
    (tmp_path / "broken.geo").write_bytes(data)
    clean = salvage(tmp_path / "broken.geo").data
    assert len(keyframer.load(clean).meshes[0].corners) == 2


def test_whole_entities_of_a_cut_file_are_kept() -> None:
    assert [node.name for node in keyframer.load(cut(), salvage=True).nodes] == ["upper", "lower"]


@pytest.mark.parametrize(
    ("old_text", "new_text", "code", "path"),
    [
        (b'ty="1"', b'ty="one"', "STRUCT_SYNTAX", "/scenegraph/Model/Joint[0]/@ty"),
        (b'batchCount="6"', b'primType="LineList" batchCount="6"', "DATA_OUT_OF_RANGE", "/scenegraph"),
        (b"body.geo", b"nobody.geo", "LINK_UNRESOLVED_NAME", "/scenegraph"),
    ],
)
def test_odd_scene_files(tmp_path: Path, old_text: bytes, new_text: bytes, code: str, path: str) -> None:
    (tmp_path / "arm.scene.xml").write_bytes(arm_scene().replace(old_text, new_text))
    (tmp_path / "body.geo").write_bytes(arm_mesh())
    (issue,) = keyframer.load(tmp_path / "arm.scene.xml").issues
    assert (issue.code, issue.path, issue.severity) == (code, path, Severity.WARNING)


def test_a_scene_file_that_is_no_xml_is_kept_and_refused() -> None:
    data = arm_scene()[:-9]
    assert keyframer.encode(keyframer.decode(data)) == data
    with pytest.raises(keyframer.FormatError, match="expected well-formed XML"):
        keyframer.load(data)


def test_a_model_of_other_names_is_ignored_if_it_was_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "arm.scene.xml").write_bytes(arm_scene())
    other = animation(3, 1, entity("Hips", frame()))
    (tmp_path / "arm.anim").write_bytes(other)
    (issue,) = [found for found in keyframer.load(tmp_path / "arm.anim").issues if "SKELETON" in found.code]
    assert issue.severity is Severity.WARNING
    with pytest.raises(keyframer.FormatError, match="has the name of an entity"):
        keyframer.load(other, model=tmp_path / "arm.scene.xml")


def test_hale3d_and_horde3d_share_four_bytes(tmp_path: Path) -> None:
    """Hale3D has version 1: its pairs are still found beside files of Horde3D."""
    samples = HERE.parent / "hale3d"
    shutil.copy(samples / "wave-nul-ended.anim", tmp_path / "arm.anim")
    shutil.copy(samples / "arm-nul-ended.mdl", tmp_path / "arm.mdl")
    (tmp_path / "arm.scene.xml").write_bytes(arm_scene())
    (tmp_path / "body.geo").write_bytes(arm_mesh())
    scene = keyframer.load(tmp_path / "arm.anim")
    assert (scene.source_format, len(scene.meshes)) == ("hale3d", 2)
    scene = keyframer.load(tmp_path / "arm.scene.xml")
    assert (scene.source_format, scene.clips, len(scene.issues)) == ("horde3d", [], 0)


@needs_corpus
@needs_files
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_are_lossless_clean_and_posed_as_the_evaluator_says(path: Path) -> None:
    data = path.read_bytes()
    detection = detect(data, name=path.name)
    assert detection.format is not None
    assert (detection.format.name, detection.score >= 0.95) == ("horde3d", True)
    assert keyframer.encode(keyframer.decode(data)) == data
    assert check(path).verdict == "clean"
    if path.name.endswith(".anim"):
        scene, frames = keyframer.load(data), oracle.animation(data)
        last = max(map(len, frames.values())) - 1
        for number in {0, last // 2, last}:
            expected = np.array([oracle.of_frame(rows[min(number, len(rows) - 1)]) for rows in frames.values()])
            world = keyframer.pose(scene, frames=[number]).world[0]
            assert np.abs(world - expected).max() <= 1e-6 * max(np.abs(expected).max(), 1.0)
    elif path.name.endswith(".scene.xml") and keyframer.load(path).meshes:
        assert_poses_match(path)


@needs_corpus
@needs_files
def test_real_files_are_valid_as_gltf(tmp_path: Path) -> None:
    outputs = [tmp_path / f"{path.name}.glb" for path in FILES]
    for path, output in zip(FILES, outputs, strict=True):
        keyframer.save(keyframer.load(path), output)
    assert_valid(outputs)


def test_samples_are_valid_as_gltf(tmp_path: Path) -> None:
    names = ("arm.scene.xml", "arm_mesh.geo", "wave.anim", "old.anim", "morphing.geo")
    for name in names:
        keyframer.save(keyframer.load(HERE / name), tmp_path / f"{name}.glb")
    assert_valid([tmp_path / f"{name}.glb" for name in names])
