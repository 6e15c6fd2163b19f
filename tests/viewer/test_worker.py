"""Python in the worker of the page: the answers of the server, and every failure in one line."""

from __future__ import annotations

import json

import pytest

from keyframer.viewer import worker
from keyframer.viewer.resources import Resources
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed
from tests.viewer.test_opening import body_of


def started() -> worker.Request:
    return worker.start(EXAMPLE.name, memoryview(EXAMPLE.read_bytes()))


def test_answers_are_those_of_the_viewer() -> None:
    answer = started()
    resources = Resources(viewed(EXAMPLE))
    for path in ("/data/0/clip/0", "/data/0/records", "/data/0/track/3", "/data/0/bytes/0"):
        wanted = resources.get(path)
        assert answer(path, None) == (wanted[1], "")
    assert answer("/data/1/scene", None) == (None, "")
    content, error = answer("/open", memoryview(body_of(("a.u3d", (SAMPLES / "uto3d/maxscript.u3d").read_bytes()))))
    assert error == ""
    assert json.loads(content or b"")["opened"] == [1]


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xff\xff\xff", body_of(("a.png", b"\x89PNG")), body_of(("a.zip", b"PK\x03\x04"))]
)
def test_files_that_cannot_be_opened_give_one_line(body: bytes) -> None:
    content, error = started()("/open", memoryview(body))
    assert content is None
    assert error
    assert "\n" not in error


def test_errors_have_neither_code_nor_path() -> None:
    """The issues of the file show both."""
    answer = started()
    answer("/open", memoryview(body_of(("a.3ds", b"only text"))))
    content, error = answer("/recover/1", memoryview(b""))
    assert content is None
    assert error == "a 3D Studio file does not begin with 6e6f"


@pytest.mark.parametrize(("failure", "wanted"), [
    (MemoryError(), worker.NO_MEMORY), (KeyError("x\ny"), "internal error: KeyError: 'x\\ny'"),
])  # fmt: skip
def test_failures_of_python_give_one_line(monkeypatch: pytest.MonkeyPatch, failure: Exception, wanted: str) -> None:
    answer = started()

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(Resources, "get", fail)
    assert answer("/data/0/model", None) == (None, wanted)
    assert "\n" not in wanted
