"""The site: ``make docs`` builds ``build/docs`` from the pages in this folder, with warnings as errors."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

from keyframer import __version__

project = "Keyframer"
author = "The Keyframer authors"
copyright = "2026, The Keyframer authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["formats/notes/*", "try/*"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = "Keyframer"
html_static_path: list[str] = []
html_extra_path = ["llms.txt"]
html_copy_source = False
html_show_sourcelink = False


def without_links_outside(app: Sphinx, docname: str, source: list[str]) -> None:
    """Show links to files of the repository that are not pages of the site as plain names."""
    source[0] = re.sub(r"\[([^\]]+)\]\(\.\./(?:benchmarks/|CONTRIBUTING)[^)]*\)", r"`\1`", source[0])


def with_the_page(app: Sphinx, error: Exception | None) -> None:
    """Put the page that runs Keyframer in a browser into try/, if ``make page`` has built it."""
    page = Path(app.srcdir).parent / "build/page"
    if error is None and page.is_dir():
        shutil.copytree(page, Path(app.outdir, "try"), dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.connect("source-read", without_links_outside)
    app.connect("build-finished", with_the_page)
