"""Array types that the scene's declarations share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Extras = dict[str, Any]
"""What a format says and the model has no place for, under the format's id: ``{"3ds": {...}}``."""
