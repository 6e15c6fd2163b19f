"""From any format to any other and back: keys, motion, bytes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.formats._scene_differences import Comparison
from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Channel, Clip, Handedness, Mesh, Node, NodeKind, Scene, Space
from keyframer.scene.loss_report import NothingToWrite, Outcome
from tests.corpus import CORPUS, needs_corpus, threeds_files
from tests.formats.made_scenes import (
    KEYED,
    SUFFIXES,
    TURN,
    apart,
    figures,
    keys_of,
    save_and_load,
    shape_bits,
    spinning,
)
from tests.samples import all_samples
from tests.slow import SLOW

SAMPLES = Path(__file__).parents[1] / "samples"
QUICK = settings(max_examples=12 if SLOW else 4, suppress_health_check=[HealthCheck.function_scoped_fixture])

LENGTH = {"hale3d": 0.004, "midtown": 0.001}
DEGREES = {"hale3d": 0.08, "midtown": 0.02}
"""What a way through a format may cost, beyond float32: Hale3D rebuilds w from x, y, z, which leaves 0.03 degree where
w is small; frames go back to keys within --max-error (0.01 degree, 1e-4 of the size), once each way."""

PAIRS = list(itertools.permutations(SUFFIXES, 2))


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a}-{b}-{a}" for a, b in PAIRS])
@QUICK
@given(scene=figures())
def test_there_and_back_moves_the_same(first: str, second: str, scene: Scene, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("pair")  # type: ignore[attr-defined]
    try:
        here = save_and_load(scene, first, folder, "first")
        there = save_and_load(here, second, folder, "second")
        back = save_and_load(there, first, folder, "third")
    except NothingToWrite:  # nothing moves: that is what Midtown says of still scenes
        return
    length, degrees = apart(here, back)
    assert length <= LENGTH.get(first, 0) + LENGTH.get(second, 0) + 2e-3
    assert degrees <= DEGREES.get(first, 0) + DEGREES.get(second, 0) + 0.02


def through_gltf(scene: Scene, folder: Path, name: str) -> Scene:
    path = folder / f"{name}.glb"
    keyframer.save(scene, path)
    return keyframer.load(path)


@pytest.mark.parametrize("format", SUFFIXES)
@pytest.mark.parametrize("gltf_first", [False, True], ids=["there", "here"])
@QUICK
@given(scene=figures())
def test_there_and_back_by_gltf_moves_the_same(
    format: str, gltf_first: bool, scene: Scene, tmp_path_factory: object
) -> None:
    """A to glTF to A, and glTF to A to glTF."""
    folder = tmp_path_factory.mktemp("gltf")  # type: ignore[attr-defined]
    try:
        if gltf_first:
            here = through_gltf(scene, folder, "first")
            back = through_gltf(save_and_load(here, format, folder, "second"), folder, "third")
        else:
            here = save_and_load(scene, format, folder, "first")
            back = save_and_load(through_gltf(here, folder, "second"), format, folder, "third")
    except NothingToWrite:
        return
    length, degrees = apart(here, back)
    assert length <= 2 * LENGTH.get(format, 0) + 3e-3
    assert degrees <= 2 * DEGREES.get(format, 0) + 0.03


@pytest.mark.parametrize("format", SUFFIXES)
@QUICK
@given(scene=figures())
def test_what_is_written_means_the_scene(format: str, scene: Scene, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("one")  # type: ignore[attr-defined]
    try:
        found = save_and_load(scene, format, folder)
    except NothingToWrite:
        return
    length, degrees = apart(scene, found)
    assert length <= LENGTH.get(format, 0) + 1e-5
    assert degrees <= DEGREES.get(format, 0) + 1e-3


@pytest.mark.parametrize("format", SUFFIXES)
@QUICK
@given(scene=figures(sizes=True))
def test_a_scene_that_was_not_changed_is_the_same_file(format: str, scene: Scene, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("same")  # type: ignore[attr-defined]
    try:
        found = save_and_load(scene, format, folder)
    except NothingToWrite:
        return
    again = folder / ("again" + SUFFIXES[format])
    report = keyframer.save(found, again, format=format)
    assert again.read_bytes() == (folder / ("made" + SUFFIXES[format])).read_bytes()
    assert [loss.outcome for loss in report] == [Outcome.EXACT]


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_samples_unchanged_are_the_same_file(name: str, path: Path, tmp_path: Path) -> None:
    scene = keyframer.load(path, format=name, salvage=True)
    assert scene.origin is not None
    target = tmp_path / path.name
    format = scene.origin.document.format.name
    try:
        report = keyframer.save(scene, target, format=format)
    except NothingToWrite:
        assert scene.issues.first_unsafe() is not None
        return
    if scene.issues.first_unsafe() is None:
        assert target.read_bytes() == path.read_bytes()
    else:  # what is unsafe was left out of the scene, and is not written again
        assert any("unsafe parts of the original are left out" in loss.detail for loss in report)
        assert [issue for issue in keyframer.check(target, format=format).issues if issue.unsafe] == []


@needs_corpus
def test_the_corpus_unchanged_is_the_same_files() -> None:
    """All but one, which is damaged: what is saved of that is written anew, without the damage."""
    files = [*threeds_files()[:: 1 if SLOW else 3], *sorted((CORPUS / "ase").glob("*.[aA][sS][eE]"))]
    files += [CORPUS / "hale3d/bob_lamp_update.anim", CORPUS / "makbot/mak_running.3DS"]
    damaged = []
    for path in files:
        scene = keyframer.load(path, salvage=True)
        assert scene.origin is not None
        written = scene.origin.document.format.from_scene(scene)
        if scene.issues.first_unsafe() is None:
            assert keyframer.encode(written.document) == path.read_bytes(), path.name
        else:
            damaged.append(path.name)
    assert len(files) == (545 if SLOW else 187)
    assert len(damaged) == (1 if SLOW else 0), damaged


KEY_PAIRS = list(itertools.permutations(KEYED, 2))


@pytest.mark.parametrize(("first", "second"), KEY_PAIRS, ids=[f"{a}-{b}" for a, b in KEY_PAIRS])
@QUICK
@given(scene=figures(sizes=True))
def test_keys_survive_between_key_formats(first: str, second: str, scene: Scene, tmp_path_factory: object) -> None:
    folder = tmp_path_factory.mktemp("keys")  # type: ignore[attr-defined]
    here = save_and_load(scene, first, folder, "first")
    there = save_and_load(here, second, folder, "second")
    mine, others = keys_of(here), keys_of(there)
    assert set(mine) <= set(others)
    for name, track in mine.items():
        other = others[name]
        rates = here.clips[0].rate, there.clips[0].rate
        assert np.allclose(track.times / rates[0], other.times / rates[1], rtol=0, atol=1e-9)
        if track.interpolation is other.interpolation is Interpolation.TCB:
            for column in ("tension", "continuity", "bias", "ease_to", "ease_from"):
                assert shape_bits(track, column) == shape_bits(other, column)


def written(format: str, scene: Scene, **options: object) -> object:
    return next(each for each in keyframer.supported_formats() if each.name == format).from_scene(scene, options)


@pytest.mark.parametrize("angle", [TURN, 1.5 * TURN, 3 * TURN, -2.25 * TURN])
@pytest.mark.parametrize("format", ["3ds", "nodeanim"])
def test_turns_of_360_degrees_and_more_stay_one_key(format: str, angle: float, tmp_path: Path) -> None:
    scene = spinning(angle)
    found = save_and_load(scene, format, tmp_path)
    track = keys_of(found)["spinner", "rotation"]
    assert len(track.times) == 3
    assert np.allclose(np.abs(track.values[1:, 3]), abs(angle), rtol=1e-6)
    assert apart(scene, found, np.linspace(0, 60, 301))[1] < 1e-3


@pytest.mark.parametrize("angle", [TURN, 1.5 * TURN, 3 * TURN, -2.25 * TURN])
def test_turns_of_360_degrees_and_more_are_split_where_keys_are_quaternions(angle: float, tmp_path: Path) -> None:
    scene = spinning(angle)
    found = save_and_load(scene, "uto3d", tmp_path)
    assert len(keys_of(found)["spinner", "rotation"].times) > 3
    assert apart(scene, found, np.linspace(0, 60, 61))[1] < 0.01


def test_frames_become_few_keys(tmp_path: Path) -> None:
    """A gentle swing of 121 frames needs a quarter of them at the usual error; more where less error is allowed. The
    error holds between frames, too: frames mean straight lines there."""
    times = np.arange(121.0)
    values = np.column_stack([np.sin(times / 40), np.zeros(121), np.cos(times / 66)])
    scene = Scene(
        nodes=[Node("swing")], clips=[Clip(channels=[Channel(0, Track.sampled("position", values))], end=120)]
    )
    counts = []
    for error in (1e-3, 1e-4, 1e-5):
        found = save_and_load(scene, "3ds", tmp_path, max_error=error)
        counts.append(len(keys_of(found)["swing", "position"].times))
        assert apart(scene, found, np.arange(0, 120.01, 1 / 12))[0] <= error * 2 + 1e-6
    assert counts[0] < counts[1] < counts[2]
    assert counts[1] <= 30


def test_a_game_that_shows_whole_frames_says_nothing_between_them(tmp_path: Path) -> None:
    """Midtown's frames may become smooth curves: what counts are the frames."""
    times = np.arange(121.0)
    angles = np.sin(times / 20)
    turns = np.column_stack([np.zeros((121, 2)), np.sin(angles / 2), np.cos(angles / 2)])
    clip = Clip(channels=[Channel(0, Track.sampled("rotation", turns, form=RotationForm.QUATERNION_ABSOLUTE))], end=120)
    scene = Scene(nodes=[Node("swing", NodeKind.BONE)], clips=[clip], space=Space("y"))
    here = save_and_load(scene, "midtown", tmp_path)
    there = save_and_load(here, "3ds", tmp_path)
    assert len(keys_of(there)["swing", "rotation"].times) <= 60
    assert apart(here, there, times)[1] <= 0.011
    other = save_and_load(scene, "3ds", tmp_path, "straight")
    assert len(keys_of(other)["swing", "rotation"].times) > 100
    assert apart(scene, other, np.arange(0, 120.01, 1 / 12))[1] <= 0.011


def test_times_off_the_grid_are_rounded_and_said(tmp_path: Path) -> None:
    track = Track("position", np.array([0.0, 0.51, 1.0]), np.eye(3), Interpolation.TCB)
    clip = Clip(channels=[Channel(0, track)], end=1.0, rate=1.0, unit="second", units_per_frame=1 / 30)
    scene = Scene(nodes=[Node("box", NodeKind.DUMMY)], clips=[clip])
    report = written("3ds", scene).report  # type: ignore[attr-defined]
    rounded = [loss for loss in report if "rounded" in loss.detail]
    assert len(rounded) == 1
    found = save_and_load(scene, "3ds", tmp_path)
    assert keys_of(found)["box", "position"].times.tolist() == [0.0, 15.0, 30.0]
    reached = apart(scene, found, np.linspace(0, 30, 601))[0]
    assert 0.9 * reached < (rounded[0].error or 0.0) <= 1.01 * reached * 3**0.5  # a distance, not of one axis
    assert (rounded[0].unit, rounded[0].detail) == ("scene unit", "times were rounded by up to 0.01 s")
    assert not [loss for loss in written("uto3d", scene).report if "rounded" in loss.detail]  # type: ignore[attr-defined]


def test_a_straight_line_stays_straight_in_3ds(tmp_path: Path) -> None:
    values = np.array([[0.0, 0, 0], [10, 0, 0], [10, 5, 0], [0, 5, 1]])
    track = Track("position", np.array([0.0, 10, 13, 40]), values, Interpolation.LINEAR)
    scene = Scene(nodes=[Node("box", NodeKind.DUMMY)], clips=[Clip(channels=[Channel(0, track)], end=40)])
    found = save_and_load(scene, "3ds", tmp_path)
    assert apart(scene, found, np.linspace(0, 40, 401))[0] < 1e-6
    back = save_and_load(found, "uto3d", tmp_path)
    assert apart(scene, back, np.linspace(0, 40, 401))[0] < 1e-6


@pytest.mark.parametrize("wrap", [Wrap.REPEAT, Wrap.LOOP])
def test_rounds_are_played_out_where_a_format_has_none(wrap: Wrap, tmp_path: Path) -> None:
    scene = spinning(2.0, wrap=wrap)
    scene.clips[0].end = 150.0
    kept = save_and_load(scene, "3ds", tmp_path)
    assert keys_of(kept)["spinner", "rotation"].wrap is wrap
    frames = np.arange(150.0)
    assert apart(scene, kept, frames)[1] < 1e-4
    assert apart(scene, save_and_load(scene, "uto3d", tmp_path), frames)[1] < 0.01
    assert apart(scene, save_and_load(scene, "nodeanim", tmp_path), frames)[1] < 0.01


def test_a_pair_that_would_leave_nothing_is_refused() -> None:
    still = Scene(nodes=[Node("box", mesh=0)], meshes=[Mesh("box", np.eye(3), np.array([[0, 1, 2]]))])
    for format, reason in (("midtown", "nothing in the scene is animated"), ("nodeanim", "the scene has no keys")):
        with pytest.raises(NothingToWrite, match=reason):
            written(format, still)
    for format in SUFFIXES:
        with pytest.raises(NothingToWrite):
            written(format, Scene())


def test_what_has_no_place_is_said() -> None:
    scene = keyframer.load(SAMPLES / "3ds/windmill.3ds")
    lost = {loss.path for loss in written("midtown", scene).report.of(Outcome.DROPPED)}  # type: ignore[attr-defined]
    assert {"/meshes", "/materials", "/cameras", "/lights"} <= lost
    lost = {loss.path for loss in written("nodeanim", scene).report.of(Outcome.DROPPED)}  # type: ignore[attr-defined]
    assert {"/tree", "/meshes", "/channels/color"} <= lost


@pytest.mark.parametrize("space", [Space("y"), Space("x"), Space("y", Handedness.LEFT), Space("z", Handedness.LEFT)])
def test_axes_change_there_and_back_to_the_bit(space: Space) -> None:
    scene = keyframer.load(SAMPLES / "3ds/windmill.3ds")
    there = in_space(scene, Space(space.up, space.handedness, scene.space.metres_per_unit))
    back = in_space(there, scene.space)
    assert Comparison(1e-12).scenes(scene, back) == []
    frames = np.arange(0.0, 100.0, 7)
    meshes = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    ours, theirs = keyframer.pose(scene, frames=frames), keyframer.pose(there, frames=frames)
    for number in meshes:
        points = ours.vertices(number)
        moved = theirs.vertices(number)
        sizes = np.ptp(points.reshape(-1, 3), axis=0), np.ptp(moved.reshape(-1, 3), axis=0)
        assert np.allclose(np.sort(sizes[0]), np.sort(sizes[1]))


def test_rotation_forms() -> None:
    from keyframer.curves.rotation_forms import absolute, with_form

    track = spinning(2.0).clips[0].channels[0].track
    for form in (RotationForm.QUATERNION_RELATIVE, RotationForm.QUATERNION_ABSOLUTE, RotationForm.AXIS_ANGLE_ABSOLUTE):
        other = with_form(track, form)
        assert other.form is form
        assert np.allclose(np.abs((absolute(other) * absolute(track)).sum(axis=1)), 1.0)
        assert np.allclose(np.abs(with_form(other, track.form).values[1:, 3]), 2.0)


@pytest.mark.parametrize("format", SUFFIXES)
def test_from_gltf(format: str, tmp_path: Path) -> None:
    """A file of ours by way of glTF: the keys come back from its extras, and go on from there."""
    source = keyframer.load(SAMPLES / "3ds/windmill.3ds")
    keyframer.save(source, tmp_path / "mill.glb")
    between = keyframer.load(tmp_path / "mill.glb")
    found = save_and_load(between, format, tmp_path)
    seconds = np.arange(0.0, 101.0, 4) / 30
    numbers = {node.name: number for number, node in enumerate(found.nodes)}
    place = [node.name for node in source.nodes].index("Sail3")
    ours, theirs = (keyframer.pose(each, seconds).local for each in (source, in_space(found, source.space)))
    assert np.allclose(ours[:, place], theirs[:, numbers["Sail3"]], atol=0.02)
