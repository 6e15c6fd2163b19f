"""U3D files in which one thing is edited: the bytes are those that a writer of our own makes of the edited data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.uto3d import FORMAT
from keyframer.operating import change_rate
from keyframer.scene import Channel, Clip, Mesh, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import put, why_anew
from tests.formats.uto3d import writers as w

MANNERS: dict[str, tuple[Callable[[], w.Scene], w.Manner]] = {
    "A": (w.flexporter_scene, w.A),
    "B": (w.maxscript_scene, w.B),
    "literal": (w.small_scene, w.LITERAL),
}
OTHER = (0.25, 0.5, 1.0)


def loaded(data: bytes) -> Scene:
    return scene_of(keyframer.decode(data, format="uto3d"))


def edited(manner: str, edit: Callable[[Scene], None], **options: object) -> Written:
    make, how = MANNERS[manner]
    scene = loaded(w.write(make(), how))
    edit(scene)
    return FORMAT.from_scene(scene, options)


def node(name: str) -> Callable[[Scene], Any]:
    return lambda scene: scene.node(name)


def camera(scene: Scene) -> Any:
    return scene.cameras[0]


def light(number: int) -> Callable[[Scene], Any]:
    return lambda scene: scene.lights[number]


def mesh(scene: Scene) -> Mesh:
    return scene.meshes[1]


def stored(kind: str, number: int, **values: Any) -> Callable[[w.Scene], None]:
    """The same edit in the data of our own writer."""
    return lambda plain: getattr(plain, kind)[number].update(values)


Edit = tuple[Callable[[Scene], None], Callable[[w.Scene], None]]

EVERYWHERE: dict[str, Edit] = {
    "hidden": (put(node("Mapped"), hidden=True), stored("meshes", 1, hidden=1)),
    "renamed": (put(node("Bip01 Arm"), name="Gl\u00e4ser"), stored("bones", 1, name=b"Gl\xe4ser")),
    "place": (put(node("Mapped"), position=np.array([7.0, 8, 9])), stored("meshes", 1, position=(7.0, 8.0, 9.0))),
    "turn": (
        put(node("Camera01.Target"), rotation_xyzw=np.array([0.0, 0, 1, 0])),
        stored("targets", 0, rotation=(0.0, 0.0, 1.0, 0.0)),
    ),
    "size": (put(node("Mapped"), scale=np.array([2.0, 2, 2])), stored("meshes", 1, scale=(2.0, 2.0, 2.0))),
    "parent": (put(node("Omni01"), parent=1), stored("lights", 0, parent=11)),
    "no target": (put(node("Camera01"), target=None), stored("cameras", 0, target=-1)),
    "field of view": (put(camera, fov_degrees=60.0), stored("cameras", 0, fov=60.0)),
    "colour of a light": (put(light(0), color=OTHER), stored("lights", 0, colour=OTHER)),
    "strength of a light": (put(light(0), multiplier=3.0), stored("lights", 0, multiplier=3.0)),
    "ranges of a light": (
        put(light(0), inner_range=1.0, outer_range=2.0, attenuated=False),
        stored("lights", 0, attenuation=(1.0, 2.0), attenuated=0),
    ),
    "material": (
        put(lambda scene: scene.materials[0], name="Iron"),
        lambda plain: plain.materials.__setitem__(0, (b"Iron", 7)),
    ),
    "shadows": (put(mesh, casts_shadows=True, dynamic=True), stored("meshes", 1, flags=8 | 2)),
    "sphere": (
        put(mesh, bounding_sphere=(np.array([1.0, 2, 3]), 4.0)),
        stored("meshes", 1, flags=1, sphere=(1.0, 2.0, 3.0, 4.0)),
    ),
    "vertices": (
        put(mesh, positions=np.array([[0.0, 0, 5], [1, 0, 0], [1, 1, 0], [0, 1, 0]])),
        stored("meshes", 1, vertices=[(0.0, 0.0, 5.0), *w.SQUARE["vertices"][1:]]),
    ),
    "texture": (
        put(mesh, uv=np.array([[0.5, 0.5], [1, 0], [1, 1]])),
        stored("meshes", 1, uvs=[(0.5, 0.5), (1.0, 0.0), (1.0, 1.0)]),
    ),
    "vertex colour": (put(mesh, colors=np.array([OTHER])), stored("meshes", 1, colours=[OTHER])),
    "edges": (put(mesh, edges=np.array([7, 0])), stored("meshes", 1, edges=[7, 0])),
    "materials of faces": (put(mesh, face_materials=np.array([1, -1])), stored("meshes", 1, materials=[8, -1])),
    "no materials of faces": (put(mesh, face_materials=None), stored("meshes", 1, materials=[-1, -1])),
    "names of what is called as its node": (
        lambda scene: (put(camera, name="x")(scene), put(light(0), name="y")(scene)),  # type: ignore[func-returns-value]
        lambda plain: None,
    ),
}
MAXSCRIPT: dict[str, Edit] = {
    "vertices under a weighted skin": (
        put(lambda scene: scene.meshes[0], positions=np.array([[0.0, 0, 5], [1, 0, 0], [1, 1, 0], [0, 1, 0]])),
        stored("meshes", 0, vertices=[(0.0, 0.0, 5.0), *w.SQUARE["vertices"][1:]]),
    ),
}
SPOTS: dict[str, Edit] = {
    "aim": (put(light(1), target=(1.0, 2.0, 3.0)), stored("lights", 1, aim=(1.0, 2.0, 3.0))),
    "cone": (put(light(1), falloff_degrees=60.0, hotspot_degrees=50.0), stored("lights", 1, cone=(30.0, 50.0))),
    "clip planes": (put(camera, clip=(2.0, 3.0)), stored("cameras", 0, near=2.0, far=3.0)),
}
UNSKINNED: dict[str, Edit] = {
    "no parent": (put(node("Bip01 Arm"), parent=None), stored("bones", 1, parent=-1)),
    "bone": (put(node("Bip01"), position=np.array([7.0, 8, 9])), stored("bones", 0, position=(7.0, 8.0, 9.0))),
    "no sphere": (put(lambda scene: scene.meshes[0], bounding_sphere=None), stored("meshes", 0, flags=0)),
}
FLEXPORTER: dict[str, Edit] = {
    "ranges": (put(camera, ranges=(2.0, 3.0)), stored("cameras", 0, near=2.0, far=3.0)),
    "no sphere": (
        put(lambda scene: scene.meshes[0], bounding_sphere=None),
        stored("meshes", 0, flags=4),
    ),
}
CASES = [(manner, name, *edit) for manner in MANNERS for name, edit in EVERYWHERE.items()]
CASES += [(manner, name, *edit) for manner in ("B", "literal") for name, edit in SPOTS.items()]
CASES += [("literal", name, *edit) for name, edit in UNSKINNED.items()]
CASES += [("A", name, *edit) for name, edit in FLEXPORTER.items()]
CASES += [("B", name, *edit) for name, edit in MAXSCRIPT.items()]


@pytest.mark.parametrize(("manner", "name", "edit", "same"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_one_edit_is_one_change_of_the_bytes(manner: str, name: str, edit: Any, same: Any) -> None:
    make, how = MANNERS[manner]
    plain = make()
    same(plain)
    written = edited(manner, edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.write(plain, how)


def keys_of(scene: Scene, kind: str) -> Channel:
    return next(channel for channel in scene.clips[0].channels if channel.track.kind == kind)


def test_other_keys_of_a_controller_keep_its_ids_and_place() -> None:
    def edit(scene: Scene) -> None:
        channel = keys_of(scene, "fov")
        channel.track = Track("fov", np.array([0.0, 320.0]), np.array([40.0, 50.0]), Interpolation.LINEAR)

    plain = w.small_scene()
    plain.controllers[2] = {"type": 3, "id": 2, "owner": 20, "scheme": 0, "keys": [(0, (40.0,)), (320, (50.0,))]}
    written = edited("literal", edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.write(plain, w.LITERAL)


def test_a_track_that_is_gone_takes_its_controller_along() -> None:
    def edit(scene: Scene) -> None:
        scene.clips[0].channels.remove(keys_of(scene, "fov"))

    plain = w.small_scene()
    del plain.controllers[2]
    written = edited("literal", edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == w.write(plain, w.LITERAL)


def test_a_new_track_comes_behind_the_others_with_a_new_id() -> None:
    def edit(scene: Scene) -> None:
        number = scene.nodes.index(scene.node("Camera01"))
        track = Track("roll", np.array([0.0, 320.0]), np.degrees([0.5, 1.0]), Interpolation.LINEAR)
        scene.clips[0].channels.append(Channel(number, track))

    found = loaded(keyframer.encode(edited("B", edit).document))
    assert [channel.track.kind for channel in found.clips[0].channels] == ["position", "rotation", "fov", "roll"]
    ids = [channel.track.extras["uto3d"]["controller_id"] for channel in found.clips[0].channels]
    assert len(set(ids)) == 4


def test_the_first_track_of_a_file_without_any() -> None:
    """The Flexporter leaves empty sections out: there is none to put a controller in."""
    plain = w.Scene(meshes=[w.mesh(b"Square", 10)], materials=[(b"Steel", 7)])
    scene = loaded(w.write(plain, w.A))
    track = Track("position", np.array([0.0, 320.0]), np.array([[1.0, 2, 3], [4, 5, 6]]), Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(0, track))
    written = FORMAT.from_scene(scene)
    assert why_anew(written) == []
    (channel,) = loaded(keyframer.encode(written.document)).clips[0].channels
    assert channel.track.values.tolist() == [[1, 2, 3], [4, 5, 6]]


REFUSED: dict[str, tuple[str, Callable[[Scene], None], str]] = {
    "cone of a Flexporter light": (  # another layout has a place for it
        "A",
        put(light(1), falloff_degrees=5.0),
        "/lights/1/falloff_degrees would read back differently",
    ),
}


def test_a_pivot_goes_into_the_vertices() -> None:
    written = edited("B", put(node("Mapped"), pivot=np.array([1.0, 0, 0])))
    assert why_anew(written) == []
    assert "/nodes/Mapped/pivot" in [loss.path for loss in written.report.of(Outcome.BAKED)]
    found = loaded(keyframer.encode(written.document))
    assert np.allclose(found.meshes[1].positions, np.array(w.SQUARE["vertices"]) - (1, 0, 0))


def test_a_light_of_the_flexporter_without_its_target_is_a_free_one() -> None:
    written = edited("A", put(node("Fspot01"), target=None))
    assert why_anew(written) == []
    assert loaded(keyframer.encode(written.document)).node("Fspot01").target is None


def test_a_rigid_skin_that_becomes_a_weighted_one() -> None:
    written = edited("A", put(lambda scene: scene.skins[0], rigid=False, positions=None))
    assert why_anew(written) == []
    before, found = loaded(w.write(w.flexporter_scene(), w.A)), loaded(keyframer.encode(written.document))
    assert not found.skins[0].rigid
    assert np.allclose(found.meshes[0].positions, before.meshes[0].positions, atol=1e-5)


def test_a_camera_that_is_rolled_at_rest_gets_a_key() -> None:
    written = edited("B", put(camera, roll_degrees=5.0))
    assert why_anew(written) == []
    channels = loaded(keyframer.encode(written.document)).clips[0].channels
    (found,) = [channel.track for channel in channels if channel.track.kind == "roll"]
    assert found.values.reshape(-1).tolist() == pytest.approx([5.0])


NOWHERE: dict[str, Callable[[Scene], object]] = {
    "light switched off": put(light(0), on=False),
    "smoothing": put(mesh, smoothing=np.array([1, 1])),
    "look of a material": put(lambda scene: scene.materials[0], two_sided=True),
    "title": put(lambda scene: scene, title="Something"),
    "another clip": lambda scene: scene.clips.append(Clip("walk")),
    "unit of time": put(lambda scene: scene.clips[0], unit="second"),
    "track without keys": lambda scene: scene.clips[0].channels.append(
        Channel(1, Track("position", np.empty(0), np.empty((0, 3))))
    ),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_what_no_file_can_say_is_dropped_and_the_original_kept(name: str) -> None:
    written = edited("B", NOWHERE[name])  # type: ignore[arg-type]
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == keyframer.encode(edited("B", lambda scene: None).document)
    assert len(written.report.of(Outcome.DROPPED)) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    manner, edit, words = REFUSED[name]
    written = edited(manner, edit)
    (why,) = why_anew(written)
    assert f"({words})" in why
    assert loaded(keyframer.encode(written.document)).nodes, "there is a file all the same"


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, True),
        ({"dialect": "B"}, True),
        ({"max_error": 1e-3}, True),
        ({"dialect": "A"}, False),
        ({"encoding": "cp1250"}, False),
    ],
)
def test_another_layout_is_written_anew(options: dict[str, object], kept: bool) -> None:
    written = edited("B", lambda scene: None, **options)
    make, how = MANNERS["B"]
    same = keyframer.encode(written.document) == w.write(make(), how)
    assert same is kept
    assert ("a different layout was requested" in "".join(why_anew(written))) is not kept


@pytest.mark.parametrize("manner", "AB")
def test_another_rate_leaves_all_keys_where_they_are(manner: str) -> None:
    """As many ticks a second, in fewer frames: nothing but the numbers of MAIN changes."""
    written = edited(manner, lambda given: given.clips.__setitem__(0, change_rate(given, 25.0).clips[0]))
    assert why_anew(written) == []
    data, original = keyframer.encode(written.document), keyframer.encode(edited(manner, lambda given: None).document)
    assert len(data) == len(original)
    assert sum(a != b for a, b in zip(data, original, strict=True)) <= 16
    found = loaded(data).clips[0]
    assert found.frames_per_second == 25.0
