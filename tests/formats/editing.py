"""Helpers for tests of edits: an edit as a function of the scene, and the reasons why a new file was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Scene

Edit = Callable[[Scene], None]


def set_fields(part: Callable[[Scene], Any], /, **values: Any) -> Edit:
    """An edit that sets attributes of a part of the scene."""

    def edit(scene: Scene) -> None:
        for name, value in values.items():
            setattr(part(scene), name, value)

    return edit


def rewrite_reasons(written: Written) -> list[str]:
    """The reported reasons why an edit could not be merged into the original file."""
    return [loss.detail for loss in written.report if "could not be edited in place" in loss.detail]
