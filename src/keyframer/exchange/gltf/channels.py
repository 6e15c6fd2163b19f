"""Samplers and channels of one glTF animation; samplers that are alike are written once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.asset import Asset, Json
from keyframer.exchange.gltf.keys import Sampler


class Channels:
    def __init__(self, asset: Asset) -> None:
        self._asset = asset
        self._samplers: list[Json] = []
        self._channels: list[Json] = []
        self._known: dict[tuple[int, int, str], int] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def node(self, node: int, path: str, sampler: Sampler) -> None:
        """Move a property of a node."""
        output: npt.NDArray[Any] = sampler.output()
        if path == "weights":
            output = output.reshape(-1)
        self._add(sampler, output, {"node": node, "path": path})

    def pointer(self, pointer: str, sampler: Sampler, output: npt.NDArray[Any] | None = None) -> None:
        """Move any property, with KHR_animation_pointer; numbers that stand alone are written as scalars."""
        values: npt.NDArray[Any] = sampler.output() if output is None else output
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        self._asset.extensions.add("KHR_animation_pointer")
        target = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": pointer}}}
        self._add(sampler, values, target)

    def _add(self, sampler: Sampler, output: npt.NDArray[Any], target: Json) -> None:
        buffers = self._asset.buffers
        key = (buffers.times(sampler.times), buffers.values(np.ascontiguousarray(output)), sampler.mode)
        if key not in self._known:
            self._known[key] = len(self._samplers)
            entry: Json = {"input": key[0], "output": key[1]}
            if sampler.mode != "LINEAR":
                entry["interpolation"] = sampler.mode
            self._samplers.append(entry)
        self._channels.append({"sampler": self._known[key], "target": target})

    def finish(self, name: str) -> int:
        """Append the animation to the asset; returns its number."""
        written: Json = {"samplers": self._samplers, "channels": self._channels}
        if name:
            written["name"] = name
        self._asset.animations.append(written)
        return len(self._asset.animations) - 1
