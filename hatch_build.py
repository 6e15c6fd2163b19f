"""Builds the page of the viewer and adds it to the package; ``make viewer`` builds it, too.

KEYFRAMER_NO_VIEWER=1 builds a wheel without the page. An editable install never builds it, because work on the
Python code must not need Node. An existing page, as in a source archive, is used unchanged.
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
