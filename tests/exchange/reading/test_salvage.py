"""``load(…, salvage=True)``: unsafe parts are left out and listed with their paths, the other parts are kept."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.errors import FormatError
from keyframer.scene import Scene
from tests.building.gltf import Json, glb, loaded, split_glb
from tests.building.gltf_scenes import SCENES
from tests.exchange.truth import glb_of
from tests.slow import SLOW


def two_of_each() -> tuple[Json, bytes]:
    """Return two triangles on two nodes, two cameras, two lights, two materials, and an animation of both nodes."""
    places = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0)], "<f4").tobytes()
    binary = places + np.array([0, 1], "<f4").tobytes() + np.array([(0, 0, 0), (5, 0, 0)], "<f4").tobytes()
    light = {"KHR_lights_punctual": {"light": 1}}
    view = {"buffer": 0, "byteOffset": 0, "byteLength": 36}
    root: Json = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 2]}],
        "extensionsUsed": ["KHR_lights_punctual"],
        "extensions": {"KHR_lights_punctual": {"lights": [{"type": "point", "name": name} for name in "ab"]}},
        "nodes": [
            {"name": "top", "mesh": 0, "children": [1]},
            {"name": "below", "mesh": 1, "camera": 0},
            {"name": "other", "camera": 1, "extensions": light},
        ],
        "cameras": [
            {"name": "near", "type": "perspective", "perspective": {"yfov": 1, "znear": 1}},
            {"name": "far", "type": "perspective", "perspective": {"yfov": 0.5, "znear": 1}},
        ],
        "materials": [{"name": "one"}, {"name": "two"}],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0}, "material": number} for number in (0, 1)]},
            {"primitives": [{"attributes": {"POSITION": 0}}]},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5126, "count": 2, "type": "VEC3"},
        ],
        "bufferViews": [view,
            {**view, "byteOffset": 36, "byteLength": 8}, {**view, "byteOffset": 44, "byteLength": 24}],
        "buffers": [{"byteLength": 68}],
        "animations": [
            {
                "samplers": [{"input": 1, "output": 2}],
                "channels": [
                    {"sampler": 0, "target": {"node": 0, "path": "translation"}},
                    {"sampler": 0, "target": {"node": 2, "path": "translation"}},
                ],
            }
        ],
    }  # fmt: skip
    return root, binary


def _summary(scene: Scene) -> tuple[Any, ...]:
    faces = [len(mesh.corners) for mesh in scene.meshes]
    channels = [len(clip.channels) for clip in scene.clips]
    return (
        [node.parent for node in scene.nodes],
        faces,
        len(scene.cameras),
        len(scene.lights),
        len(scene.materials),
        channels,
    )


def _with_value(root: Json, place: str, value: Any) -> Json:
    spoiled = copy.deepcopy(root)
    *way, last = [int(part) if part.isdigit() else part for part in place.split("/")[1:]]
    inside: Any = spoiled
    for part in way:
        inside = inside[part]
    inside[last] = value
    return spoiled


TREE = [None, 0, None]
WHOLE = (TREE, [2, 1], 2, 2, 2, [2])
CASES: list[tuple[str, Any, str, tuple[Any, ...]]] = [
    ("/meshes/0/primitives/1/attributes/POSITION", 9, "LINK_INDEX_OUT_OF_RANGE", (TREE, [1, 1], 2, 2, 2, [2])),
    ("/meshes/0/primitives/1", 9, "STRUCT_SYNTAX", (TREE, [1, 1], 2, 2, 2, [2])),
    ("/meshes/1/primitives", [], "STRUCT_CHUNK_MISSING", (TREE, [2], 2, 2, 2, [2])),
    ("/animations/0/channels/1/sampler", 4, "LINK_INDEX_OUT_OF_RANGE", (TREE, [2, 1], 2, 2, 2, [1])),
    ("/animations/0/channels/0/target", [], "STRUCT_SYNTAX", (TREE, [2, 1], 2, 2, 2, [1])),
    ("/accessors/2/count", 50, "STRUCT_COUNT_EXCEEDS_DATA", (TREE, [2, 1], 2, 2, 2, [0])),
    ("/nodes/0/children", [1, 77], "LINK_INDEX_OUT_OF_RANGE", WHOLE),
    ("/nodes/2/children", [1], "LINK_RANGE_OVERLAP", WHOLE),
    ("/nodes/1/children", [0], "LINK_PARENT_CYCLE", WHOLE),
    ("/nodes/2/translation", [1, 2], "STRUCT_SYNTAX", WHOLE),
    ("/scenes/0/nodes", [0, 2, 12], "LINK_INDEX_OUT_OF_RANGE", WHOLE),
    ("/cameras/0/type", "fisheye", "SEM_UNKNOWN_ENUM", (TREE, [2, 1], 1, 2, 2, [2])),
    ("/extensions/KHR_lights_punctual/lights/0/type", "sun", "SEM_UNKNOWN_ENUM", (TREE, [2, 1], 2, 1, 2, [2])),
    ("/materials/0/alphaMode", 3, "STRUCT_SYNTAX", (TREE, [2, 1], 2, 2, 1, [2])),
    ("/extensionsRequired", ["KHR_unheard_of"], "SEM_EXTENSION_UNKNOWN", WHOLE),
    ("/buffers/0/byteLength", 4000, "STRUCT_TRUNCATED", WHOLE),
]  # fmt: skip


def test_valid_file_loses_nothing() -> None:
    assert _summary(loaded(glb(*two_of_each()), salvage=True)) == WHOLE
    assert not loaded(glb(*two_of_each()), salvage=True).issues.total


@pytest.mark.parametrize(("place", "value", "code", "rest"), CASES)
def test_one_part_is_left_out(place: str, value: Any, code: str, rest: tuple[Any, ...]) -> None:
    root, binary = two_of_each()
    data = glb(_with_value(root, place, value), binary)
    with pytest.raises(FormatError) as caught:
        loaded(data)
    assert caught.value.code == code
    assert 20 <= caught.value.offset < len(data)
    scene = loaded(data, salvage=True)
    assert _summary(scene) == rest
    first = scene.issues.first_unsafe()
    assert (first.code, first.path, first.offset) == (code, caught.value.path, caught.value.offset)
    keyframer.pose(scene, frames=[0, 10])


def test_nodes_keep_their_cameras_lights_and_materials() -> None:
    root, binary = two_of_each()
    spoiled = _with_value(
        _with_value(root, "/cameras/0/type", "fisheye"), "/extensions/KHR_lights_punctual/lights/0/type", "sun"
    )
    scene = loaded(glb(spoiled, binary), salvage=True)
    assert scene.nodes[1].camera is None
    assert scene.cameras[scene.nodes[2].camera or 0].name == "far"
    assert scene.lights[scene.nodes[2].light or 0].name == "b"
    spoiled = _with_value(root, "/materials/0/alphaMode", 3)
    scene = loaded(glb(spoiled, binary), salvage=True)
    assert scene.meshes[0].face_materials.tolist() == [-1, 0]
    assert scene.materials[0].name == "two"


def test_truncated_file_keeps_its_complete_parts() -> None:
    data = glb(*two_of_each())
    cut = data[:-26]  # into the values of the animation
    with pytest.raises(FormatError, match="STRUCT_TRUNCATED at 0x8 in /"):
        loaded(cut)
    scene = loaded(cut, salvage=True)
    assert _summary(scene) == (TREE, [2, 1], 2, 2, 2, [0])
    codes = set(scene.issues.counts)
    assert codes == {"STRUCT_TRUNCATED", "STRUCT_CHUNK_OVERRUN", "STRUCT_COUNT_EXCEEDS_DATA"}


def test_salvage_does_not_exceed_limits() -> None:
    root, binary = two_of_each()
    root["accessors"][0] = {"componentType": 5126, "count": 2**40, "type": "VEC3"}
    with pytest.raises(FormatError, match="LIMIT_COPIES"):
        loaded(glb(root, binary), salvage=True)


_VALUES = (
    None,
    True,
    -1,
    0,
    1,
    7,
    2**31,
    10**30,
    1e308,
    1.5,
    "",
    "x",
    [],
    {},
    [0, 0, 0],
    [[]],
    "MAT4",
    5126,
    [None] * 3,
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    places, waiting = [], [value]
    while waiting:
        inside = waiting.pop()
        for key in list(inside) if isinstance(inside, dict) else range(len(inside)):
            places.append((inside, key))
            if isinstance(inside[key], (dict, list)):
                waiting.append(inside[key])
    return places


@pytest.mark.parametrize("seed", range(4 if SLOW else 2))
@pytest.mark.parametrize(
    "name", ["splines", "left_handed", "looking", "hidden", "morphing", "skinned", "straight", "foreign"]
)
def test_any_value_anywhere_can_be_salvaged(name: str, seed: int) -> None:
    """The result is a scene that can be posed and saved, or `FormatError`; it lists what strict reading refuses."""
    root, binary = two_of_each() if name == "foreign" else split_glb(glb_of(SCENES[name]())[0])
    dice = random.Random(f"{name} {seed}")
    for _ in range(25):
        spoiled = copy.deepcopy(root)
        for _ in range(dice.randint(1, 3)):
            inside, key = dice.choice(_places(spoiled))
            inside[key] = copy.deepcopy(dice.choice(_VALUES))
        data = glb(spoiled, binary)
        refusal = _refusal(lambda data=data: loaded(data))
        try:
            scene = loaded(data, salvage=True)
        except FormatError:
            assert refusal is not None
            continue
        first = scene.issues.first_unsafe()
        assert (first is None) == (refusal is None)
        with np.errstate(all="ignore"):
            pose = keyframer.pose(scene, frames=[0, 5.5])
            for number in range(len(scene.nodes)):
                pose.vertices(number)


def _refusal(read: Callable[[], Scene]) -> FormatError | None:
    try:
        read()
    except FormatError as error:
        return error
    return None


def test_offsets_of_issues_in_text_files() -> None:
    root, _ = two_of_each()
    del root["buffers"]
    text = "\ufeff" + json.dumps({"é": "ü", **root}, ensure_ascii=False, indent=1)
    with pytest.raises(FormatError) as caught:
        loaded(text.encode())
    assert caught.value.path == "/bufferViews[0]/buffer"
    assert text.encode()[caught.value.offset :].startswith(b'0,\n   "byteOffset"')
