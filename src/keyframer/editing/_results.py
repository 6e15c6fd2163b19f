"""What the results of edits share with their arguments: no nodes and no channels, so that edits stay apart."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from keyframer.scene import Scene
from keyframer.scene.moving import LoadedRest, warn_of_overridden

_Options = ParamSpec("_Options")


def edit(
    function: Callable[Concatenate[Scene, _Options], Scene],
) -> Callable[Concatenate[Scene, _Options], Scene]:
    """Make a function of a scene an edit: it warns of rest values that were assigned in vain, and its result can
    be edited without effect on its argument."""

    @wraps(function)
    def checked(scene: Scene, /, *args: _Options.args, **options: _Options.kwargs) -> Scene:
        warn_of_overridden(scene, stacklevel=2)
        return separate(function(scene, *args, **options))

    return checked


def separate(scene: Scene) -> Scene:
    """Return a scene with its own nodes and channels; later assignments to its rest values are watched, if those of
    its source were."""
    scene = copy.copy(scene)
    scene.nodes = [
        replace(
            node,
            position=np.array(node.position),
            rotation_xyzw=np.array(node.rotation_xyzw),
            scale=np.array(node.scale),
        )
        for node in scene.nodes
    ]
    scene.clips = [replace(clip, channels=[replace(channel) for channel in clip.channels]) for clip in scene.clips]
    if scene.loaded_rest is not None:
        scene.loaded_rest = LoadedRest.of(scene)
    return scene
