"""Another way up, or the other hand."""

from __future__ import annotations

from dataclasses import replace

from keyframer.formats.kit.coordinates import in_space
from keyframer.scene import Handedness, Scene


def change_axes(scene: Scene, *, up: str | None = None, handedness: str | Handedness | None = None) -> Scene:
    """The scene in other axes: numbers change their place and sign, the picture stays.

    Z up becomes Y up by (x, z, -y), left-handed Y up becomes right-handed by (x, y, -z); what is not given stays.
    """
    hand = scene.space.handedness if handedness is None else Handedness(handedness)
    return in_space(scene, replace(scene.space, up=up or scene.space.up, handedness=hand))
