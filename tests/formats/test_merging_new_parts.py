"""What merged files say of parts that are new, of what a format cannot hold, and of files that hold next to nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats import format_by_name
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Channel, Material, Mesh, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import put, why_anew
from tests.samples import FOLDER


def loaded(name: str) -> Scene:
    path = FOLDER / name
    return scene_of(keyframer.decode(path.read_bytes(), format=Path(name).parts[0]))


def written(scene: Scene) -> Written:
    return format_by_name(str(scene.source_format)).from_scene(scene)


def dropped(found: Written) -> list[str]:
    return [loss.path for loss in found.report.of(Outcome.DROPPED)]


def again(found: Written) -> Scene:
    data = keyframer.encode(found.document)
    return scene_of(keyframer.decode(data, format=found.document.format.name), dict(found.reading))


def new_material(scene: Scene) -> None:
    scene.materials.append(Material("fresh", diffuse=(1.0, 0.0, 0.0), shininess=0.5))


NEW_MATERIALS = {
    "3ds/windmill.3ds": [],
    "ase/textured.ase": [],
    "uto3d/maxscript.u3d": ["/materials/diffuse", "/materials/shininess"],
    "midtown/retail.anim": ["/materials"],
    "nodeanim/default_mixed.nanim": ["/materials"],
}


@pytest.mark.parametrize("name", NEW_MATERIALS)
def test_what_is_lost_of_a_new_material_is_told(name: str) -> None:
    scene = loaded(name)
    new_material(scene)
    found = written(scene)
    assert why_anew(found) == []
    assert dropped(found) == NEW_MATERIALS[name]
    added = "/materials/fresh" in [loss.path for loss in found.report.of(Outcome.EXACT)]
    assert added is (dropped(found) != ["/materials"])
    assert ("fresh" in [material.name for material in again(found).materials]) is added


def test_a_material_that_no_mesh_shows_any_more_is_told() -> None:
    """Hale3D has materials as names in meshes."""
    scene = loaded("hale3d/arm-length.mdl")
    gone = next(number for number, node in enumerate(scene.nodes) if node.mesh == 1)
    scene.nodes.pop(gone)
    scene.meshes.pop(1)
    scene.skins.pop(1)
    found = written(scene)
    assert why_anew(found) == []
    assert dropped(found) == [f"/materials/{scene.materials[1].name}"]


def test_a_material_whose_mesh_gets_another_one_is_told() -> None:
    scene = loaded("hale3d/arm-length.mdl")
    scene.meshes[0].face_materials = np.ones(len(scene.meshes[0].corners), np.int32)
    found = written(scene)
    assert why_anew(found) == []
    assert [material.name for material in again(found).materials] == [scene.materials[1].name] * 2
    assert dropped(found) == [f"/materials/{scene.materials[0].name}"]


def test_a_material_that_a_mesh_goes_on_to_show_is_told() -> None:
    scene = loaded("hale3d/arm-length.mdl")
    name = scene.materials.pop(0).name
    scene.meshes[0].face_materials = np.full(len(scene.meshes[0].corners), -1, np.int32)
    scene.meshes[1].face_materials = np.zeros(len(scene.meshes[1].corners), np.int32)
    found = written(scene)
    assert why_anew(found) == []
    assert name in [material.name for material in again(found).materials]
    assert dropped(found) == [f"/materials/{name}"]


@pytest.mark.parametrize("name", ["3ds/windmill.3ds", "uto3d/maxscript.u3d", "ase/textured.ase"])
def test_a_new_mesh_is_not_told_as_one_that_no_node_shows(name: str) -> None:
    scene = loaded(name)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=len(scene.meshes)))
    scene.meshes.append(Mesh("flag", np.eye(3), np.array([[0, 1, 2]], np.int32)))
    found = written(scene)
    assert why_anew(found) == []
    assert dropped(found) == []


UNHELD: dict[str, Callable[[Scene], None]] = {
    "uto3d/empty.u3d": put(lambda scene: scene, title="Something"),
    "nodeanim/default_empty_clip.nanim": put(lambda scene: scene.environment, ambient=(1.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", UNHELD)
def test_files_of_which_no_new_one_could_be_written_stay(name: str) -> None:
    scene = loaded(name)
    UNHELD[name](scene)
    found = written(scene)
    assert keyframer.encode(found.document) == (FOLDER / name).read_bytes()
    assert len(dropped(found)) == 1


def test_a_dummy_where_only_an_editor_is() -> None:
    """A new file has a place for it, so that is no reason to drop it."""
    scene = loaded("3ds/bare_editor.3ds")
    scene.nodes.append(Node("joint", NodeKind.DUMMY, position=np.array([1.0, 2.0, 3.0])))
    found = written(scene)
    (why,) = why_anew(found)
    assert "'joint' would be lost" in why
    assert again(found).node("joint").position.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["nodeanim/default_mixed.nanim", "nodeanim/big_u32_u32_u16_text.nanim"])
def test_a_new_node_stands_where_a_new_file_would_have_it(name: str) -> None:
    """Node animations have no tree: what hangs on another stands elsewhere, in a new file and in a merged one."""
    scene = loaded(name)
    scene.nodes.append(Node("hand", NodeKind.BONE, parent=0))
    track = Track("position", np.zeros(1), np.array([[1.0, 2.0, 3.0]]), Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
    found = written(scene)
    assert why_anew(found) == []
    assert dropped(found) == ["/tree"]


@pytest.mark.parametrize(
    "name", ["nodeanim/u16_u16.nanim", "nodeanim/u8_u32_inside.nanim", "nodeanim/id_only_u8.nanim"]
)
def test_a_last_key_that_moves_takes_the_end_along(name: str) -> None:
    """Whatever unit a new file would count in. The end is where the last key is, and that is told."""
    scene = loaded(name)
    clip = scene.clips[0]
    track = max((channel.track for channel in clip.channels), key=lambda track: float(track.times[-1]))
    late = float(track.times[-1]) + 0.25 * clip.units_per_frame
    track.times = np.append(track.times[:-1], late)
    found = written(scene)
    assert why_anew(found) == []
    assert again(found).clips[0].end == pytest.approx(late)
    assert dropped(found) == ["/clips/0/end"]


def test_a_new_material_gets_no_number_that_faces_had() -> None:
    """Faces of the sample name a material that is not there: they do not get the new one."""
    scene = loaded("uto3d/sampled.u3d")
    before = np.asarray(scene.meshes[0].face_materials)
    assert (before < 0).any()
    new_material(scene)
    found = written(scene)
    assert why_anew(found) == []
    assert np.array_equal(np.asarray(again(found).meshes[0].face_materials), before)


def test_a_track_of_a_light_that_is_nowhere_can_go() -> None:
    """Nodes of the keyframer whose object is missing keep the tracks of their kind."""
    scene = loaded("3ds/tracks.3ds")
    kinds = [channel.track.kind for channel in scene.clips[0].channels]
    assert "hotspot" in kinds
    scene.clips[0].channels = [channel for channel in scene.clips[0].channels if channel.track.kind != "hotspot"]
    found = written(scene)
    assert why_anew(found) == []
    kinds.remove("hotspot")
    assert [channel.track.kind for channel in again(found).clips[0].channels] == kinds
