"""Rewrites baselines and pictures: `python -m tests.reference_curves.regenerate` in the project's root."""

from __future__ import annotations

from .baseline import BASELINES, PICTURES, write_text
from .curves import CURVES
from .picture import svg


def main() -> None:
    """Replace every file, and remove the files of curves that no longer exist."""
    for folder, suffix, make in (
        (BASELINES, ".txt", lambda name: write_text(CURVES[name])),
        (PICTURES, ".svg", lambda name: svg(name, CURVES[name])),
    ):
        folder.mkdir(exist_ok=True)
        for old in folder.glob(f"*{suffix}"):
            old.unlink()
        for name in CURVES:
            (folder / f"{name}{suffix}").write_text(make(name), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
