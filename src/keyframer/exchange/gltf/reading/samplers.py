"""Samplers of animations as columns of keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.catalogue import DATA_KEYS_NOT_INCREASING, STRUCT_SYNTAX
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.gltf.reading.accessors import Accessors
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.limits import Budget

Floats = npt.NDArray[np.float64]

MODES = {"LINEAR": Interpolation.LINEAR, "STEP": Interpolation.STEP, "CUBICSPLINE": Interpolation.CUBIC}
_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}


@dataclass(eq=False)
class Keys:
    """Times (n,) in seconds, values (n, k), and tangents where the sampler has them."""

    times: Floats
    values: Floats
    interpolation: Interpolation
    tangents_in: Floats | None = None
    tangents_out: Floats | None = None

    def mapped(self, change: Any) -> Keys:
        """Values changed by a function; tangents follow its slope."""
        if self.tangents_in is None or self.tangents_out is None:
            return Keys(self.times, change(self.values), self.interpolation)
        step = 1e-5
        slope = (change(self.values + step) - change(self.values - step)) / (2 * step)
        into, out = slope * self.tangents_in, slope * self.tangents_out
        return Keys(self.times, change(self.values), self.interpolation, into, out)

    def with_rest(self) -> Keys:
        """A column before the others, of what is missing to 1: the share of the mesh itself beside its targets."""

        def grown(rows: Floats, whole: float) -> Floats:
            return np.column_stack([whole - rows.sum(axis=1), rows])

        into = None if self.tangents_in is None else grown(self.tangents_in, 0.0)
        out = None if self.tangents_out is None else grown(self.tangents_out, 0.0)
        return Keys(self.times, grown(self.values, 1.0), self.interpolation, into, out)

    def track(self, kind: str) -> Track:
        form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
        return Track(
            kind,
            self.times,
            self.values,
            self.interpolation,
            form=form,
            tangents_in=self.tangents_in,
            tangents_out=self.tangents_out,
        )


class SamplerReader:
    def __init__(self, animation: Item, accessors: Accessors, budget: Budget, issues: Findings) -> None:
        self.items = animation.children("samplers")
        self._accessors = accessors
        self._budget = budget
        self._issues = issues

    def read(self, number: int, width: int, *, flat: bool = False) -> Keys:
        """The keys of a sampler of values of a width; ``flat`` ones are written as single numbers (weights)."""
        item = self.items[number]
        accessors = self._accessors
        source = item.needed_index("input", len(accessors), "accessor")
        target = item.needed_index("output", len(accessors), "accessor")
        mode = item.choice("interpolation", tuple(MODES), "LINEAR")
        times = accessors.floats(source, "SCALAR")[:, 0].astype(np.float64)
        values = accessors.floats(target, "SCALAR" if flat else _TYPES[width]).astype(np.float64)
        parts = 3 if mode == "CUBICSPLINE" else 1
        wanted = len(times) * parts * (width if flat else 1)
        if len(values) != wanted:
            raise item.fail(STRUCT_SYNTAX, "output", wanted=f"{wanted} elements", found=f"{len(values)}")
        self._budget.spend("copies", values.size + len(times), item.path)
        falling = np.flatnonzero(np.diff(times) <= 0)
        if len(falling):
            key = int(falling[0]) + 1
            self._issues.add(DATA_KEYS_NOT_INCREASING, item.at("input"), 0, index=key, time=float(times[key]))
        if parts == 1:
            return Keys(times, values.reshape(-1, width), MODES[mode])
        rows = values.reshape(-1, 3, width)
        return Keys(times, rows[:, 1].copy(), MODES[mode], rows[:, 0].copy(), rows[:, 2].copy())
