"""GcPaused switches the garbage collector off and restores its state."""

from __future__ import annotations

import gc

import pytest

import keyframer
from keyframer.formats.guard import GcPaused
from tests.cli.running import EXAMPLE


def test_collection_is_paused_inside_the_block() -> None:
    assert gc.isenabled()
    with GcPaused():
        assert not gc.isenabled()
        with GcPaused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled() -> None:
    gc.disable()
    try:
        keyframer.load(EXAMPLE)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_collection_resumes_after_errors() -> None:
    with pytest.raises(keyframer.FormatError):
        keyframer.decode(b"MM\x06", format="3ds")
    with pytest.raises(keyframer.FormatError):
        keyframer.load(EXAMPLE, limits=keyframer.Limits(records=3))
    assert gc.isenabled()
