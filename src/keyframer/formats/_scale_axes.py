"""The axes along which a node is scaled, for formats that store them with the keys of the scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.forms import with_form
from keyframer.formats._writing import plain_path
from keyframer.scene import Node
from keyframer.scene.report import LossReport, Outcome


def steady_axes(node: Node, scale: Track) -> Track:
    """The axes at rest, once for each key of the scale."""
    values = np.tile(np.asarray(node.scale_axes_xyzw, np.float64), (len(scale.times), 1))
    return Track("scale_axes", scale.times, values, Interpolation.LINEAR, form=RotationForm.QUATERNION_ABSOLUTE)


def axes_of_keys(axes: Track | None, scale: Track, node: Node, report: LossReport) -> npt.NDArray[np.float64] | None:
    """(K, 4) quaternions, one for each key of the scale; None where there are none, or where they stand at other times,
    which is reported in place of what became of them before."""
    if axes is None:
        return None
    if not np.array_equal(axes.times, scale.times):
        path = f"{plain_path('nodes', node.name)}/scale_axes"
        report.forget(path)
        report.add(Outcome.DROPPED, path, "its keys stand at other times than those of the scale")
        return None
    return with_form(axes, RotationForm.QUATERNION_ABSOLUTE).values
