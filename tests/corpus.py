"""The shared corpus of real files, in a folder next to the checkout. Tests that need it are skipped if it is
missing."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
CORPUS = SHARED / "corpus"

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus of real files is not on this machine")


def threeds_files() -> list[Path]:
    """Return the real 3D Studio files; none if there is no corpus."""
    folder = CORPUS / "3ds"
    return sorted(path for path in folder.glob("*") if path.suffix.lower() == ".3ds")


def animation_files() -> list[Path]:
    """Return the real files of all formats that can be loaded without naming a companion or option."""
    return [*threeds_files(), *sorted((CORPUS / "ase").glob("*")), *sorted((CORPUS / "hale3d").glob("*.anim"))]


def more_animation_files() -> list[Path]:
    """Return the real 3D Studio files of other folders: scenes with truth of their own, and files that showed
    something."""
    folders = (CORPUS / name for name in ("makbot", "secondreality", "wild"))
    return sorted(path for folder in folders for path in folder.glob("*") if path.suffix.lower() in (".3ds", ".prj"))


def invalid_files() -> list[Path]:
    return sorted((CORPUS / "3ds" / "invalid").glob("*"))


def table(name: str) -> list[dict[str, str]]:
    """A table of the corpus, such as ``3ds/GROUNDTRUTH.tsv``."""
    with open(CORPUS / name, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))
