"""NaN and infinity in tables are reported once per table, with the first row and how many numbers there are."""

from __future__ import annotations

import math

import pytest

import keyframer
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.issues import IssueLog
from tests.building import hale3d, uto3d


def model(odd: float) -> bytes:
    """Texture vertices 1 and 2 of three are non-finite."""
    vertices = [(0.0, 0.0, 0, 1), (odd, 0.0, 1, 1), (0.0, odd, 2, 1)]
    weights = [(1.0, 0, float(index), float(index == 2), 0.0) for index in range(3)]
    return hale3d.model(
        [hale3d.mesh(b"a.mat", vertices, weights, [(0, 1, 2)])], [hale3d.model_joint(b"a", -1, (0, 0, 0))]
    )


def scene(odd: float) -> bytes:
    mesh = uto3d.mesh(b"Square", 10, uto3d.UVS)
    mesh["uvs"] = [(0.0, 0.0), (1.0, odd), (odd, odd)]
    return uto3d.write(uto3d.Scene(meshes=[mesh], materials=[(b"a", 7), (b"b", 8)]), uto3d.B)


def non_finite_issues(data: bytes) -> list[tuple[str, dict[str, object]]]:
    """The issues that the rules of the format report without a scene."""
    document = keyframer.decode(data)
    reporter = Reporter(document, IssueLog())
    document.format.apply_rules(document, None, reporter)
    return [(issue.path, dict(issue.args)) for issue in reporter.issues if issue.code == "DATA_NON_FINITE"]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("make", "path", "count"),
    [(model, "/model/mesh[0]/vertices[1]", 2), (scene, "/uto3d/mesh/objects[0]/uvs[1]", 3)],
    ids=["hale3d", "uto3d"],
)
def test_non_finite_numbers_are_reported_once(make: object, path: str, count: int, odd: float) -> None:
    assert callable(make)
    assert non_finite_issues(make(0.5)) == []
    assert non_finite_issues(make(odd)) == [(path, {"count": count, "index": 1})]
