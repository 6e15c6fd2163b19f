# SPDX-License-Identifier: GPL-3.0-or-later
"""The Blender extension "Keyframer: legacy animation formats".

The library `keyframer` reads and writes the files; this package converts its scenes to Blender objects and back.
"""

from __future__ import annotations

from . import operators


def register() -> None:
    operators.register()


def unregister() -> None:
    operators.unregister()
