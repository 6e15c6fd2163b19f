"""Budgets only stop attacks: real files stay far below them in every operation."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import keyframer
from keyframer.catalogue import LIMIT_BUDGETS
from keyframer.editing import cut
from keyframer.limits import Budget
from keyframer.rendering import Renderer, Settings
from tests.corpus import CORPUS, needs_corpus, threeds_files
from tests.slow import SLOW

pytestmark = needs_corpus
FILES = [
    *threeds_files()[:: 5 if SLOW else 60],
    CORPUS / "makbot" / "mak_running.3DS",
    CORPUS / "hale3d" / "bob_lamp_update.anim",
]
MOST = 0.5
"""of a budget"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files_use_less_than_half_of_any_budget(path: Path, tmp_path: Path) -> None:
    def spent(work: str) -> dict[str, float]:
        """Return the used share of each budget, including loading, which sets the size of the input."""
        budget = Budget()
        with budget.opened(), suppress(ValueError):  # no clip to cut, or nothing that the format can store
            scene = keyframer.load(path, salvage=True)
            if work == "picture":
                Renderer(scene, Settings(256, 256)).picture(0.0)
            elif work == "cut":
                keyframer.save(cut(scene, 1, 20), tmp_path / "cut.glb")
            else:
                keyframer.save(scene, tmp_path / f"out-{work}", format=work.partition(".")[0])
        return {kind: budget.spent.get(kind, 0) / budget.total(kind) for kind in LIMIT_BUDGETS}

    shares = {work: spent(work) for work in ("gltf.glb", "uto3d.u3d", "nodeanim.nanim", "cut", "picture")}
    most = [(work, kind, share) for work, kinds in shares.items() for kind, share in kinds.items() if share > MOST]
    assert most == []
