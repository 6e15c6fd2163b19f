"""Scene to GLB to scene: poses, frames, pivots, targets and axes are the same, and helper nodes are removed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.scene import Light, LightType, Node, NodeKind, Scene
from tests.building.gltf import glb, loaded, split_glb
from tests.building.gltf_scenes import SCENES
from tests.exchange.truth import glb_of
from tests.samples import FOLDER

HEALTHY = [name for name in SCENES if name not in ("sick", "nothing")]
DETACHED = {"in uneven"}
"""aimed nodes below an uneven scale: they are moved to the root, which the report says"""


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("options", [{}, {"core_only": True, "unit": "cm"}], ids=["plain", "core, cm"])
def test_scene_to_glb_to_scene(name: str, options: dict[str, object]) -> None:
    original = SCENES[name]()
    restored = loaded(glb_of(original, **options)[0])
    assert restored.space == original.space
    assert [node.kind for node in restored.nodes] == [node.kind for node in original.nodes]
    for before, after in zip(original.nodes, restored.nodes, strict=True):
        assert after.parent == (None if before.name in DETACHED else before.parent)
    assert [node.target for node in restored.nodes] == [node.target for node in original.nodes]
    assert [node.hidden for node in restored.nodes] == [node.hidden for node in original.nodes]
    for before, after in zip(original.nodes, restored.nodes, strict=True):
        np.testing.assert_array_equal(after.pivot, before.pivot)
    assert len(restored.clips) == len(original.clips)
    for before, after in zip(original.clips, restored.clips, strict=True):
        assert (after.name, after.start, after.end, after.rate) == (before.name, before.start, before.end, before.rate)
        assert (after.unit, after.units_per_frame) == (before.unit, before.units_per_frame)


@pytest.mark.parametrize("name", [name for name in HEALTHY if name != "mirrored"])
def test_pose_is_restored(name: str) -> None:
    original = SCENES[name]()
    data, report = glb_of(original)
    restored = loaded(data)
    allowed = 2e-4 * report.measured["size"]  # twice the error that is allowed by default
    for clip in range(max(1, len(original.clips))):
        frames = (
            np.linspace(original.clips[clip].start, original.clips[clip].end, 60) if original.clips else np.zeros(60)
        )
        before, after = (keyframer.pose(scene, frames=frames, clip=clip) for scene in (original, restored))
        np.testing.assert_allclose(after.world, before.world, atol=allowed)
        shown = [node.mesh is not None for node in original.nodes]
        np.testing.assert_array_equal(after.visible[:, shown], before.visible[:, shown])
        for number, node in enumerate(original.nodes):
            if node.mesh is None:
                continue
            # vertices come in the order of the triangles, so corners are compared
            corners = [
                pose.vertices(number)[:, np.asarray(scene.meshes[scene.nodes[number].mesh].corners)].reshape(60, -1, 9)
                for scene, pose in ((original, before), (restored, after))
            ]
            if original.meshes[node.mesh].face_materials is None:
                np.testing.assert_allclose(corners[1], corners[0], atol=allowed)
            assert corners[0].shape == corners[1].shape
            assert len(restored.meshes[restored.nodes[number].mesh].positions) == len(
                original.meshes[node.mesh].positions
            )


@pytest.mark.parametrize("name", ["looking", "hidden"])
def test_motion_and_settings_are_one_clip(name: str) -> None:
    root, binary = split_glb(glb_of(SCENES[name]())[0])
    del root["scenes"][0]["extras"]
    (clip,) = loaded(glb(root, binary)).clips
    assert {channel.track.kind for channel in clip.channels} >= {
        "looking": {"position", "rotation", "fov", "hotspot", "color"},
        "hidden": {"rotation", "visible"},
    }[name]


@pytest.mark.parametrize("masks", [None, [0] * 12, [1] * 12, [0, 1, 2, 3, 4, 5] * 2])
def test_smoothing_groups_are_restored(masks: list[int] | None) -> None:
    """A mesh without groups, which formats interpret differently, stays without."""
    original = SCENES["static"]()
    assert len(original.meshes[0].corners) == 12
    original.meshes[0].smoothing = None if masks is None else np.array(masks)
    restored = loaded(glb_of(original)[0]).meshes[0].smoothing
    assert (None if restored is None else sorted(restored.tolist())) == (None if masks is None else sorted(masks))


def test_data_without_a_field_in_gltf_is_restored() -> None:
    original = SCENES["static"]()
    original.title, original.author = "Title", "Someone"
    original.environment.ambient = (0.1, 0.2, 0.3)
    original.environment.uses = {"fog"}
    original.lights = [Light("ambient", LightType.AMBIENT, (0.5, 0.5, 0.5), casts_shadows=True)]
    original.nodes.append(Node("ambient", NodeKind.AMBIENT, light=0, file_id=7, raw_name=b"\xe4mbient"))
    restored = loaded(glb_of(original)[0])
    assert (restored.title, restored.author) == ("Title", "Someone")
    assert (restored.environment.ambient, restored.environment.uses) == ((0.1, 0.2, 0.3), {"fog"})
    assert restored.nodes[1].file_id == 7
    assert restored.nodes[1].raw_name == b"\xe4mbient"
    assert restored.nodes[1].light == 0
    assert (restored.lights[0].type, restored.lights[0].casts_shadows) == (LightType.AMBIENT, True)
    glass = restored.materials[1]
    assert glass.diffuse == pytest.approx((0.5, 0.7, 1.0), abs=1e-7)
    assert (glass.transparency, glass.two_sided) == (0.4, True)
    assert glass.maps["texture1"].file_name == "PANELS.JPG"
    assert len(restored.materials) == 2  # not the one that faces without any were given
    mesh = restored.meshes[0]
    assert mesh.face_materials is not None
    assert np.bincount(mesh.face_materials + 1).tolist() == [1, 6, 5]
    assert sorted(mesh.smoothing.tolist()) == sorted(original.meshes[0].smoothing.tolist())  # type: ignore[union-attr]


def test_scene_of_a_3ds_file_is_restored(tmp_path: Path) -> None:
    original = keyframer.load(FOLDER / "3ds" / "tracks.3ds")
    keyframer.save(original, tmp_path / "a.gltf")
    restored = keyframer.load(tmp_path / "a.gltf")
    assert restored.source_format == format_by_name("3ds").name
    assert [node.name for node in restored.nodes] == [node.name for node in original.nodes]
    assert (restored.clips[0].start, restored.clips[0].end) == (original.clips[0].start, original.clips[0].end)
    frames = np.linspace(original.clips[0].start, original.clips[0].end, 50)
    before, after = (keyframer.pose(scene, frames=frames).world for scene in (original, restored))
    np.testing.assert_allclose(after, before, atol=2e-4 * np.abs(before[..., :3, 3]).max())


def test_non_finite_numbers_are_exported_as_finite_poses() -> None:
    restored = loaded(glb_of(SCENES["sick"]())[0])
    assert [node.name for node in restored.nodes] == ["a", "b", "eye", "lamp"]
    with np.errstate(all="ignore"):
        assert np.isfinite(keyframer.pose(restored, frames=[0, 5]).world).all()


def test_empty_scene_is_restored() -> None:
    assert loaded(glb_of(Scene())[0]).nodes == []


@pytest.mark.parametrize("name", ["rate", "units_per_frame"])
def test_message_for_a_wrong_rate_names_the_number(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scene.gltf"
    keyframer.save(keyframer.load(FOLDER / "uto3d" / "maxscript.u3d"), path)
    root = json.loads(path.read_text(encoding="utf-8"))
    root["scenes"][0]["extras"]["keyframer"]["clips"][0][name] = -2.0
    path.write_text(json.dumps(root), encoding="utf-8")
    with pytest.raises(keyframer.FormatError, match=rf"clips\[0\]/{name}: expected a positive number, found -2"):
        keyframer.load(path)
