"""Tracks: the authored keys of one animated property as columns, neither sampled nor compiled.

A track may be empty, and may have NaN. The constructor refuses unknown kinds, wrong shapes, an interpolation that does
not fit the tangents or the rotation form, and unsorted times, except in tracks that are read from files. The docstring
of the package describes the evaluation of invalid keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyframer.arrays import Floats
from keyframer.fields import documented
from keyframer.limits import is_budget_open
from keyframer.text import counted, did_you_mean

from .lazy_fields import LazyFields, lazy


class Interpolation(Enum):
    """How values are interpolated between keys."""

    __hash__ = object.__hash__  # faster: `Enum.__hash__` is a Python function
    STEP = "step"  # constant until the next key
    LINEAR = "linear"  # linear; rotations at constant speed
    TCB = "tcb"  # Kochanek-Bartels with ease
    BEZIER = "bezier"  # handles unknown or not used: interpolated as TCB with zeros, without ease
    SAMPLED = "sampled"  # one value per frame, linear between frames
    CUBIC = "cubic"  # Hermite with given tangents per unit of time, as glTF CUBICSPLINE


class Wrap(Enum):
    """What happens outside the keys."""

    SINGLE = "single"  # the values of the first and the last key hold
    REPEAT = "repeat"  # time modulo the time of the last key
    LOOP = "loop"  # like REPEAT, with tangents across the seam


class RotationForm(Enum):
    """The meaning of the four numbers of a rotation key; angles in radians, right-handed."""

    __hash__ = object.__hash__
    NONE = "none"  # not a rotation
    AXIS_ANGLE_RELATIVE = "axis_angle_relative"  # x, y, z, angle: A_k = R(axis_k, angle_k) · A_(k-1)
    AXIS_ANGLE_ABSOLUTE = "axis_angle_absolute"  # x, y, z, angle
    QUATERNION_RELATIVE = "quaternion_relative"  # x, y, z, w: abs_k = key_k · abs_(k-1)
    QUATERNION_ABSOLUTE = "quaternion_absolute"  # x, y, z, w


_SHAPE_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")
_EXAMPLE_FORM = RotationForm.QUATERNION_ABSOLUTE
KINDS = {
    "position": 3,
    "rotation": 4,
    "scale": 3,
    "scale_axes": 4,
    "visible": 1,
    "morph": None,
    "fov": 1,
    "roll": 1,
    "hotspot": 1,
    "falloff": 1,
    "color": 3,
    "multiplier": 1,
}
"""kinds of tracks, and numbers per key; None: one for each shape"""


@documented
@dataclass(eq=False, repr=False, slots=True)
class Track(LazyFields):
    """The keys of one property of one object, as columns."""

    kind: str
    """the animated property: ``position``, ``rotation``, ``scale``, ``fov`` … (see `KINDS`)"""
    times: Floats
    """(n,) in the time unit of the clip"""
    values: Floats
    """(n,) or (n, k); (n, 4) for every rotation form"""
    interpolation: Interpolation = Interpolation.LINEAR
    """interpolation between keys"""
    wrap: Wrap = Wrap.SINGLE
    """what happens outside the keys"""
    form: RotationForm = RotationForm.NONE
    """meaning of the four numbers of a rotation key"""
    tension: Floats | None = None
    """(n,) used by TCB keys; None means zeros, here and in the next four fields"""
    continuity: Floats | None = None
    """(n,)"""
    bias: Floats | None = None
    """(n,)"""
    ease_to: Floats | None = None
    """(n,) used by TCB and linear keys"""
    ease_from: Floats | None = None
    """(n,)"""
    flags: NDArray[np.int64] | None = None
    """(n,) flags as stored in the file, if it has any"""
    tangents_in: Floats | None = None
    """shape of values, per unit of time; CUBIC only"""
    tangents_out: Floats | None = None
    """shape of values, per unit of time; CUBIC only"""
    extras: dict[str, Any] = lazy(dict)
    """further data of the file, under the id of its format"""

    if TYPE_CHECKING:

        def __init__(
            self, kind: str, times: ArrayLike, values: ArrayLike, interpolation: Interpolation = Interpolation.LINEAR,
            wrap: Wrap = Wrap.SINGLE, form: RotationForm = RotationForm.NONE, tension: ArrayLike | None = None,
            continuity: ArrayLike | None = None, bias: ArrayLike | None = None, ease_to: ArrayLike | None = None,
            ease_from: ArrayLike | None = None, flags: ArrayLike | None = None, tangents_in: ArrayLike | None = None,
            tangents_out: ArrayLike | None = None, extras: dict[str, Any] = ...,
        ) -> None: ...  # fmt: skip

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            near = did_you_mean(str(self.kind), KINDS)
            raise ValueError(f"track: kind must be one of {', '.join(KINDS)}, not {self.kind!r}{near}")
        if (type(self.interpolation), type(self.wrap), type(self.form)) != (Interpolation, Wrap, RotationForm):
            self._refuse_choice()
        LazyFields.__post_init__(self)
        self.times = self._numbers("times")
        self.values = self._numbers("values")
        if self.times.ndim != 1:
            raise ValueError(f"track {self.kind!r}: times must be (n,), not {self.times.shape}")
        count = len(self.times)
        if count > 1 and not is_budget_open() and (self.times[1:] < self.times[:-1]).any():
            late = int(np.argmax(self.times[1:] < self.times[:-1]))
            pair = f"key {late + 1} at {self.times[late + 1]:g} follows key {late} at {self.times[late]:g}"
            raise ValueError(f"track {self.kind!r}: times must be sorted, but {pair}")
        if self.values.ndim not in (1, 2) or len(self.values) != count or 0 in self.values.shape[1:]:
            raise ValueError(f"track {self.kind!r}: values must be ({count},) or ({count}, k), not {self.values.shape}")
        width = KINDS[self.kind]
        if count and width is not None and self.values.size != count * width:
            expected = "a key is a single number" if width == 1 else f"a key has {width} numbers"
            raise ValueError(f"track {self.kind!r}: {expected}, not {self.values.size // count}")
        if width == 4 and self.form is RotationForm.NONE:
            raise ValueError(f"track {self.kind!r}: form must say what the four numbers are, such as {_EXAMPLE_FORM}")
        if self.form is not RotationForm.NONE and self.values.shape != (count, 4):
            raise ValueError(f"track {self.kind!r}: rotation values must be ({count}, 4), not {self.values.shape}")
        for name in _SHAPE_COLUMNS:
            if getattr(self, name) is not None:
                self._check(name, (count,))
        if self.flags is not None:
            self.flags = np.asarray(self.flags, dtype=np.int64)
            if self.flags.shape != (count,):
                raise ValueError(f"track {self.kind!r}: flags must be ({count},), not {self.flags.shape}")
        self._check_tangents()

    def _refuse_choice(self) -> None:
        for name, choices in (("interpolation", Interpolation), ("wrap", Wrap), ("form", RotationForm)):
            value = getattr(self, name)
            if type(value) is not choices:
                members = ", ".join(map(str, choices))
                raise ValueError(f"track {self.kind!r}: {name} must be one of {members}, not {value!r}")

    def _numbers(self, name: str) -> Floats:
        try:
            return np.asarray(getattr(self, name), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"track {self.kind!r}: {name} must be numbers, all rows of the same length") from None

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        column = self._numbers(name)
        if column.shape != shape:
            raise ValueError(f"track {self.kind!r}: {name} must be {shape}, not {column.shape}")
        setattr(self, name, column)

    def _check_tangents(self) -> None:
        if self.interpolation is not Interpolation.CUBIC:
            if self.tangents_in is not None or self.tangents_out is not None:
                raise ValueError(f"track {self.kind!r}: only CUBIC keys have tangents")
            return
        if self.tangents_in is None or self.tangents_out is None:
            raise ValueError(f"track {self.kind!r}: CUBIC keys need tangents_in and tangents_out")
        if self.form not in (RotationForm.NONE, RotationForm.QUATERNION_ABSOLUTE):
            raise ValueError(f"track {self.kind!r}: CUBIC rotation keys must be absolute quaternions")
        self._check("tangents_in", self.values.shape)
        self._check("tangents_out", self.values.shape)

    def __repr__(self) -> str:
        span = f", {self.times[0]:g}..{self.times[-1]:g}" if len(self.times) else ""
        keys = counted(len(self.times), f"{self.interpolation.value} key")
        return f"<Track {self.kind!r}: {keys}{span}, {self.wrap.value}>"

    @property
    def is_rotation(self) -> bool:
        """Whether the values are rotations; sampling then returns quaternions."""
        return self.form is not RotationForm.NONE

    @classmethod
    def sampled(
        cls,
        kind: str,
        values: ArrayLike,
        start: float = 0.0,
        step: float = 1.0,
        wrap: Wrap = Wrap.SINGLE,
        form: RotationForm = RotationForm.NONE,
    ) -> Track:
        """Return a track with one value per frame: key i is at start + i * step."""
        frames = np.asarray(values, dtype=np.float64)
        times = start + step * np.arange(len(frames), dtype=np.float64)
        return cls(kind, times, frames, Interpolation.SAMPLED, wrap, form)
