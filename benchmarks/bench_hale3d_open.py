"""Opening Hale3D animations: a large one compared with reading its bytes, and files with very many joints.

The goal for a 100 MB animation is at most twice the time of reading the file into memory, measured in the same run:
the frames are one view of the bytes. Joints are records, which take time each; the time must grow linearly.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from benchmarks._timing import against_goal, best_of, headline, row

import keyframer

JOINTS = 100
COMPONENTS = 6 * JOINTS
FRAME_SIZE = 24 + 4 * COMPONENTS


def animation(frames: int, joints: int, components: int) -> bytes:
    """Return the bytes of a valid file, made without the library."""
    header = b"H3DA" + struct.pack("<5I", 1, frames, 24, joints, components)
    joint_records = b"".join(
        struct.pack("<iII", index - 1, 0b111111, 0) + b"\0" + struct.pack("<7f", 0, 0, 0, 0, 0, 0, 1)
        for index in range(joints)
    )
    return header + joint_records + bytes(frames * (24 + 4 * components))


def main() -> None:
    headline("Opening Hale3D animations")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "big.anim")
        path.write_bytes(animation(100_000_000 // FRAME_SIZE, JOINTS, COMPONENTS))
        megabytes = path.stat().st_size / 1e6
        reading = best_of(path.read_bytes, runs=9)
        opening = best_of(lambda: keyframer.read(path), runs=9)
    row(f"{megabytes:.0f} MB, bytes into memory", reading)
    row(f"{megabytes:.0f} MB, opened as a document", opening, against_goal(opening / reading, 2, at_most=True))
    for joints in (125_000, 250_000, 500_000, 1_000_000):
        data = animation(0, joints, 6)
        seconds = best_of(lambda data=data: keyframer.decode(data), runs=2)  # type: ignore[misc]
        row(
            f"{joints} joints ({len(data) / 1e6:.0f} MB), decoded",
            seconds,
            f"{seconds / joints * 1e6:.2f} us per joint",
        )


if __name__ == "__main__":
    main()
