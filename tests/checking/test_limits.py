"""Limits can be set, and each has its own issue code."""

from __future__ import annotations

from pathlib import Path

import pytest

import keyframer
from keyframer.curves.timeline import even_times
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.inspecting.samples import Sample
from keyframer.limits import BASE_INPUT_SIZE, Budget, budgeted, limits_of, spend
from tests.building import files as w

BOX = w.mesh(w.points(*w.TRIANGLE))


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (keyframer.Limits(file_size=20), "LIMIT_FILE_SIZE"),
        (keyframer.Limits(records=3), "LIMIT_RECORDS"),
        (keyframer.Limits(depth=2), "LIMIT_DEPTH"),
        (keyframer.Limits(name=2), "LIMIT_NAME"),
    ],
)
def test_limits_apply_to_reading(limits: keyframer.Limits, code: str) -> None:
    data = w.editor(BOX)
    assert keyframer.check(data).verdict == "clean"
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, limits=limits)
    assert caught.value.code == code
    assert keyframer.check(data, limits=limits).verdict == "not readable"


def test_document_keeps_its_limits() -> None:
    limits = keyframer.Limits(copies=10)
    assert keyframer.decode(w.editor(BOX), limits=limits).limits is limits


def shared_mesh(nodes: int) -> bytes:
    """Return a mesh whose axes differ from those of its nodes: each node needs its own vertices."""
    matrix = w.chunk(0x4160, w.floats(2, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 3))
    moved = [w.node(b"Box", n, -1, w.track(0xB020, w.key(0, 50, 60, 70))) for n in range(nodes)]
    return w.main(w.chunk(0x3D3D, w.mesh(w.points(*w.TRIANGLE), matrix)), w.chunk(0xB000, *moved))


def morphs(shapes: int) -> bytes:
    meshes = [w.mesh(w.points(*w.TRIANGLE), name=b"m%d" % n) for n in range(shapes)]
    keys = [w.key(n) + b"m%d\0" % n for n in range(shapes)]
    return w.main(w.chunk(0x3D3D, *meshes), w.chunk(0xB000, w.node(b"m0", 0, -1, w.track(0xB026, *keys))))


def weights(vertices: int) -> bytes:
    return w.h3dm([w.model_mesh(vertices=((0, 3),) * vertices)], [w.model_joint()])


def components(joints: int) -> bytes:
    return w.h3da([w.joint(b"%d\0" % n, -1, 63, 0) for n in range(joints)], [(*w.BOX, 0, 0, 0, 0, 0, 0)] * 4)


@pytest.mark.parametrize("make", [shared_mesh, morphs, weights, components])
def test_copies_of_shared_data_are_limited(make: object) -> None:
    data = make(30)  # type: ignore[operator]
    scene_of(keyframer.decode(data))  # the default limits are high enough
    document = keyframer.decode(data, limits=keyframer.Limits(copies=20))
    with pytest.raises(keyframer.FormatError) as caught:
        scene_of(document)
    assert caught.value.code == "LIMIT_COPIES"
    assert caught.value.path != "/"
    report = keyframer.check(document)
    assert "LIMIT_COPIES" in report.counts
    scene_of(document, salvage=True)


def test_number_of_samples_is_limited() -> None:
    scene = scene_of(keyframer.decode(w.keyframer(w.node(b"a", 0), w.node(b"b", 1))))
    Sample(scene, frames=[0, 1, 2], times=None)
    matrices = 16 * 2 * 3
    with Budget(keyframer.Limits(samples=matrices)).opened():
        Sample(scene, frames=[0, 1, 2], times=None)
    with Budget(keyframer.Limits(samples=matrices - 1)).opened(), pytest.raises(keyframer.FormatError) as caught:
        Sample(scene, frames=[0, 1, 2], times=None)
    assert caught.value.code == "LIMIT_SAMPLES"
    assert caught.value.details["count"] == matrices


def test_budget_grows_in_proportion_to_the_size_of_the_file() -> None:
    budget = Budget(keyframer.Limits(keys=100), 10)
    assert budget.total("keys") == 100
    budget.add_input(BASE_INPUT_SIZE - 10)
    assert budget.total("keys") == 100
    budget.add_input(BASE_INPUT_SIZE)
    assert budget.total("keys") == 200
    assert budget.charge("keys", 200)
    assert budget.left("keys") == 0
    assert not budget.charge("keys", 1)
    with pytest.raises(keyframer.FormatError, match=r"LIMIT_KEYS at 0x0 in /x: 202 keys would be created, .* is 200"):
        budget.spend("keys", 1, "/x")


def test_nested_budgets_are_one_budget() -> None:
    with budgeted(keyframer.Limits(keys=5)) as outer:
        with budgeted(keyframer.Limits(keys=50), 10**9) as nested:
            assert nested is outer
        spend("keys", 3)
        assert outer.spent == {"keys": 3}
    spend("keys", 10**12)  # without a budget nothing is limited


def test_loading_a_file_enlarges_the_budget(tmp_path: Path) -> None:
    (tmp_path / "a.3ds").write_bytes(w.editor(BOX) + bytes(3 * BASE_INPUT_SIZE))
    with budgeted() as budget:
        keyframer.load(tmp_path / "a.3ds")
    assert budget.size == (tmp_path / "a.3ds").stat().st_size


def test_asking_for_the_rest_of_a_budget_counts_nothing() -> None:
    with Budget(keyframer.Limits(samples=10)).opened():
        for _ in range(2):
            assert even_times(0, 9, numbers=1).tolist() == list(range(10))
        with pytest.raises(keyframer.FormatError, match="LIMIT_SAMPLES"):
            even_times(0, 10, numbers=1)


@pytest.mark.parametrize("keys", ["0", "0.999", "many", "1e99", "1000000000000001", "nan"])
def test_invalid_limits_are_refused(keys: str) -> None:
    with pytest.raises(ValueError, match=r"the limit keys must be a number from 1 to 1e15"):
        limits_of({"keys": keys})


def test_unknown_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown limit 'kees'"):
        limits_of({"kees": "5"})


def test_limits_by_name() -> None:
    assert limits_of({"keys": "1e15", "depth": 1}) == keyframer.Limits(keys=10**15, depth=1)
