"""Each field of the scene model changes something in Blender, or is reported as lost."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

from keyframer.scene import Scene
from tests.blender.outside import ask, needs_blender
from tests.building.images import encoded
from tests.exchange.reading.test_embedded import picture
from tests.exchange.test_every_field import CHANGED_WITH, FEATURES, base, with_value

pytestmark = needs_blender


CHANGED_IN_BLENDER_WITH = {"maps.alpha_source": {"maps.decal": True}}
"""the alpha of other images makes holes anyway"""
WITHOUT_EFFECT = {"skins.rigid"}
"""fields that repeat others: all weights are 1"""
LOST_WITH = {"meshes.uv2_corners": "meshes.uv2", "meshes.normal_corners": "meshes.normals"}
"""numbers into tables that are not imported: the report must name the table, as it does where only that is there"""


def scenes_without_and_with(name: str) -> tuple[Scene, Scene]:
    """Return two scenes with the fields that ``name`` depends on: without and with a value in ``name``."""
    without, having = base(), base()
    for other, value in {**CHANGED_WITH, **CHANGED_IN_BLENDER_WITH}.get(name, {}).items():
        with_value(without, other, copy.deepcopy(value))
        with_value(having, other, copy.deepcopy(value))
    return without, with_value(having, name, copy.deepcopy(FEATURES[name]))


def test_each_field_changes_blender_or_is_reported(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "paint.png").write_bytes(encoded(picture((3, 2)).convert("RGBA")))
    requests = []
    for number, scene in enumerate(scene for name in FEATURES for scene in scenes_without_and_with(name)):
        path = tmp_path / f"{number}.pickle"
        path.write_bytes(pickle.dumps(scene))
        requests.append({"do": "build", "pickle": str(path), "path": str(tmp_path / "scene.3ds")})
    answers = [answer.said for answer in ask(archive, requests, tmp_path)]
    pairs = dict(zip(FEATURES, zip(answers[::2], answers[1::2], strict=True), strict=True))
    reported = {name: set(having["said"]) - set(without["said"]) for name, (without, having) in pairs.items()}
    unhandled = [
        name
        for name, (without, having) in pairs.items()
        if name not in WITHOUT_EFFECT | set(LOST_WITH) and without["held"] == having["held"] and not reported[name]
    ]
    assert not unhandled, " ".join(unhandled)
    for name, table in LOST_WITH.items():
        assert reported[table], table
        assert reported[table] <= set(pairs[name][1]["said"]), name
