"""Makes the node animation samples with the writer of the tests: ``python -m tests.samples.nodeanim.make``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.building.nodeanim import Clip, Framing, chunk, clips, header_content, with_key_flags, write

FOLDER = Path(__file__).parent


def samples() -> dict[str, bytes]:
    """One file for each of the main framings."""
    all_clips = clips()
    mixed, linear, tcb, bezier = all_clips["mixed"], all_clips["linear"], all_clips["tcb"], all_clips["bezier"]
    default = Framing()
    sized = replace(default, header="u32+u32", order=">", text="u16")
    with_others = (
        chunk(9, b"what is this", default)
        + chunk(1, header_content(Clip(), default), default)
        + chunk(7, b"", default)
        + chunk(2, b"", default)
        + chunk(9, b"\0\xff" * 3, default)
    )
    return {
        "default_mixed": write(mixed, default),
        "default_empty_clip": write(Clip(), default),
        "other_chunks": with_others,
        "big_u32_u32_u16_text": write(mixed, sized),
        "u8_u32_inside": write(tcb, Framing(header="u8+u32", size_counts_header=False, text="u8")),
        "u16_u16": write(linear, Framing(header="u16+u16")),
        "big_u32_u16_u32_text": write(bezier, Framing(">", "u32", "u32+u16", False)),
        "id_only_u8": write(tcb, Framing(header="u8")),
        "big_id_only_u16": write(mixed, Framing(">", "nul", "u16")),
        "id_only_u32_u8_text": write(linear, Framing(header="u32", text="u8")),
        "no_header": write(mixed, Framing(header="none")),
        "big_no_header_u16_text": write(mixed, Framing(">", "u16", "none")),
        "tcb_by_key": write(with_key_flags(mixed), Framing(tcb_by_key=True)),
        "big_tcb_by_key_no_header": write(with_key_flags(mixed), Framing(">", "u8", "none", tcb_by_key=True)),
    }


def main() -> None:
    for name, data in samples().items():
        (FOLDER / f"{name}.nanim").write_bytes(data)


if __name__ == "__main__":
    main()
