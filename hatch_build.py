"""Builds the page of the viewer and adds it to the package (``make viewer`` builds it, too); makes the page for PyPI.

KEYFRAMER_NO_VIEWER=1 builds a wheel without the page. An editable install never builds it, because work on the
Python code must not need Node. An existing page, as in a source archive, is used unchanged.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

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


class ReadmeMetadataHook(MetadataHookInterface):
    """The hook that gives packages the README and the addresses of the project.

    The addresses are those of the repository whose workflow builds the release (GITHUB_REPOSITORY); its Pages are the
    site. Elsewhere packages have no addresses, and links of the README stay relative.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        if repository := os.environ.get("GITHUB_REPOSITORY"):
            source = f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{repository}"
            owner, name = repository.split("/")
            site = f"https://{owner}.github.io/{name}"
            text = with_absolute_links(text, f"{source}/{{}}/v{metadata['version']}")
            metadata["urls"] = {
                "Source": source,
                "Documentation": site,
                "Try it": f"{site}/try/",
                "Changelog": f"{source}/blob/main/CHANGELOG.md",
                "Issues": f"{source}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def with_absolute_links(text: str, address: str) -> str:
    """Return Markdown whose relative links and pictures lead to the repository: {} becomes "blob" or "raw"."""
    return re.sub(
        r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)",
        lambda found: f"{found[0]}{address.format('raw' if found[1] else 'blob')}/",
        text,
    )
