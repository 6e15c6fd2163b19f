"""Every sample and example, played by Blender, against `keyframer.pose`."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyframer
from keyframer.errors import FormatError
from tests.blender.outside import ROOT, Answer, Case, ask, needs_blender, ten_frames

pytestmark = needs_blender
SAMPLES = [*sorted((ROOT / "tests" / "samples").glob("*/*")), *sorted((ROOT / "examples").glob("*"))]


def cases() -> list[Case]:
    found = []
    for path in SAMPLES:
        if path.is_dir() or path.suffix in (".py", ".pyc"):
            continue
        try:
            scene = keyframer.load(path, salvage=True)
        except FormatError:
            continue
        for clip in range(max(1, len(scene.clips))):
            found.append(Case(path, scene, ten_frames(scene, clip), clip, {"salvage": True}))
    return found


@pytest.fixture(scope="module")
def played(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Answer]]:
    every = cases()
    answers = ask(archive, [case.request() for case in every], tmp_path_factory.mktemp("samples"))
    return list(zip(every, answers, strict=True))


def test_blender_plays_every_sample_as_keyframer_does(played: list[tuple[Case, Answer]]) -> None:
    assert len(played) > 40
    refused = [(case.path.name, answer.said) for case, answer in played if "FINISHED" not in answer.said["result"]]
    assert not refused
    troubles = [trouble for case, answer in played for trouble in case.troubles(answer)]
    assert not troubles, "\n".join(troubles)
