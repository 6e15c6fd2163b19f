# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframer: legacy animation formats. Files are read and written by the library `keyframer`; this package turns its
scenes into objects, and objects into its scenes."""

from __future__ import annotations

from . import operators


def register() -> None:
    operators.register()


def unregister() -> None:
    operators.unregister()
