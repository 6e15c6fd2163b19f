"""Stage lighting archives: GDTF fixtures and MVR shows, read into scenes and written again with other models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyframer.catalogue import IO_EMPTY
from keyframer.exchange.stage.archives import Archive, ArchiveSource, placement_digest
from keyframer.exchange.stage.assembly import Assembly
from keyframer.exchange.stage.fixtures import Fixture, FixtureBuilder
from keyframer.exchange.stage.rules import check
from keyframer.exchange.stage.shows import DESCRIPTION as SHOW_DESCRIPTION
from keyframer.exchange.stage.shows import METRES_PER_UNIT, Show, ShowBuilder
from keyframer.issues import IssueLog
from keyframer.limits import Limits
from keyframer.scene import Scene, Space
from keyframer.text import safe_text

__all__ = ["check", "load"]


def load(
    data: bytes, folder: Path | None, limits: Limits, options: Mapping[str, Any], *, salvage: bool = False
) -> Scene:
    """Return the scene of a show or fixture; the option ``mode`` is the mode of a fixture, by default the first."""
    unknown = sorted(set(options) - {"mode"})
    if unknown:
        raise ValueError(f"stage archives have no option {unknown[0]!r} (they have: mode)")
    if not data:
        raise IO_EMPTY.failure(0, "/")
    archive = Archive(data, limits)
    issues = IssueLog(limits.issues_per_code, limits.issues)
    if archive.find(SHOW_DESCRIPTION) is not None:
        scene = Scene(
            space=Space("z", metres_per_unit=METRES_PER_UNIT, unit_rule="MVR uses millimetres"),
            issues=issues,
            source_format="mvr",
        )
        assembly = Assembly(scene, limits, salvage=salvage)
        ShowBuilder(Show(archive, limits), assembly).build()
        return _finish(assembly, data, archive)
    fixture = Fixture(archive, limits)
    scene = Scene(
        space=Space("z", metres_per_unit=1.0, unit_rule="GDTF states the dimensions of models in metres"),
        issues=issues,
        source_format="gdtf",
        title=fixture.name,
    )
    mode = None if options.get("mode") is None else str(options["mode"])
    if mode is not None and mode not in fixture.modes:
        modes = ", ".join(map(safe_text, fixture.modes)) or "none"
        raise ValueError(f"the fixture has no mode {mode!r} (available: {modes})")
    assembly = Assembly(scene, limits, salvage=salvage)
    FixtureBuilder(fixture, assembly).add(None, mode, "/")
    return _finish(assembly, data, archive)


def _finish(assembly: Assembly, data: bytes, archive: Archive) -> Scene:
    assembly.finish()
    scene, is_show = assembly.scene, archive.find(SHOW_DESCRIPTION) is not None
    scene.sources = ArchiveSource(data, assembly.limits, is_show, archive.used, placement_digest(scene))
    return scene
