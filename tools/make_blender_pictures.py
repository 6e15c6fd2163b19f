"""Renders the pictures of docs/blender.md: the imported windmill, with Cycles on the processor.

.venv-blender/bin/python tools/make_blender_pictures.py build/keyframer-blender-VERSION.zip docs/pictures
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FRAMES = (20, 50)


def main(archive: str, folder: str) -> None:
    os.environ.setdefault("BLENDER_USER_RESOURCES", tempfile.mkdtemp())
    import bpy  # type: ignore[import-not-found]

    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.keyframer(filepath=str(ROOT / "examples" / "windmill.3ds"))
    scene: Any = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 24, False
    scene.view_settings.view_transform = "Standard"
    scene.render.resolution_x, scene.render.resolution_y = 480, 360
    scene.world = scene.world or bpy.data.worlds.new("World")
    for frame in FRAMES:
        scene.frame_set(frame)
        scene.render.filepath = str(Path(folder).resolve() / f"blender-windmill-{frame}.png")
        bpy.ops.render.render(write_still=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
