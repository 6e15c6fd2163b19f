"""Nothing is lost in silence on the way into Blender: each field of the model changes something, or is reported."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

from keyframer.scene import Scene
from tests.blender.outside import ask, needs_blender
from tests.exchange.reading.test_embedded import encoded, picture
from tests.exchange.test_nothing_silent import CHANGED_WITH, FEATURES, base, with_value

pytestmark = needs_blender


CHANGED_IN_BLENDER_WITH = {"maps.alpha_source": {"maps.decal": True}}
"""the alpha of other images makes holes anyway"""
SAYS_NOTHING_NEW = {"skins.rigid"}
"""fields that repeat others: all weights are 1"""


def pair(name: str) -> tuple[Scene, Scene]:
    """The base with what a field needs to mean something, without and with a value in that field."""
    without, having = base(), base()
    for other, value in {**CHANGED_WITH, **CHANGED_IN_BLENDER_WITH}.get(name, {}).items():
        with_value(without, other, copy.deepcopy(value))
        with_value(having, other, copy.deepcopy(value))
    return without, with_value(having, name, copy.deepcopy(FEATURES[name]))


def test_each_field_is_found_in_blender_or_named_in_the_report(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "paint.png").write_bytes(encoded(picture((3, 2)).convert("RGBA")))
    requests = []
    for number, scene in enumerate(scene for name in FEATURES for scene in pair(name)):
        path = tmp_path / f"{number}.pickle"
        path.write_bytes(pickle.dumps(scene))
        requests.append({"do": "build", "pickle": str(path), "path": str(tmp_path / "scene.3ds")})
    answers = [answer.said for answer in ask(archive, requests, tmp_path)]
    handled = [
        name
        for name, without, having in zip(FEATURES, answers[::2], answers[1::2], strict=True)
        if name not in SAYS_NOTHING_NEW
        and without["held"] == having["held"]
        and not set(having["said"]) - set(without["said"])
    ]
    assert not handled, " ".join(handled)
