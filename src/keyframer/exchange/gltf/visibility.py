"""Hidden geometry: KHR_node_visibility, and a scale of 0 that says the same to every viewer."""

from __future__ import annotations

import numpy as np

from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.channels import Channels
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.keys import STEP, Sampler
from keyframer.exchange.gltf.motion import Motion, Span
from keyframer.exchange.gltf.nodes import Placed
from keyframer.exchange.report import Outcome

_EXTENSION = "KHR_node_visibility"


def hide(context: Context, number: int, placed: Placed, visible: bool) -> None:
    """State whether a node's geometry is shown at the beginning."""
    if placed.geometry is None or visible:
        return
    node: Json = context.asset.nodes[placed.geometry]
    if context.extensions:
        node.setdefault("extensions", {})[_EXTENSION] = {"visible": False}
        context.asset.extensions.add(_EXTENSION)
    hidden = context.scene.nodes[number]
    path = f"/nodes/{hidden.name}/hidden"
    if hidden.skin is None:
        node["scale"] = [0.0, 0.0, 0.0]
        context.report.add(Outcome.EXACT, path, "not shown: scale 0", extras=hidden.extras)
    else:
        detail = "a skinned mesh cannot be hidden without KHR_node_visibility"
        context.report.add(Outcome.APPROXIMATED, path, detail, extras=hidden.extras)


def animate(context: Context, number: int, placed: Placed, motion: Motion, channels: Channels, span: Span) -> None:
    """Write a visible track: steps of 0 and 1."""
    if placed.geometry is None:
        return
    steps = motion.written(span)
    shown = steps.values[:, 0] > 0.5
    if context.scene.nodes[number].skin is None:
        scale = np.repeat(shown[:, None], 3, axis=1).astype(np.float32)
        nothing = np.zeros_like(scale)
        channels.node(placed.geometry, "scale", Sampler(STEP, steps.times, scale, nothing, nothing))
    if context.extensions:
        node: Json = context.asset.nodes[placed.geometry]
        node.setdefault("extensions", {}).setdefault(_EXTENSION, {"visible": bool(shown[0])})
        context.asset.extensions.add(_EXTENSION)
        pointer = f"/nodes/{placed.geometry}/extensions/{_EXTENSION}/visible"
        channels.pointer(pointer, Sampler(STEP, *[steps.times] * 4), shown.astype(np.uint8))
    changing = context.scene.nodes[number]
    detail = "steps of visibility, and of scale 0"
    context.report.add(Outcome.EXACT, f"/nodes/{changing.name}/visible", detail, extras=changing.extras)
