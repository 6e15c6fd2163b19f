"""Makes the Hale3D samples: ``python -m tests.samples.hale3d.make_samples``."""

from __future__ import annotations

from pathlib import Path

from tests.building.hale3d import TEXTS, arm, frame, header, joint, wave


def samples() -> dict[str, bytes]:
    same_names = b"".join(joint(b'"origin"', index - 1, 0b111111, 6 * index) for index in range(4))
    files = {f"wave-{name}.anim": wave(text) for name, text in TEXTS.items()}
    files |= {f"arm-{name}.mdl": arm(text) for name, text in TEXTS.items()}
    files["still.anim"] = header(0, 2, 9) + joint(b"a") + joint(b"b", 0)
    files["origins.anim"] = header(2, 4, 24) + same_names + 2 * frame((0,) * 6, [index / 32 for index in range(24)])
    files["behind.anim"] = wave() + b"left behind"
    files["cut.anim"] = wave()[:-17]
    files["signalling-nan.anim"] = header(0, 1, 0) + joint(b"nan")[:-16] + b"\x01\x00\xa0\x7f" + bytes(12)
    return files


if __name__ == "__main__":
    for name, data in samples().items():
        (Path(__file__).parent / name).write_bytes(data)
