"""A scene to a file: what the registry of exporters calls."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from keyframer.exchange.gltf.container import write_glb, write_gltf
from keyframer.exchange.gltf.exporting import export
from keyframer.exchange.gltf.options import GltfOptions
from keyframer.exchange.report import LossReport
from keyframer.scene import Scene


def save(scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, Any]) -> LossReport:
    """``dialect`` is ``binary`` or ``text``; None: as the extension says, binary where it says nothing."""
    known = [item.name for item in fields(GltfOptions)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"gltf has no option {unknown[0]!r} (it has: {', '.join(known)})")
    chosen = GltfOptions(**options)
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} exists (pass overwrite=True to replace it)")
    asset, report = export(scene, chosen)
    as_text = dialect == "text" or (dialect is None and path.suffix.lower() == ".gltf")
    report.written = (write_gltf if as_text else write_glb)(asset, path, overwrite=overwrite)
    return report
