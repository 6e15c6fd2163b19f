"""Detection by the signature, without claiming other files."""

from __future__ import annotations

import pytest

import keyframer
from keyframer.formats.uto3d import FORMAT
from tests.building.uto3d import samples


def test_the_signature_and_main() -> None:
    for data in samples().values():
        match = FORMAT.sniff(data[:4096], len(data))
        assert match is not None
        assert (match.score, match.version) == (1.0, "0.9")


@pytest.mark.parametrize(("data", "score"), [(b"UTO!\0\x09", 0.8), (b"UTO!\0\x09MA", 0.8), (b"UTO!\0\x09MESH", 0.7)])
def test_damaged_headers_score_lower(data: bytes, score: float) -> None:
    match = FORMAT.sniff(data, len(data))
    assert match is not None
    assert match.score == score


@pytest.mark.parametrize("data", [b"", b"UTO", b"UTO!", b"U3D\0" + bytes(20), b"uto!\0\x09MAIN", b" UTO!\0\x09MAIN"])
def test_other_data_is_not_claimed(data: bytes) -> None:
    assert FORMAT.sniff(data, len(data)) is None


def test_the_extension_does_not_decide() -> None:
    assert keyframer.detect(b"U3D\0" + bytes(60), name="ecma363.u3d").format is None
