"""Every sample of every format as GLB, and a real Hale3D animation with its model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.formats import FORMATS
from keyframer.scene import Channel, Node
from tests.building.gltf_scenes import SCENES
from tests.corpus import CORPUS, needs_corpus
from tests.exchange.players import cases_of, in_sampler, in_three, troubles
from tests.exchange.truth import assert_valid, glb_of, largest_differences, moments, needs_node_tools
from tests.exchange.vertex_players import Player, in_babylon, in_vtk, needs_babylon, needs_vtk
from tests.oracles.gltf.sampler import Gltf
from tests.samples import sample_files


def loadable(name: str) -> list[tuple[Path, keyframer.Scene]]:
    scenes = []
    for path in sample_files(name):
        try:
            scenes.append((path, keyframer.load(path, salvage=True)))
        except keyframer.FormatError:
            continue
    return scenes


@needs_node_tools
@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_validator_finds_no_errors_and_no_warnings(name: str, tmp_path: Path) -> None:
    paths = []
    for path, scene in loadable(name):
        paths.append(tmp_path / f"{path.name}.glb")
        paths[-1].write_bytes(glb_of(scene)[0])
    assert_valid(paths)


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_nodes_are_where_the_pose_has_them(name: str) -> None:
    for path, scene in loadable(name):
        data, report = glb_of(scene)
        gltf = Gltf(data)
        seconds = np.zeros(1)
        if "animations" in gltf.json:
            seconds = moments(gltf, np.random.default_rng(2))
        differences = largest_differences(scene, gltf, seconds)
        assert max(differences) <= 1e-4 * report.measured["size"], path.name


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_nothing_is_written_twice_or_without_use(name: str) -> None:
    """Materials may be unused: they are those of the source."""
    for path, scene in loadable(name):
        for compact in (False, True):
            gltf = Gltf(glb_of(scene, compact=compact)[0])
            root = gltf.json
            primitives = [part for mesh in root.get("meshes", ()) for part in mesh["primitives"]]
            vertices = [part["attributes"] for part in primitives]
            vertices += [target for part in primitives for target in part.get("targets", ())]
            samplers = [sampler for animation in root.get("animations", ()) for sampler in animation["samplers"]]
            accessors = {
                *(number for arrays in vertices for number in arrays.values()),
                *(part["indices"] for part in primitives),
                *(sampler[end] for sampler in samplers for end in ("input", "output")),
                *(skin["inverseBindMatrices"] for skin in root.get("skins", ())),
            }
            assert accessors == set(range(len(root.get("accessors", ())))), path.name
            for kind, link in (("meshes", "mesh"), ("skins", "skin"), ("cameras", "camera")):
                used = {node[link] for node in gltf.nodes if link in node}
                assert used == set(range(len(root.get(kind, ())))), (path.name, kind)
            written = [
                (entry["componentType"], entry["type"], gltf.accessor(number).tobytes(), "min" in entry)
                for number, entry in enumerate(root.get("accessors", ()))
            ]
            assert len(set(written)) == len(written), path.name


@needs_node_tools
def test_three_js_and_the_sampler_match_the_pose(tmp_path: Path) -> None:
    samples = [(path.name, scene) for known in FORMATS for path, scene in loadable(known.name)]
    cases = [case for case in cases_of(samples) if case.animation is not None]
    assert len(cases) > 25
    differences = [*in_three(cases, tmp_path, 8)]
    differences += [(case, in_sampler(case, case.seconds(np.random.default_rng(5), 40))) for case in cases]
    assert [trouble for case, difference in differences for trouble in troubles(case, difference)] == []


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def appearing() -> keyframer.Scene:
    """Return a scene with an object that is hidden at the start, and with a field of view that changes."""
    scene = SCENES["looking"]()
    scene.nodes.append(Node("appears", mesh=0))
    track = Track("visible", np.array([0.0, 9.0, 21.0]), np.array([[0.0], [1.0], [0.0]]), Interpolation.STEP)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, track))
    return scene


@pytest.mark.parametrize("play", [pytest.param(in_babylon, marks=needs_babylon), pytest.param(in_vtk, marks=needs_vtk)])
def test_other_players_draw_the_pose(play: Player, tmp_path: Path) -> None:
    """Vertices and visibility at ten times, in Babylon.js and VTK."""
    scenes = [(path.name, scene) for known in FORMATS for path, scene in loadable(known.name)]
    scenes += [(path.name, keyframer.load(path)) for path in EXAMPLES.glob("*.3ds")]
    scenes += [(name, make()) for name, make in SCENES.items() if name != "sick"]
    compared = [*play(cases_of([*scenes, ("appearing", appearing())]), tmp_path)]
    assert len(compared) > 45
    assert [difference for _, differences in compared for difference in differences] == []


@needs_corpus
def test_real_hale3d_animation_with_its_model() -> None:
    folder = CORPUS / "hale3d"
    scene = keyframer.load(folder / "bob_lamp_update.anim", model=folder / "bob_lamp_update.mdl")
    assert scene.skins
    data, report = glb_of(scene)
    gltf = Gltf(data)
    assert len(gltf.json["skins"]) == len(scene.skins)
    origins, shapes = largest_differences(scene, gltf, moments(gltf, np.random.default_rng(2), 60), vertices=60)
    assert origins <= 1e-5 * report.measured["size"]
    assert shapes <= 1e-4 * report.measured["size"]


@needs_corpus
def test_makbot_matches_its_pose() -> None:
    """Its pose is compared with the motion of the .x version elsewhere."""
    scene = keyframer.load(CORPUS / "makbot" / "mak_running.3DS")
    data, report = glb_of(scene)
    gltf = Gltf(data)
    differences = largest_differences(scene, gltf, moments(gltf, np.random.default_rng(2), 200), vertices=20)
    assert max(differences) <= 1e-4 * report.measured["size"]
