"""Writes the MD5 samples after the engine's source: ``python -m tests.samples.md5.make``."""

from __future__ import annotations

import math
from pathlib import Path

HERE = Path(__file__).parent

BODY = """MD5Version 10
commandline "mesh by hand -dest body.md5mesh"

numJoints 3
numMeshes 2

joints {
\t"origin"\t-1 ( 0 0 0 ) ( 0 0 0 )\t\t//
\t"arm"\t0 ( 0 0 1 ) ( 0 -0.7071067691 0 )\t\t// origin
\t"hand"\t1 ( 2 0 1 ) ( 0 -0.7071067691 0 )\t\t// arm
}

mesh {
\t// meshes: sleeve
\tshader "models/body/sleeve"

\tnumverts 4
\tvert 0 ( 0 1 ) 0 1
\tvert 1 ( 1 1 ) 1 1
\tvert 2 ( 0 0 ) 2 2
\tvert 3 ( 1 0 ) 4 2

\tnumtris 2
\ttri 0 0 2 1
\ttri 1 1 2 3

\tnumweights 6
\tweight 0 1 1 ( 0 0 0 )
\tweight 1 1 1 ( 0 1 0 )
\tweight 2 1 0.5 ( 0 0 2 )
\tweight 3 2 0.5 ( 0 0 0 )
\tweight 4 1 0.25 ( 0 1 2 )
\tweight 5 2 0.75 ( 0 1 0 )
}

mesh {
\tshader "palm.tga"

\tnumverts 3
\tvert 0 ( 0 0 ) 0 1
\tvert 1 ( 1 0 ) 1 1
\tvert 2 ( 0 1 ) 2 1

\tnumtris 1
\ttri 0 0 1 2

\tnumweights 3
\tweight 0 2 1 ( 0 0 0 )
\tweight 1 2 1 ( 1 0 0 )
\tweight 2 2 1 ( 0 1 0 )
}
"""


def body() -> bytes:
    """Return a model of two meshes with the comments of id's exporter."""
    return BODY.encode()


def wave() -> bytes:
    """Return an animation: the arm turns about Y, the hand moves. Lines end with CR LF, a value is written oddly."""
    turns = [-math.sin(math.radians(45 + 10 * step)) for step in range(4)]
    frames = "".join(
        f"\nframe {n} {{\n\t {turn:.10f}\n\t {n / 8:.6f} {-n / 4:.6f}\n}}\n" for n, turn in enumerate(turns)
    )
    text = f"""MD5Version 10
commandline ""

numFrames 4
numJoints 3
frameRate 24
numAnimatedComponents 3

hierarchy {{
\t"origin"\t-1 0 0\t//
\t"arm"\t0 16 0\t// origin ( Qy )
\t"hand"\t1 5 1\t// arm ( Tx Tz )
}}

bounds {{
\t( -1 -1 -1 ) ( 3 1 +2.50e0 )
\t( -1 -1 -1 ) ( 3 1 2.5 )
\t( -1 -1 -1 ) ( 3 1 2.5 )
\t( -1 -1 -1 ) ( 3 1 2.5 )
}}

baseframe {{
\t( 0 0 0 ) ( 0 0 0 )
\t( 0 0 1 ) ( 0 -0.7071067691 0 )
\t( 0 0 2 ) ( 0 0 0 )
}}
{frames}"""
    return text.replace("\n", "\r\n").encode()


def odd() -> bytes:
    """Return a model on one line: rows that are numbered wrongly, a wrong count, a name that looks like a comment."""
    return (
        b'MD5Version 10 commandline "" numJoints 2 numMeshes 1 '
        b'joints { "a//b" -1 ( 0 0 0 ) ( 0 0 0 ) /* a\n comment } */ loose 0 ( 1 0 0 ) ( 0 0 0 ) } '
        b'mesh { shader "x" numverts 9 vert 7 ( 0 0 ) 0 1 vert 1 ( 1 0 ) 0 1 vert 2 ( 0 1 ) 1 1 '
        b"numtris 1 tri 0 0 1 2 numweights 2 weight 0 1 1 ( 0 0 0 ) weight 1 0 1 ( 0 1 0 ) }"
    )


def shots() -> bytes:
    """Return a camera of three shots: one that turns and moves, one frame alone, which is never shown, and one that
    zooms."""
    rows = [
        *((n, 2 * n, 1, 0, 0, math.sin(math.radians(20 * n)), 90) for n in range(4)),
        (50, 0, 5, 0.5, -0.5, 0.5, 60),
        *((-10, -20, 30 + n / 4, 0.1 * n, 0.3, -0.6, 40 - 5 * n) for n in range(3)),
    ]
    frames = "".join(
        f"\t( {x:.10g} {y:.10g} {z:.10g} ) ( {a:.10g} {b:.10g} {c:.10g} ) {fov:.10g}\n"
        for x, y, z, a, b, c, fov in rows
    )
    text = f"""MD5Version 10
commandline "camera shots.mb -range 1 8"

numFrames 8
frameRate 24
numCuts 2

cuts {{
\t3
\t4\t// a frame alone
}}

camera {{
{frames}}}
"""
    return text.replace("\n", "\r\n").encode()


def headset() -> bytes:
    """Return a camera with the additions of Doom 3 BFG VR, and cuts before the first frame and behind the last."""
    return (
        b'MD5Version 10 commandline "" numFrames 3 frameRate 30 numCuts 2 '
        b"cuts { 0 pos ( 1 2 3 ) rot ( 0 0 .5 ) 7 pos(0 0 0) rotA (0 90 -0) }"
        b"camera{(0 0 0)(0 0 0)80 (1 0 0)(0 0 0)80 (2 0 0)(0 0 0.5)75.5}"
    )


SAMPLES = {
    "body.md5mesh": body,
    "wave.md5anim": wave,
    "odd.md5mesh": odd,
    "shots.md5camera": shots,
    "headset.md5camera": headset,
}

if __name__ == "__main__":
    for file_name, make in SAMPLES.items():
        (HERE / file_name).write_bytes(make())
