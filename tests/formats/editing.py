"""What tests of edits share: an edit as a function of the scene, and why a file was written anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Scene

Edit = Callable[[Scene], None]


def put(thing: Callable[[Scene], Any], /, **values: Any) -> Edit:
    """An edit that sets attributes of a part of the scene."""

    def edit(scene: Scene) -> None:
        for name, value in values.items():
            setattr(thing(scene), name, value)

    return edit


def why_anew(written: Written) -> list[str]:
    """Why all was written anew, if it was."""
    return [loss.detail for loss in written.report if "could not be edited in place" in loss.detail]
