"""Loss reports are true in every format: everything reported as dropped is gone, everything else survives.

Random scenes have values in any fields of the model, including those that some format does not declare. Each is
written, read again, and compared field by field with the report.
"""

from __future__ import annotations

import functools
import string
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats import FORMATS, Format
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.unsupported_features import REPORTED_PARTS, all_fields
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Fog,
    Gradient,
    LayeredFog,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
    TextureMap,
)
from keyframer.scene.loss_report import LossReport, Outcome
from tests.slow import SLOW

GONE = object()
"""the value of a field whose part was not read again"""

UNIT = st.integers(1, 254).map(lambda number: number / 255)
"""between 0 and 1, as bytes can store it; never a default"""
COLOR = st.tuples(UNIT, UNIT, UNIT)
LENGTH = st.integers(1, 640).map(lambda number: number / 64)
"""positive, as 32 bits can store it"""
TWO = st.tuples(LENGTH, LENGTH).map(lambda pair: (min(pair), max(pair) + 1.0))
WORD = st.text(string.ascii_lowercase, min_size=1, max_size=6)
FOG = st.builds(Fog, LENGTH, LENGTH, LENGTH, LENGTH, COLOR, st.booleans())
TRUE, FALSE = st.just(True), st.just(False)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "nodes.bounding_box": TWO.map(lambda pair: (np.full(3, -pair[0]), np.full(3, pair[1]))),
    "meshes.edges": st.lists(st.integers(0, 7), min_size=2, max_size=2).map(np.array),
    "meshes.axes": st.lists(LENGTH, min_size=3, max_size=3).map(lambda sizes: np.diag([*sizes, 1.0])),
    "meshes.bounding_sphere": LENGTH.map(lambda radius: (np.zeros(3), 9.0 + radius)),
    "meshes.dynamic": TRUE,
    **{f"materials.{name}": COLOR for name in ("ambient", "diffuse", "specular")},
    **{f"materials.{name}": UNIT for name in ("shininess", "shininess_strength", "transparency", "self_illumination")},
    **{f"materials.{name}": UNIT for name in ("transparency_falloff", "reflection_blur")},
    **{f"materials.{name}": TRUE for name in ("falloff_inwards", "two_sided", "additive", "wire", "wire_in_units")},
    **{f"materials.{name}": TRUE for name in ("face_map", "soften", "supersample")},
    "materials.wire_size": LENGTH,
    "materials.shading": st.sampled_from(["flat", "phong", "metal"]),
    "maps.amount": UNIT,
    "maps.scale": st.tuples(LENGTH, LENGTH),
    "maps.offset": st.tuples(LENGTH, LENGTH),
    "maps.rotation_degrees": LENGTH,
    "maps.blur": UNIT.map(lambda share: round(share * 64) / 64 + 1 / 64),
    **{f"maps.{name}": TRUE for name in ("mirror", "negative", "decal", "summed_area", "alpha_source", "ignore_alpha")},
    "maps.tiled": FALSE,
    "maps.tints": st.dictionaries(st.sampled_from(["first", "second", "red", "green", "blue"]), COLOR, min_size=1),
    "cameras.fov_degrees": st.integers(10, 120).map(float),
    "cameras.roll_degrees": st.integers(1, 60).map(float),
    "cameras.ranges": TWO,
    "cameras.clip": TWO,
    "cameras.shows_cone": TRUE,
    "lights.color": COLOR,
    "lights.multiplier": LENGTH.map(lambda factor: factor + 1.5),
    "lights.on": FALSE,
    "lights.attenuated": TRUE,
    "lights.inner_range": LENGTH,
    "lights.outer_range": LENGTH,
    "lights.hotspot_degrees": st.integers(20, 40).map(float),
    "lights.falloff_degrees": st.integers(50, 90).map(float),
    "lights.roll_degrees": st.integers(1, 60).map(float),
    "lights.rectangular": TRUE,
    "lights.aspect": LENGTH.map(lambda share: share + 1.0),
    "lights.casts_shadows": TRUE,
    "lights.projector": st.just("SLIDE.TGA"),
    "lights.excludes": st.just(["thing"]),
    "environment.ambient": COLOR,
    "environment.background_color": COLOR,
    "environment.background_image": st.just("SKY.TGA"),
    "environment.gradient": st.builds(Gradient, UNIT, st.lists(COLOR, min_size=3, max_size=3)),
    "environment.fog": FOG,
    "environment.distance_cue": st.builds(Fog, LENGTH, LENGTH, LENGTH, LENGTH, st.none(), st.booleans()),
    "environment.layered_fog": st.builds(LayeredFog, LENGTH, LENGTH, LENGTH, st.integers(1, 3), COLOR),
    "environment.uses": st.sets(st.sampled_from(["background_color", "fog"]), min_size=1),
    "clips.name": WORD,
    "clips.current": st.integers(1, 9).map(float),
}
"""a value other than the default for every field that formats declare or report one by one"""

FEATURES: dict[str, tuple[str, st.SearchStrategy[Any]]] = {
    "title": ("scene.title", WORD),
    "author": ("scene.author", WORD),
    "copyright": ("scene.copyright", WORD),
    "hidden nodes": ("nodes.hidden", TRUE),
    "smoothing": ("meshes.smoothing", st.lists(st.integers(1, 9), min_size=2, max_size=2).map(np.array)),
    "cast shadows": ("meshes.casts_shadows", FALSE),
    "received shadows": ("meshes.receives_shadows", FALSE),
    "vertex colours": ("meshes.colors", st.lists(COLOR, min_size=4, max_size=4).map(np.array)),
}
"""fields that are reported as a feature"""

NEEDS = {"maps": "textures", "materials": "materials", "meshes": "meshes", "cameras": "cameras", "lights": "lights"}
"""the feature without which a part is not stored"""


def base_scene() -> Scene:
    """A moving object with a material and a map, a camera and a spot light."""
    places = np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 1], [1, 1, 5]])
    mesh = Mesh("thing", places, np.array([[0, 1, 2], [0, 2, 3]]), uv=places[:, :2] / 4)
    mesh.face_materials = np.zeros(2, np.int32)
    material = Material("paint")
    material.maps["texture1"] = TextureMap("WOOD.TGA")
    track = Track("position", np.array([0.0, 10.0]), np.array([[0.0, 0, 0], [1, 2, 3]]), Interpolation.LINEAR)
    eye, lamp = np.array([0.0, -20, 5]), np.array([5.0, -9, 9])
    return Scene(
        [
            Node("thing", NodeKind.OBJECT, mesh=0),
            Node("eye", NodeKind.CAMERA, camera=0, target=2, position=eye),
            Node("eye", NodeKind.TARGET),
            Node("lamp", NodeKind.LIGHT, light=0, target=4, position=lamp),
            Node("lamp", NodeKind.TARGET),
        ],
        meshes=[mesh],
        materials=[material],
        cameras=[Camera("eye")],
        lights=[Light("lamp", LightType.SPOT, hotspot_degrees=43.0, falloff_degrees=45.0)],
        clips=[Clip(channels=[Channel(0, track)], end=10.0)],
        space=Space("z"),
    )


def part_of(scene: Scene, part: str) -> Any:
    """The first part of a kind, or None."""
    if part == "scene":
        return scene
    if part == "environment":
        return scene.environment
    if part == "nodes":
        return next((node for node in scene.nodes if node.name == "thing"), None)
    if part == "maps":
        paint = part_of(scene, "materials")
        return None if paint is None else paint.maps.get("texture1")
    return next(iter(getattr(scene, part)), None)


def value_of(scene: Scene, word: str) -> Any:
    part, name = word.split(".")
    owner = part_of(scene, part)
    if word == "cameras.roll_degrees" and owner is not None:  # some formats store it as a key
        eye = next(number for number, node in enumerate(scene.nodes) if node.camera is not None)
        keys = [channel.track.values for channel in scene.channels_of(eye) if channel.track.kind == "roll"]
        return keys[0].reshape(-1)[0] if keys else owner.roll_degrees
    return GONE if owner is None else getattr(owner, name)


def alike(given: Any, actual: Any) -> bool:
    """Equal within the precision of 32 bits, of bytes for colours, and of lens angles."""
    if is_dataclass(given):
        return type(given) is type(actual) and all(
            alike(getattr(given, item.name), getattr(actual, item.name)) for item in fields(given)
        )
    if isinstance(given, dict):
        return (
            isinstance(actual, dict)
            and given.keys() == actual.keys()
            and all(alike(given[k], actual[k]) for k in given)
        )
    if isinstance(given, (list, tuple, np.ndarray)):
        return (
            isinstance(actual, (list, tuple, np.ndarray))
            and len(given) == len(actual)
            and all(alike(one, other) for one, other in zip(given, actual, strict=True))
        )
    if isinstance(given, (float, np.floating)):
        return isinstance(actual, (int, float, np.floating)) and bool(np.isclose(given, actual, rtol=1e-4, atol=1e-5))
    return bool(given == actual)


def saved_and_loaded(format: Format, scene: Scene, folder: Path) -> tuple[LossReport, Scene]:
    written = format.from_scene(scene)
    path = folder / f"made{format.extensions[0]}"
    path.write_bytes(keyframer.encode(written.document))
    for suffix, content in written.companions:
        path.with_suffix(suffix).write_bytes(content)
    return written.report, in_space(keyframer.load(path, format=format.name, **written.reader_options), scene.space)


def test_every_field_of_the_model_has_values() -> None:
    """A field that is added to the model fails here until it has values, and is then tested in every format."""
    assert set(VALUES) == {word for part in REPORTED_PARTS for word in all_fields(part)}


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, Any]:
    """Values for some fields, in the order of the model."""
    known = {**VALUES, **dict(FEATURES.values())}
    chosen = draw(st.sets(st.sampled_from(sorted(known)), max_size=12))
    return {word: draw(known[word]) for word in sorted(chosen)}


REPORTED_AS = {word: f"/{feature.replace(' ', '_')}" for feature, (word, _) in FEATURES.items()}
OWNERS = {
    "nodes": ("/nodes/thing",),
    "meshes": ("/nodes/thing",),
    "materials": ("/materials/paint",),
    "maps": ("/materials/paint", "/maps/WOOD.TGA"),
    "cameras": ("/cameras/eye", "/nodes/eye"),
    "lights": ("/lights/lamp", "/nodes/lamp"),
}
"""where writers report what they lose of the one part of a kind, if not as a field of all parts"""


def is_lost_with_its_part(word: str, dropped: set[str]) -> bool:
    """Whether the format cannot store the whole part, and reports that."""
    part = word.split(".")[0]
    return f"/{NEEDS.get(part, part)}" in dropped or (part == "maps" and "/materials" in dropped)


def is_reported(word: str, paths: set[str], usual: set[str]) -> bool:
    """Whether a loss is about a field; ``usual`` are the paths in the report of a scene with defaults."""
    part, name = word.split(".")
    if {f"/{part}/{name}", REPORTED_AS.get(word, "")} & paths:
        return True
    return any(path.startswith(owner) for path in paths - usual for owner in OWNERS.get(part, ()))


@functools.cache
def usual_paths(format: Format) -> set[str]:
    return {loss.path for loss in format.from_scene(base_scene()).report}


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500 if SLOW else 60)
@given(values=settings_of())
def test_reports_are_true(format: Format, values: dict[str, Any], tmp_path: Path) -> None:
    scene = base_scene()
    for word, value in values.items():
        setattr(part_of(scene, word.split(".")[0]), word.split(".")[1], value)
    report, loaded = saved_and_loaded(format, scene, tmp_path)
    usual = usual_paths(format)
    dropped = {loss.path for loss in report.of(Outcome.DROPPED)}
    changed = {loss.path for loss in report if loss.outcome is not Outcome.EXACT}
    for word, value in values.items():
        survives = alike(value, value_of(loaded, word))
        if is_lost_with_its_part(word, dropped) or f"/{word.replace('.', '/')}" in dropped:
            assert not survives, f"{word} is reported as dropped, and survives"
        elif not is_reported(word, changed, usual):
            assert survives, f"{word} is lost without a report: {value} became {value_of(loaded, word)}"
    for part in REPORTED_PARTS:
        for word in all_fields(part):
            assert word in values or f"/{word.replace('.', '/')}" not in dropped, f"{word} has its default"


# Motion and shape: pivots, skins, morphs and tracks

FRAMES = np.arange(11.0)
NEAR = 5e-3
"""a little more than writers may move a vertex of this scene, and less than any change that is drawn"""


def keys(kind: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[Track]:
    """Two or three linear keys at whole frames; steps for visibility."""
    way = Interpolation.STEP if kind == "visible" else Interpolation.LINEAR
    form = RotationForm.QUATERNION_ABSOLUTE if kind in ("rotation", "scale_axes") else RotationForm.NONE
    times = st.sampled_from([(0.0, 10.0), (0.0, 4.0, 10.0), (0.0, 5.0, 9.0)])
    return times.flatmap(
        lambda chosen: st.lists(value, min_size=len(chosen), max_size=len(chosen), unique_by=repr).map(
            lambda rows: Track(kind, np.array(chosen), np.array(rows), way, form=form)
        )
    )


def turn(sixteenths: int) -> tuple[float, ...]:
    angle = sixteenths * np.pi / 16
    return (0.0, float(np.sin(angle)), 0.0, float(np.cos(angle)))


DEGREES = st.integers(10, 40).map(float)
SIZE = st.integers(8, 32).map(lambda number: number / 16)
THREE = st.tuples(LENGTH, LENGTH, LENGTH)
TRACKS: dict[str, st.SearchStrategy[Track]] = {
    "thing.rotation": keys("rotation", st.integers(-3, 3).map(turn)),
    "thing.scale": keys("scale", st.tuples(SIZE, SIZE, SIZE)),
    "thing.scale_axes": keys("scale_axes", st.integers(-3, 3).map(turn)),
    "thing.visible": st.just(Track("visible", np.array([0.0, 5.0]), np.array([1.0, 0.0]), Interpolation.STEP)),
    "eye.position": keys("position", THREE),
    "eye.fov": keys("fov", DEGREES),
    "eye.roll": keys("roll", DEGREES),
    "lamp.position": keys("position", THREE),
    "lamp.roll": keys("roll", DEGREES),
    "lamp.color": keys("color", COLOR),
    "lamp.multiplier": keys("multiplier", LENGTH.map(lambda factor: factor + 1.5)),
    "lamp.hotspot": keys("hotspot", DEGREES),
    "lamp.falloff": keys("falloff", DEGREES.map(lambda angle: angle + 40.0)),
}
WEIGHTS = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.5, 0.25], [0.0, 1.0]])]
SHAPED: dict[str, st.SearchStrategy[Any]] = {
    "pivot": THREE,
    "scale axes": st.integers(1, 7).map(turn),
    "morph": st.sampled_from(WEIGHTS),
    "skin": st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=4, max_size=4),
}
"""what changes the vertices of the object"""


@st.composite
def moved_scenes(draw: st.DrawFn) -> tuple[Scene, frozenset[str]]:
    """The base scene with some tracks and shapes, and their names."""
    chosen = draw(st.sets(st.sampled_from(sorted({**TRACKS, **SHAPED})), max_size=5))
    scene = base_scene()
    numbers = {"thing": 0, "eye": 1, "lamp": 3}
    for word in sorted(chosen & set(TRACKS)):
        node, _ = word.split(".")
        scene.clips[0].channels.append(Channel(numbers[node], draw(TRACKS[word])))
    drawn = {word: draw(SHAPED[word]) for word in sorted(chosen & set(SHAPED))}
    thing, places = scene.nodes[0], scene.meshes[0].positions
    if "pivot" in drawn:
        thing.pivot = np.array(drawn["pivot"])
    if chosen & {"scale axes", "thing.scale_axes"}:
        thing.scale = np.array([1.0, 2.0, 1.5])
    if "scale axes" in drawn:
        thing.scale_axes_xyzw = np.array(drawn["scale axes"])
    if "morph" in drawn:
        thing.morph = Morph(["wide", "tall"], [places * (2.0, 1, 1), places * (1.0, 1, 2)])
        track = Track("morph", np.array([0.0, 10.0]), drawn["morph"], Interpolation.LINEAR)
        scene.clips[0].channels.append(Channel(0, track))
    if "skin" in drawn:
        hip, knee = len(scene.nodes), len(scene.nodes) + 1
        scene.nodes += [
            Node("hip", NodeKind.BONE, position=np.array([0.5, 0, 0])),
            Node("knee", NodeKind.BONE, hip, position=np.array([0, 0, 2.0])),
        ]
        binds = np.array([np.eye(4), np.eye(4)])
        binds[:, :3, 3] = [[-0.5, 0, 0], [-0.5, 0, -2]]
        vertices, influences = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
        weights = np.array([share for part in drawn["skin"] for share in (part, 1.0 - part)])
        used = weights > 0
        scene.skins.append(Skin("thing", [hip, knee], binds, vertices[used], influences[used], weights[used]))
        thing.skin = 0
        bend = np.array([turn(0), turn(3)])
        form = RotationForm.QUATERNION_ABSOLUTE
        track = Track("rotation", np.array([0.0, 10.0]), bend, Interpolation.LINEAR, form=form)
        scene.clips[0].channels.append(Channel(knee, track))
    return scene, frozenset(chosen)


def observations(scene: Scene) -> dict[str, Any]:
    """What the frames of a scene show, by name; parts that the scene does not have are missing."""
    posed = keyframer.pose(scene, frames=FRAMES)
    actual: dict[str, Any] = {}
    names = [node.name for node in scene.nodes]
    carriers = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    carriers.sort(key=lambda number: names[number] != "thing")
    if carriers:
        actual["shape"] = posed.vertices(carriers[0])
    if carriers or "thing" in names:
        number = carriers[0] if carriers else names.index("thing")
        actual["motion"], actual["thing.visible"] = posed.world[:, number], posed.visible[:, number]
    for number, node in enumerate(scene.nodes):
        if node.camera is not None:
            actual["eye.position"] = posed.world[:, number, :3, 3]
            actual["eye.roll"] = posed.world[:, number, :3, :3]
            actual["eye.fov"] = posed.camera_fov_degrees[:, node.camera]
        if node.light is not None:
            actual["lamp.position"] = posed.world[:, number, :3, 3]
            actual["lamp.roll"] = posed.world[:, number, :3, :3]
            actual["lamp.color"] = posed.light_colors[:, node.light]
            actual["lamp.multiplier"] = posed.light_multipliers[:, node.light]
            actual["lamp.hotspot"] = posed.light_hotspot_degrees[:, node.light]
            actual["lamp.falloff"] = posed.light_falloff_degrees[:, node.light]
    return actual


def looks_alike(word: str, given: Any, actual: Any) -> bool:
    if word == "shape":  # vertices may be in another order, or repeated
        apart = np.linalg.norm(given[:, :, None] - actual[:, None], axis=-1).min(axis=2)
        return bool((apart < NEAR).all())
    return bool(np.abs(np.asarray(given, np.float64) - np.asarray(actual, np.float64)).max() < NEAR * 4)


FEATURE_PATHS = {"pivot": "/pivots", "skin": "/skins", "morph": "/morphs", "scale axes": "/scale_axes"}


def observation_of(word: str) -> str:
    """The observation that a track or shape affects."""
    return "shape" if word in (*SHAPED, "thing.rotation", "thing.scale", "thing.scale_axes") else word


def loss_paths(word: str) -> tuple[str, ...]:
    """Beginnings of the paths of losses about an observation."""
    if word in ("shape", "motion"):
        return ("/nodes/thing", "/nodes/hip", "/nodes/knee", "/meshes", "/channels/scale", *FEATURE_PATHS.values())
    node, kind = word.split(".")
    return (f"/nodes/{node}", f"/channels/{kind}", *([] if node == "thing" else [f"/{PLURALS[node]}"]))


PLURALS = {"eye": "cameras", "lamp": "lights"}


def lost_observations(format: Format, scene: Scene, folder: Path) -> tuple[LossReport, set[str], dict[str, Any]]:
    """Return the report on a written scene, the observations that are lost, and those of the scene that is read."""
    report, loaded = saved_and_loaded(format, scene, folder)
    given, actual = observations(scene), observations(loaded)
    if "shape" in actual:  # its node may have another origin
        del given["motion"]
    lost = {word for word in given if word not in actual or not looks_alike(word, given[word], actual[word])}
    return report, lost, actual


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500 if SLOW else 60)
@given(moved=moved_scenes())
def test_reports_about_motion_and_shape_are_true(
    format: Format, moved: tuple[Scene, frozenset[str]], tmp_path: Path
) -> None:
    scene, chosen = moved
    report, lost, actual = lost_observations(format, scene, tmp_path)
    _, always_lost, _ = lost_observations(format, base_scene(), tmp_path)
    usual = usual_paths(format)
    dropped = {loss.path for loss in report.of(Outcome.DROPPED)} - usual
    changed = {loss.path for loss in report if loss.outcome is not Outcome.EXACT}
    for word in sorted(lost):
        paths = changed - usual if word in actual and word not in always_lost else changed
        assert any(path.startswith(loss_paths(word)) for path in paths), (
            f"{word} is lost without a report: {list(report)}"
        )
    for word in sorted(chosen):
        node, _, kind = word.partition(".")
        stated = {FEATURE_PATHS.get(word, f"/channels/{kind}"), f"/nodes/{node}/{kind}"}
        is_unseen = "skin" in chosen and observation_of(word) == "shape" and word not in ("skin", "morph")
        if stated & dropped and not is_unseen:  # a skin moves with its joints, not with its node
            assert observation_of(word) in lost, f"{word} is reported as dropped, and survives: {list(report)}"
