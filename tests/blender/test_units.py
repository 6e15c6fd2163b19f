"""A 3D Studio file that goes through Blender keeps its numbers and its unit, in each version of Blender."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds.records import MasterScale, PointArray
from keyframer.posing.bounds_and_duration import scene_size
from tests.blender.outside import EACH_VERSION, ROOT, ask
from tests.corpus import CORPUS

WINDMILL = ROOT / "examples" / "windmill.3ds"
REAL = ("blitz-research__blitz3d__mak_running.3DS", "jumalauta__red2.3ds", "jumalauta__cheese.3ds")
SINGLE = 2e-6
"""relative error of a few operations in single precision"""
MOTION = 1e-4
"""largest error of motion that is fitted on import and on export, relative to the size of the scene"""


def with_master_scale(scale: float, folder: Path) -> Path:
    """Write the windmill in another unit."""
    document: Any = keyframer.read(WINDMILL)
    document.first(MasterScale).scale = scale
    path = folder / f"{scale}.3ds"
    keyframer.write(document, path)
    return path


def scale_of(path: Path) -> float:
    (found,) = keyframer.read(path).find(MasterScale)
    return found.scale


Returned = dict[str, tuple[Path, Path, dict[str, Any]]]
"""source, exported file, and what Blender answered, by the name of the source"""


@pytest.mark.parametrize("version", EACH_VERSION)
def test_3ds_through_blender_keeps_numbers_and_unit(archive: Path, tmp_path: Path, version: str) -> None:
    returned = through_blender(archive, tmp_path, version)
    check_units(returned)
    check_vertices(returned)
    check_stored_vertices(returned)
    check_position_keys(returned)
    check_positions_of_nodes(returned)


def through_blender(archive: Path, folder: Path, version: str) -> Returned:
    """Import files into empty scenes, and export them again."""
    sources = [WINDMILL, with_master_scale(0.03937008, folder), with_master_scale(39.37008, folder)]
    sources += [CORPUS / "3ds" / name for name in REAL if CORPUS.is_dir()]
    targets = [folder / f"{number}-returned.3ds" for number in range(len(sources))]
    requests = [
        {
            "do": "export",
            "operator": {"filepath": str(source)},
            "select": [],
            "exporter": {"filepath": str(target), "into": "NEW"},
        }
        for source, target in zip(sources, targets, strict=True)
    ]
    answers = [answer.said for answer in ask(archive, requests, folder, version)]
    return {source.name: row for source, *row in zip(sources, sources, targets, answers, strict=True)}  # type: ignore[misc]


def check_vertices(returned: Returned) -> None:
    for name, (source, target, _) in returned.items():
        wanted, found = keyframer.load(source), keyframer.load(target)
        size, compared = scene_size(wanted), 0
        before, after = keyframer.pose(wanted, frames=[0.0]), keyframer.pose(found, frames=[0.0])
        names = [node.name for node in wanted.nodes]
        for number, node in enumerate(wanted.nodes):
            if node.mesh is None or names.count(node.name) > 1 or not len(wanted.meshes[node.mesh].positions):
                continue
            own = before.vertices(number)[0]
            shown = after.vertices(found.find(node.name))[0]
            assert len(own) == len(shown), (name, node.name)
            assert np.abs(own - shown).max() <= SINGLE * size, (name, node.name)
            compared += 1
        assert compared > 3, name


def check_stored_vertices(returned: Returned) -> None:
    source, target, _ = returned["windmill.3ds"]
    before, after = (
        np.concatenate([found.points for found in keyframer.read(path).find(PointArray)]) for path in (source, target)
    )
    order = [np.lexsort(np.rint(points * 100).T) for points in (before, after)]
    assert np.abs(before[order[0]] - after[order[1]]).max() <= SINGLE * np.abs(before).max()


def check_position_keys(returned: Returned) -> None:
    compared = 0
    for name, (source, target, _) in returned.items():
        wanted, found = keyframer.load(source), keyframer.load(target)
        names = [node.name for node in wanted.nodes]
        tracks = {
            found.nodes[channel.node].name: channel.track
            for channel in found.clips[0].channels
            if channel.track.kind == "position"
        }
        for channel in wanted.clips[0].channels:
            node = wanted.nodes[channel.node]
            single = names.count(node.name) == 1 and node.mesh is not None
            if channel.track.kind != "position" or not single:
                continue
            inside = channel.track.times <= wanted.clips[0].end
            values = keyframer.compile_track(tracks[node.name])(channel.track.times[inside])
            off = np.abs(values - channel.track.values[inside]).max()
            assert off <= MOTION * scene_size(wanted), (name, node.name)
            compared += 1
    assert compared > 10


def check_units(returned: Returned) -> None:
    """The unit of the source is that of the scene and of the exported file."""
    for name, (source, target, answer) in returned.items():
        assert answer["result"] == ["FINISHED"], name
        stated, written = (scale_of(path) for path in (source, target))
        assert answer["unit"][0] == pytest.approx(stated * 0.0254, rel=1e-6), name
        in_metres = stated == pytest.approx(39.37008)
        assert written == (1.0 if in_metres else pytest.approx(stated, rel=1e-6)), name
        assert ("master scale 1 means inches" in answer["text"]) == in_metres, name


def check_positions_of_nodes(returned: Returned) -> None:
    for name, (source, target, _) in returned.items():
        wanted, found = keyframer.load(source), keyframer.load(target)
        frames = np.arange(wanted.clips[0].start, wanted.clips[0].end + 1)
        before, after = keyframer.pose(wanted, frames=frames), keyframer.pose(found, frames=frames)
        names = [node.name for node in wanted.nodes]
        for number, node in enumerate(wanted.nodes):
            if names.count(node.name) > 1 or node.mesh is None:
                continue
            places = after.world[:, found.find(node.name), :3, 3]
            off = np.abs(before.world[:, number, :3, 3] - places).max()
            assert off <= MOTION * scene_size(wanted), (name, node.name, off)
