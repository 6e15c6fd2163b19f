"""Each version of Blender plays the animated files of the corpus as `keyframer.pose` does."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import keyframer
from keyframer.errors import FormatError
from tests.blender.outside import EACH_VERSION, Case, ask, frames_to_play
from tests.corpus import animation_files, needs_corpus

pytestmark = needs_corpus


@cache
def animated() -> list[Case]:
    """Return every animated file; those of more than 1,000,000 vertices take too long."""
    files = []
    for path in animation_files():
        try:
            scene = keyframer.load(path, salvage=True)
        except (FormatError, OSError):
            continue
        moving = any(len(channel.track.times) > 1 for clip in scene.clips for channel in clip.channels)
        if moving and sum(len(mesh.positions) for mesh in scene.meshes) < 1_000_000:
            files.append(Case(path, scene, frames_to_play(scene), 0, {"salvage": True}))
    return files


@pytest.mark.parametrize("version", EACH_VERSION)
def test_blender_plays_the_animated_corpus_as_keyframer_does(archive: Path, tmp_path: Path, version: str) -> None:
    cases = animated()
    assert len(cases) > 50
    troubles = []
    answers = ask(archive, [case.request() for case in cases], tmp_path, version)
    for case, answer in zip(cases, answers, strict=True):
        if "FINISHED" not in answer.said["result"]:
            troubles.append(f"{case.path.name}: {answer.said}")
        else:
            troubles += case.troubles(answer)
    assert not troubles, "\n".join(troubles)
