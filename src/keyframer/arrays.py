"""Types of numpy arrays, by their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]
"""row indices into other arrays"""
Numbers = npt.NDArray[np.int32]
"""row indices of which there are many"""
Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
