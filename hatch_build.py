"""Builds the viewer's page into the package, so that a wheel contains it: ``make viewer`` does the same.

A wheel without the page is only built when asked for with KEYFRAMER_NO_VIEWER=1. An editable install never builds
anything, because working on Python must not need Node. A page that is there already (as in a source archive) is taken
as it is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("src/keyframer/viewer/static")


class ViewerBuildHook(BuildHookInterface[Any]):
    """The hook that hatchling runs for wheels and source archives."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version == "editable" or os.environ.get("KEYFRAMER_NO_VIEWER"):
            return
        if (root / "web/package.json").is_file() and (root / "tools/build_viewer.py").is_file():
            subprocess.run([sys.executable, str(root / "tools/build_viewer.py"), "--for-package"], cwd=root, check=True)
        if (root / STATIC / "index.html").is_file():
            build_data["artifacts"].append(f"{STATIC.as_posix()}/**")
