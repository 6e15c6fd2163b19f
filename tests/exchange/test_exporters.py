"""What an exporter declares is what commands, documentation and pages offer."""

from __future__ import annotations

import argparse
import ast
from dataclasses import fields
from pathlib import Path

import pytest

import keyframer
from keyframer.exchange import EXPORTERS, Exporter, NativeExporter
from keyframer.exchange.gltf import EXPORTER as GLTF
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.operations.convert import Convert
from keyframer.viewer.saving import SAVE_CHOICES

PACKAGE = Path(keyframer.__file__).parent
WITH_OPTIONS = [exporter for exporter in EXPORTERS if exporter.options]
VALUES = {"bool": "true", "float": "0.5", "length": "cm", "str": None}


@pytest.mark.parametrize("exporter", WITH_OPTIONS, ids=lambda exporter: exporter.name)
def test_every_declared_option_is_offered(exporter: Exporter) -> None:
    parser = argparse.ArgumentParser()
    Convert().add_options(parser)
    help_text = " ".join(parser.format_help().split())
    for option in exporter.options:
        value = VALUES[option.type] or (option.choices or ("",))[0]
        assert option.name in exporter.options_from_text({option.name: value})
        assert option.name in (keyframer.save.__doc__ or "")
        assert not option.is_flag or f"--{option.name.replace('_', '-')} " in help_text


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_options_of_other_exporters_are_refused(exporter: Exporter) -> None:
    if isinstance(exporter, NativeExporter) and exporter.format.scene_bridge().writer() is None:
        pytest.skip("the format is only read")
    known = set(exporter.option_types())
    for other in WITH_OPTIONS:
        for option in other.options:
            if option.name not in known:
                with pytest.raises(ValueError, match=f"{exporter.name} has no option '{option.name}'"):
                    Convert().suffix({"to": exporter.name, "write": {option.name: "1"}})


def test_declared_options_are_those_of_the_writer() -> None:
    assert {option.name for option in GLTF.options} == {field.name for field in fields(GltfOptions)} - {
        *("images", "source"),
    }


def test_lengths_can_be_given_as_text() -> None:
    assert GLTF.options_from_text({"unit": "0.5"}) == {"unit": 0.5}
    assert GLTF.options_from_text({"unit": "inch"}) == {"unit": "inch"}
    with pytest.raises(ValueError, match="unit must be a number of metres, file, or one of mm, "):
        GLTF.options_from_text({"unit": "half"})


def test_the_page_saves_every_file_of_every_exporter() -> None:
    endings = [choice.ending for choice in SAVE_CHOICES]
    for exporter in EXPORTERS:
        for dialect in exporter.choices():
            assert exporter.extension(dialect) in endings


def test_rooms_above_name_no_exporter() -> None:
    """The gallery and the viewer use binary glTF; commands and batches leave the choice to the registry."""
    for path in sorted([*(PACKAGE / "cli").rglob("*.py"), *(PACKAGE / "batch").rglob("*.py")]):
        for part in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(part, ast.Constant) and path.name != "gallery_page.py":
                assert part.value not in {exporter.name for exporter in WITH_OPTIONS}, f"{path}:{part.lineno}"
            if isinstance(part, ast.ImportFrom) and path.name != "gallery_page.py":
                assert not (part.module or "").startswith("keyframer.exchange.gltf"), path
