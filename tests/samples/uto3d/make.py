"""Makes the U3D samples: ``python -m tests.samples.uto3d.make`` (a test compares them)."""

from __future__ import annotations

from pathlib import Path

from tests.building.uto3d import samples

if __name__ == "__main__":
    for name, data in samples().items():
        (Path(__file__).parent / name).write_bytes(data)
