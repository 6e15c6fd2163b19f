"""The page of the viewer, which ``make viewer`` builds: tests that need it are skipped without it, but fail in CI."""

from __future__ import annotations

import os

import pytest

from keyframer.viewer.standalone_page import FOLDER

NOT_BUILT = None if (FOLDER / "index.html").is_file() else "the viewer's page is not built (make viewer)"
if NOT_BUILT and os.environ.get("CI"):
    pytest.fail(f"{NOT_BUILT}: continuous integration must not skip its tests", pytrace=False)
needs_page = pytest.mark.skipif(NOT_BUILT is not None, reason=str(NOT_BUILT))
