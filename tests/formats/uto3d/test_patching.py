"""U3D files with one edit: the bytes equal those of an independent writer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.editing import change_rate
from keyframer.formats.kit.scene_writing import Written
from keyframer.formats.uto3d import FORMAT
from keyframer.scene import Channel, Mesh, Scene
from keyframer.scene.loss_report import Outcome
from tests.building import editing
from tests.building import uto3d as w
from tests.building.editing import Merge, NewFile, merged, set_fields

MANNERS: dict[str, tuple[Callable[[], w.Scene], w.Manner]] = {
    "A": (w.flexporter_scene, w.A),
    "B": (w.maxscript_scene, w.B),
    "literal": (w.small_scene, w.LITERAL),
}


load = partial(editing.load, "uto3d")


def original(manner: str, *edits: Callable[[w.Scene], None]) -> bytes:
    """A file with edits of the data of the independent writer."""
    make, how = MANNERS[manner]
    plain = make()
    for edit in edits:
        edit(plain)
    return w.write(plain, how)


def save_edited(manner: str, edit: editing.Edit) -> Written:
    return editing.save_edited("uto3d", original(manner), edit)


def node(name: str) -> Callable[[Scene], Any]:
    return lambda scene: scene.node(name)


def camera(scene: Scene) -> Any:
    return scene.cameras[0]


def light(number: int) -> Callable[[Scene], Any]:
    return lambda scene: scene.lights[number]


def mesh(scene: Scene) -> Mesh:
    return scene.meshes[1]


def set_stored(kind: str, number: int, **values: Any) -> Callable[[w.Scene], None]:
    """The same edit in the data of the independent writer."""
    return lambda plain: getattr(plain, kind)[number].update(values)


Edit = tuple[Callable[[Scene], None], Callable[[w.Scene], None]]

EVERYWHERE: dict[str, Edit] = {
    "parent": (set_fields(node("Omni01"), parent=1), set_stored("lights", 0, parent=11)),
    "no target": (set_fields(node("Camera01"), target=None), set_stored("cameras", 0, target=-1)),
    "vertices": (
        set_fields(mesh, positions=np.array([[0.0, 0, 5], [1, 0, 0], [1, 1, 0], [0, 1, 0]])),
        set_stored("meshes", 1, vertices=[(0.0, 0.0, 5.0), *w.SQUARE["vertices"][1:]]),
    ),
    "edges": (set_fields(mesh, edges=np.array([7, 0])), set_stored("meshes", 1, edges=[7, 0])),
    "materials of faces": (
        set_fields(mesh, face_materials=np.array([1, -1])),
        set_stored("meshes", 1, materials=[8, -1]),
    ),
    "names that follow the name of the node": (
        lambda scene: (set_fields(camera, name="x")(scene), set_fields(light(0), name="y")(scene)),  # type: ignore[func-returns-value]
        lambda plain: None,
    ),
}
MAXSCRIPT: dict[str, Edit] = {
    "vertices with a weighted skin": (
        set_fields(lambda scene: scene.meshes[0], positions=np.array([[0.0, 0, 5], [1, 0, 0], [1, 1, 0], [0, 1, 0]])),
        set_stored("meshes", 0, vertices=[(0.0, 0.0, 5.0), *w.SQUARE["vertices"][1:]]),
    ),
}
SPOTS: dict[str, Edit] = {
    "aim": (set_fields(light(1), target=(1.0, 2.0, 3.0)), set_stored("lights", 1, aim=(1.0, 2.0, 3.0))),
    "cone": (
        set_fields(light(1), falloff_degrees=60.0, hotspot_degrees=50.0),
        set_stored("lights", 1, cone=(30.0, 50.0)),
    ),
}
UNSKINNED: dict[str, Edit] = {
    "no parent": (set_fields(node("Bip01 Arm"), parent=None), set_stored("bones", 1, parent=-1)),
    "no sphere": (set_fields(lambda scene: scene.meshes[0], bounding_sphere=None), set_stored("meshes", 0, flags=0)),
}
FLEXPORTER: dict[str, Edit] = {
    "ranges": (set_fields(camera, ranges=(2.0, 3.0)), set_stored("cameras", 0, near=2.0, far=3.0)),
    "no sphere": (
        set_fields(lambda scene: scene.meshes[0], bounding_sphere=None),
        set_stored("meshes", 0, flags=4),
    ),
}
MERGED = {
    f"{name}, {manner}": Merge(original(manner), edit, original(manner, data_edit))
    for manners, edits in (
        (MANNERS, EVERYWHERE),
        (("B", "literal"), SPOTS),
        (("literal",), UNSKINNED),
        (("A",), FLEXPORTER),
        (("B",), MAXSCRIPT),
    )
    for manner in manners
    for name, (edit, data_edit) in edits.items()
}


def test_a_new_track_is_written_last_with_a_new_id() -> None:
    def edit(scene: Scene) -> None:
        number = scene.nodes.index(scene.node("Camera01"))
        track = Track("roll", np.array([0.0, 320.0]), np.degrees([0.5, 1.0]), Interpolation.LINEAR)
        scene.clips[0].channels.append(Channel(number, track))

    loaded = load(keyframer.encode(save_edited("B", edit).document))
    assert [channel.track.kind for channel in loaded.clips[0].channels] == ["position", "rotation", "fov", "roll"]
    ids = [channel.track.extras["uto3d"]["controller_id"] for channel in loaded.clips[0].channels]
    assert len(set(ids)) == 4


def test_the_first_track_adds_a_controller_section() -> None:
    """The Flexporter omits empty sections."""
    plain = w.Scene(meshes=[w.mesh(b"Square", 10)], materials=[(b"Steel", 7)])
    scene = load(w.write(plain, w.A))
    track = Track("position", np.array([0.0, 320.0]), np.array([[1.0, 2, 3], [4, 5, 6]]), Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(0, track))
    (channel,) = load(merged(FORMAT.from_scene(scene))).clips[0].channels
    assert channel.track.values.tolist() == [[1, 2, 3], [4, 5, 6]]


NEW_FILES = {
    "cone of a Flexporter light": NewFile(  # another layout can store it
        original("A"), set_fields(light(1), falloff_degrees=5.0), "lights of the Flexporter have no cone"
    ),
}


def test_a_pivot_is_applied_to_the_vertices() -> None:
    written = save_edited("B", set_fields(node("Mapped"), pivot=np.array([1.0, 0, 0])))
    assert "/nodes/Mapped/pivot" in [loss.path for loss in written.report.of(Outcome.BAKED)]
    scene = load(merged(written))
    assert np.allclose(scene.meshes[1].positions, np.array(w.SQUARE["vertices"]) - (1, 0, 0))


def test_a_flexporter_light_without_target_becomes_a_free_light() -> None:
    assert load(merged(save_edited("A", set_fields(node("Fspot01"), target=None)))).node("Fspot01").target is None


def test_a_rigid_skin_can_become_a_weighted_one() -> None:
    written = save_edited("A", set_fields(lambda scene: scene.skins[0], rigid=False, positions=None))
    before, loaded = load(w.write(w.flexporter_scene(), w.A)), load(merged(written))
    assert not loaded.skins[0].rigid
    assert np.allclose(loaded.meshes[0].positions, before.meshes[0].positions, atol=1e-5)


def test_a_roll_at_rest_becomes_a_key() -> None:
    channels = load(merged(save_edited("B", set_fields(camera, roll_degrees=5.0)))).clips[0].channels
    (track,) = [channel.track for channel in channels if channel.track.kind == "roll"]
    assert track.values.reshape(-1).tolist() == pytest.approx([5.0])


NOT_STORABLE: dict[str, Callable[[Scene], object]] = {
    "unit of time": set_fields(lambda scene: scene.clips[0], unit="second"),
    "track without keys": lambda scene: scene.clips[0].channels.append(
        Channel(1, Track("position", np.empty(0), np.empty((0, 3))))
    ),
}


@pytest.mark.parametrize("name", NOT_STORABLE)
def test_edits_that_the_format_cannot_store_are_dropped(name: str) -> None:
    written = save_edited("B", NOT_STORABLE[name])  # type: ignore[arg-type]
    assert merged(written) == keyframer.encode(save_edited("B", lambda scene: None).document)
    assert len(written.report.of(Outcome.DROPPED)) == 1


@pytest.mark.parametrize("manner", "AB")
def test_another_rate_keeps_all_keys(manner: str) -> None:
    """The same ticks per second in fewer frames: only the numbers in MAIN change."""
    written = save_edited(manner, lambda given: given.clips.__setitem__(0, change_rate(given, 25.0).clips[0]))
    data, original = (
        merged(written),
        keyframer.encode(save_edited(manner, lambda given: None).document),
    )
    assert len(data) == len(original)
    assert sum(a != b for a, b in zip(data, original, strict=True)) <= 16
    clip = load(data).clips[0]
    assert clip.frames_per_second == 25.0
