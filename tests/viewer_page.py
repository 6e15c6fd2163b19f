"""The page of the viewer, which ``make viewer`` builds: tests that need it are skipped without it."""

from __future__ import annotations

import pytest

from keyframer.viewer.standalone_page import FOLDER

NOT_BUILT = None if (FOLDER / "index.html").is_file() else "the viewer's page is not built (make viewer)"
needs_page = pytest.mark.skipif(NOT_BUILT is not None, reason=str(NOT_BUILT))
