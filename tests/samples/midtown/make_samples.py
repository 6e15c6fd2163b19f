"""Makes the Midtown Madness 2 samples: ``python -m tests.samples.midtown.make_samples``."""

from __future__ import annotations

from pathlib import Path

from tests.building.midtown import beta, channel, model_text, old, retail, skeleton_text, walk


def samples() -> dict[str, bytes]:
    return {
        "retail.anim": retail(walk()),
        "retail-few-bones.anim": retail(walk(3, 2), -0.75),
        "retail-left-over.anim": retail(walk(3, 2)) + b"behind",
        "document.anim": beta(3, channel(walk(3, 2))),
        "document-channels.anim": beta(
            3, channel(walk(3, 2)), channel([[0.5, 0.25], [0.5, 0.5], [0.5, 0.75]], 0.0, 2), channel(walk(3, 4))
        ),
        "document-long-channels.anim": beta(30, channel(walk(30, 19)), channel(walk(30, 2), 0.0, 7)),
        "old.anim": old(walk(3, 2)),
        "figure.anim": retail(walk(3, 3)),
        "figure.skel": skeleton_text(),
        "figure.mod": model_text(),
        "flat.mod": model_text(packets=False),
        "flat.skel": skeleton_text(),
    }


if __name__ == "__main__":
    for name, data in samples().items():
        (Path(__file__).parent / name).write_bytes(data)
