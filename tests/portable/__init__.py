"""Without the comforts of Linux: ``make portable`` runs the tests with the module `sitecustomize` of this folder."""

from __future__ import annotations

import os

import pytest

needs_linux = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs fork, hard links, file locks or limits of memory, which were taken away"
)
