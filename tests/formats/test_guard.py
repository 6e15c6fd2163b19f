"""The collector waits, and is then as it was."""

from __future__ import annotations

import gc

import pytest

import keyframer
from keyframer.formats.guard import GcPaused
from tests.cli.running import EXAMPLE


def test_it_waits_and_goes_on() -> None:
    assert gc.isenabled()
    with GcPaused():
        assert not gc.isenabled()
        with GcPaused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        keyframer.load(EXAMPLE)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_goes_on_after_failures() -> None:
    with pytest.raises(keyframer.FormatError):
        keyframer.decode(b"MM\x06", format="3ds")
    with pytest.raises(keyframer.FormatError):
        keyframer.load(EXAMPLE, limits=keyframer.Limits(records=3))
    assert gc.isenabled()
