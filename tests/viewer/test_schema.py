"""What the page asks for has the form that ``schemas/viewer.json`` describes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyframer.scene.loss_report import CannotWrite
from keyframer.viewer.resources import JSON, Resources
from tests.cli.running import check_schema
from tests.viewer.opening import FILES, SAMPLES, viewed

SHOWN = (*FILES, *(SAMPLES / name for name in ("midtown/document-channels.anim", "uto3d/sampled.u3d", "ase/stage.ase")))


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_all_resources_of_a_file(path: Path) -> None:
    resources = Resources(viewed(path))
    content = resources.get("/data/0/scene")
    assert content is not None
    saves = [f"/data/0/report/{save['number']}" for save in json.loads(content[1])["saves"]]
    checked = set()
    for place in [*resources.paths(), *saves]:
        try:
            resource = resources.get(place)
        except CannotWrite:
            continue
        if resource is not None and resource[0] == JSON:
            parts = place.removeprefix("/data/").split("/")  # files; 0, scene; 0, records, 2
            name = "record_page" if parts[1:2] == ["records"] and len(parts) > 2 else parts[min(1, len(parts) - 1)]
            check_schema("viewer", json.loads(resource[1]), name)
            checked.add(name)
    assert checked >= {"files", "scene", "records", "record_page"}


def test_every_part_of_the_schema_is_checked() -> None:
    """The example has lights, losses and tracks."""
    paths = {place.split("/")[3] for place in Resources(viewed(FILES[0])).paths() if place.count("/") > 2}
    assert paths >= {"scene", "losses", "records", "clip", "lamps", "track"}
