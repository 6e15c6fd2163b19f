"""The loss report gives the source of each loss in the file: path and offset of the record, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyframer
from keyframer.exchange.gltf.write import export
from tests.samples import FOLDER

SAMPLES = {
    "3ds/windmill.3ds": {"/nodes/": "/4d4d/b000/b00", "/materials/": "/4d4d/3d3d/afff", "/meshes/": "/4d4d/3d3d/4000"},
    "uto3d/flexporter.u3d": {"/nodes/": "/", "/meshes/": "/"},
    "hale3d/wave-nul-ended.anim": {"/nodes/": "/animation/joint"},
    "midtown/retail.anim": {"/nodes/": "/clip/channel"},
    "nodeanim/default_mixed.nanim": {"/nodes/": "/"},
}
"""parts of the scene that the report speaks of, and how the paths of their records begin"""


@pytest.mark.parametrize("name", SAMPLES)
def test_path_and_offset(name: str) -> None:
    path: Path = FOLDER / name
    scene = keyframer.load(path)
    places = {str(place): record for place, record in scene.origin.document.walk()}
    report = export(scene)[1]
    entries = report.as_dict()["losses"]
    for part, beginning in SAMPLES[name].items():
        sources = [
            entry
            for entry in entries
            if entry["path"].startswith(part) and entry["code"] != "EXTRAS_KEPT"  # of several parts
        ]
        assert sources, part
        for entry in sources:
            source = entry["source"]
            assert source["path"].startswith(beginning)
            assert places[source["path"]].offset == source["offset"]


def test_offsets_in_3ds_are_those_of_chunks() -> None:
    """The bytes at the offset are the id that ends the path."""
    path = FOLDER / "3ds" / "windmill.3ds"
    data = path.read_bytes()
    entries = export(keyframer.load(path))[1].as_dict()["losses"]
    sources = [entry["source"] for entry in entries if "source" in entry]
    assert len(sources) > 10
    for source in sources:
        wanted = int(source["path"].rsplit("/")[-1].split("[")[0], 16)
        assert int.from_bytes(data[source["offset"] : source["offset"] + 2], "little") == wanted


def test_paths_in_a_companion_are_marked() -> None:
    scene = keyframer.load(FOLDER / "hale3d" / "wave-nul-ended.anim", model=FOLDER / "hale3d" / "arm-nul-ended.mdl")
    entries = export(scene)[1].as_dict()["losses"]
    sources = [entry["source"]["path"] for entry in entries if entry["path"].startswith("/meshes/")]
    assert sources
    assert all(path.startswith("/companion/arm-nul-ended.mdl/model") for path in sources)


@pytest.mark.parametrize("name", SAMPLES)
def test_source_locations_do_not_change_what_is_written(name: str, tmp_path: Path) -> None:
    path = FOLDER / name
    scene = keyframer.load(path)
    for part in (*scene.nodes, *scene.meshes, *scene.materials, *scene.cameras, *scene.lights):
        part.extras.clear()
    target = tmp_path / f"again{path.suffix}"
    keyframer.save(scene, target, format=path.parent.name)
    assert target.read_bytes() == path.read_bytes()
