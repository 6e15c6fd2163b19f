"""Stage lighting archives: GDTF fixtures and MVR shows, read into scenes and written again with other models.

`check` adds the rules of the specifications that loading does not check.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipInfo

import numpy as np

from keyframer.catalogue import (
    CATALOGUE,
    IO_EMPTY,
    STAGE_CASE_COLLISION,
    STAGE_EXTENSION_MISSING,
    STAGE_FILE_IN_FOLDER,
    STAGE_FILE_UNUSED,
    STAGE_GLTF_RULE,
    STAGE_MODEL_SCALE,
    STAGE_MODEL_VERTICES,
    STAGE_NESTED_ARCHIVE,
    STAGE_PACKING,
)
from keyframer.errors import FormatError
from keyframer.exchange.gltf.read.container import open_container
from keyframer.exchange.gltf.read.json_text import Findings, Item
from keyframer.exchange.stage.archives import Archive, ArchiveSource, packing_problem, placement_digest
from keyframer.exchange.stage.assembly import Assembly, Model
from keyframer.exchange.stage.fixtures import LEAST_DIMENSION, Fixture, FixtureBuilder, dimensions
from keyframer.exchange.stage.shows import (
    DEFAULT_EXTENSION,
    FIXTURE_EXTENSION,
    METRES_PER_UNIT,
    Show,
    ShowBuilder,
    fixture_name,
    model_name,
)
from keyframer.exchange.stage.shows import DESCRIPTION as SHOW_DESCRIPTION
from keyframer.formats.kit.summary_tables import Table
from keyframer.issues import IssueLog, Severity
from keyframer.limits import Limits
from keyframer.posing import pose
from keyframer.scene import Scene, Space
from keyframer.text import safe_text
from keyframer.wire.xml_tree import Element


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
    scene = _finish(assembly, data, archive)
    assert isinstance(scene.sources, ArchiveSource)
    scene.sources.mode = mode if mode is not None else next(iter(fixture.modes), None)
    return scene


def _finish(assembly: Assembly, data: bytes, archive: Archive) -> Scene:
    assembly.finish()
    scene, is_show = assembly.scene, archive.find(SHOW_DESCRIPTION) is not None
    scene.sources = ArchiveSource(data, assembly.limits, is_show, archive.used, placement_digest(scene))
    return scene


def summarise(scene: Scene) -> list[Table]:
    """Return the fixtures of a show; of a fixture itself and its modes. Positions are in the unit of the scene."""
    columns = ("number", "name", "type", "mode", "address", "universe.channel", "x", "y", "z")
    fixtures = Table("fixtures", "Fixtures", columns, in_summary=True)
    modes = Table("modes", "Modes", ("mode", "geometry", "chosen"))
    source = scene.sources
    if isinstance(source, ArchiveSource) and not source.is_show:
        fixture = Fixture(Archive(source.data, source.limits), source.limits)
        type_name = f"{fixture.type.get('Manufacturer')}@{fixture.type.get('Name')}"
        fixtures.add(None, fixture.name, type_name, source.mode, *[None] * 5)
        for name, mode in fixture.modes.items():
            modes.add(name, mode.get("Geometry"), name == source.mode)
        return [fixtures, modes]
    listed = fixtures_of(scene)
    world = pose(scene, [0.0]).world[0] if listed else np.empty((0, 4, 4))
    for at in listed:
        node, stated = scene.nodes[at], scene.nodes[at].extras["mvr"]
        spec = stated.get("GDTFSpec")
        texts = stated.get("Address", "").split(", ")
        addresses = [_address(text) for text in texts if text] if {*texts} != {"0"} else []  # 0: not patched
        fixtures.add(
            stated.get("FixtureID"),
            stated.get("name", node.name),
            None if spec is None else fixture_name(spec)[: -len(FIXTURE_EXTENSION)],
            stated.get("GDTFMode"),
            ", ".join(absolute for absolute, _ in addresses) or None,
            ", ".join(in_universe for _, in_universe in addresses) or None,
            *(float(part) + 0.0 for part in world[at, :3, 3]),
        )
    return [fixtures, modes]


def fixtures_of(scene: Scene) -> list[int]:
    """Return the nodes of the fixtures of a show."""
    return [at for at, node in enumerate(scene.nodes) if node.extras.get("mvr", {}).get("type") == "Fixture"]


_CHANNELS = 512
"""number of channels of a DMX universe"""


def _address(text: str) -> tuple[str, str]:
    """Return a DMX address counted from the first universe (``513``), and in its universe (``2.1``). A file states one
    of them; other text is returned as it is.
    """
    parts = text.split(".")
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 10 and int(part) for part in parts):
        return text, text
    if len(parts) == 2:
        return str((int(parts[0]) - 1) * _CHANNELS + int(parts[1])), text
    universe, channel = divmod(int(parts[0]) - 1, _CHANNELS)
    return text, f"{universe + 1}.{channel + 1}" if len(parts) == 1 else text


MOST_VERTICES = 1200
"""maximum number of vertices of all default models of a fixture together"""
_SAME_POWER = 0.05
"""how far the logarithm of a factor may be from an integer"""
_FLOAT = 5126
_IMAGE_TYPES = ("image/png", "image/jpeg")
_GLTF_EXTENSIONS = (".glb", ".gltf")
_ARCHIVE_EXTENSIONS = (".zip", ".mvr", FIXTURE_EXTENSION)


def check(data: bytes, scene: Scene, limits: Limits) -> None:
    """Add the issues of the archive that a scene was read from to those of the scene."""
    source = scene.sources
    assert isinstance(source, ArchiveSource)
    archive = Archive(data, limits)
    _check_names(archive, scene.issues, is_show=source.is_show)
    if source.is_show:
        show = Show(archive, limits)
        _check_show(show, limits, scene.issues)
        _check_unused(archive, show.description, source.used, scene.issues)
        for member in archive.members:
            name = member.filename
            if os.path.splitext(name)[1].lower() == FIXTURE_EXTENSION and name in source.used:
                try:
                    fixture = Fixture(Archive(archive.read(member), limits, f"{name}!/"), limits)
                except FormatError:  # reported by loading
                    continue
                _check_fixture(fixture, limits, scene.issues)
    else:
        _check_fixture(Fixture(archive, limits), limits, scene.issues)


def _check_names(archive: Archive, issues: IssueLog, *, is_show: bool) -> None:
    seen: dict[str, str] = {}
    for member in archive.members:
        name = member.filename
        path, offset = f"{archive.path}{name}", member.header_offset
        first_name = seen.setdefault(name.lower(), name)
        if first_name != name:
            issues.add(STAGE_CASE_COLLISION, path, offset, other=first_name)
        if "/" in name and is_show:
            issues.add(STAGE_FILE_IN_FOLDER, path, offset)
        problem = packing_problem(member)
        if problem:
            issues.add(STAGE_PACKING, path, offset, problem=problem)
        if name.lower().endswith(_ARCHIVE_EXTENSIONS) and (not is_show or not name.lower().endswith(FIXTURE_EXTENSION)):
            issues.add(STAGE_NESTED_ARCHIVE, path, offset)


def _check_unused(archive: Archive, description: Element, used: set[str], issues: IssueLog) -> None:
    """Report members that neither the description nor a loaded model refers to, except thumbnails."""
    referenced = {description.path.removeprefix(archive.path).partition("/")[0]}
    for element in description.walk():
        referenced.update(element.attributes.values())
        referenced.add(element.text.strip())
    for member in archive.members:
        base = os.path.basename(member.filename)
        stem, extension = os.path.splitext(base)
        if (
            member.filename not in used
            and not referenced & {member.filename, base, stem}
            and base != "thumbnail" + extension
        ):
            issues.add(STAGE_FILE_UNUSED, f"{archive.path}{member.filename}", member.header_offset)


def _check_show(show: Show, limits: Limits, issues: IssueLog) -> None:
    checked: set[str] = set()
    for element in show.description.walk():
        if element.tag == "Geometry3D":
            name = model_name(element)
            stated, default_extension, path = element.get("fileName"), DEFAULT_EXTENSION, f"{element.path}/@fileName"
        elif element.tag == "GDTFSpec" and element.text.strip():
            stated, default_extension, path = element.text.strip(), FIXTURE_EXTENSION, element.path
            name = fixture_name(stated)
        else:
            continue
        if name != stated:
            issues.add(STAGE_EXTENSION_MISSING, path, element.offset, name=stated, taken=default_extension)
        member = show.archive.find(name)
        if member is not None and member.filename not in checked and name.lower().endswith(_GLTF_EXTENSIONS):
            checked.add(member.filename)
            for extension in _gltf_root(show.archive, member, limits, issues).entries("extensionsRequired"):
                problem = f"it requires the extension {extension}"
                issues.add(STAGE_GLTF_RULE, member.filename, member.header_offset, problem=problem)


def _check_fixture(fixture: Fixture, limits: Limits, issues: IssueLog) -> None:
    archive = fixture.archive
    assembly = Assembly(Scene(space=Space("z", metres_per_unit=1.0)), limits, salvage=True)
    vertex_count = 0
    for element in fixture.models.values():
        name = fixture.model_file(element)
        member = None if name is None else archive.find(name)
        if member is None:
            continue
        try:
            model = assembly.model(archive, member.filename)
        except FormatError:  # reported by loading
            continue
        if model is None:
            continue
        vertex_count += model.vertex_count
        factor = _scale_factor(model, element)
        if factor is not None:
            stated = " x ".join(f"{size:g} m" for size in dimensions(element))
            args: dict[str, Any] = {"factor": factor, "stated": stated, "name": element.get("Name")}
            issues.add(STAGE_MODEL_SCALE, f"{archive.path}{member.filename}", member.header_offset, **args)
    _check_unused(archive, fixture.description, set(archive.used), issues)
    for member in archive.members:
        if member.filename.lower().endswith(_GLTF_EXTENSIONS):
            for problem in _fixture_gltf_problems(_gltf_root(archive, member, limits, issues)):
                path = f"{archive.path}{member.filename}"
                issues.add(STAGE_GLTF_RULE, path, member.header_offset, problem=problem)
    if vertex_count > MOST_VERTICES:
        issues.add(STAGE_MODEL_VERTICES, fixture.description.path, 0, count=vertex_count, most=MOST_VERTICES)


def _scale_factor(model: Model, element: Element) -> float | None:
    """Return how many times too large a model is, if that is a power of ten; None if its size is right, wrong by
    another factor, or unknown.
    """
    if model.box is None:
        return None
    extent, size = model.box[1] - model.box[0], dimensions(element)
    usable = (extent > 0) & (size > LEAST_DIMENSION)
    if not usable.any():
        return None
    metres = METRES_PER_UNIT if model.metres_per_unit is None else model.metres_per_unit
    powers = np.log10(extent[usable] * metres / size[usable])
    power = round(float(powers.mean()))
    if power == 0 or np.abs(powers - power).max() > _SAME_POWER or not math.isfinite(power):
        return None
    return float(10.0**power)


def _gltf_root(archive: Archive, member: ZipInfo, limits: Limits, issues: IssueLog) -> Item:
    """Return the JSON of a glTF file, empty if it cannot be read; only loading reports its errors.

    A member that cannot be unpacked is a warning if loading does not need it.
    """
    data = b""
    try:
        data = archive.read(member)
    except FormatError as error:
        if all((issue.code, issue.path) != (error.code, error.path) for issue in issues):
            details = error.details or {"reason": error.message}
            issues.add(CATALOGUE[error.code], error.path, error.offset, severity=Severity.WARNING, **details)
    findings = Findings(limits, salvage=True)
    try:
        return open_container(data, limits, findings).root
    except FormatError:
        return Item({}, "", findings)


def _fixture_gltf_problems(root: Item) -> list[str]:
    problems = [f"it uses the extension {name}" for name in root.entries("extensionsUsed")]
    if root.entries("animations"):
        problems.append("it has animation")
    accessors = root.children("accessors")
    attributes = [
        primitive.child("attributes") for mesh in root.children("meshes") for primitive in mesh.children("primitives")
    ]
    attribute_accessors = {
        (semantic, number)
        for item in attributes
        if item
        for semantic, number in item.value.items()
        if type(number) is int
    }
    not_float = {
        semantic
        for semantic, number in attribute_accessors
        if 0 <= number < len(accessors) and accessors[number].value.get("componentType") != _FLOAT
    }
    problems += [f"the vertex attribute {semantic} is not stored as floats" for semantic in sorted(not_float)]
    kinds = [image.value["mimeType"] for image in root.children("images") if image.has("mimeType")]
    return problems + [f"it has an image of the type {kind}" for kind in kinds if kind not in _IMAGE_TYPES]
