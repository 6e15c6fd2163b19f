"""Makes the small files in ``tests/samples/3ds``, byte by byte: ``python -m tests.samples.make_3ds``.

No code of the project is used here, so the samples are independent of it. `windmill.3ds` is not made here: it is the
first example that the project shipped.
"""

from __future__ import annotations

import struct
from pathlib import Path

from tests.building.files import chunk

FOLDER = Path(__file__).parent / "3ds"
SIGNALLING = bytes.fromhex("0100a07f")  # a signalling NaN: a conversion to double and back would set its quiet bit
SIGNALLING_NEGATIVE = bytes.fromhex("efbeadff")


def u16(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def f32(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def strz(text: str) -> bytes:
    return text.encode("ascii") + b"\0"


def key(frame: int, flags: int, *value: bytes) -> bytes:
    """A key; its optional floats are 0.125, 0.25 … in the order of their bits."""
    extras = f32(*(0.125 * (bit + 1) for bit in range(5) if flags >> bit & 1))
    return struct.pack("<iH", frame, flags) + extras + b"".join(value)


def track(chunk_id: int, *keys: bytes, flags: int = 0, count: int | None = None) -> bytes:
    return chunk(chunk_id, u16(flags), u32(0, 0), u32(len(keys) if count is None else count), *keys)


def triangle(*sub_chunks: bytes) -> bytes:
    return chunk(
        0x4100,
        chunk(0x4110, u16(3), f32(0, 0, 0, 1, 0, 0, 0, 1, 0)),
        chunk(0x4120, u16(1), u16(0, 1, 2, 7), chunk(0x4130, strz("red"), u16(1), u16(0)), chunk(0x4150, u32(1))),
        *sub_chunks,
    )


def material(name: str) -> bytes:
    return chunk(
        0xAFFF,
        chunk(0xA000, strz(name)),
        chunk(0xA020, chunk(0x0011, bytes((255, 0, 0))), chunk(0x0012, bytes((255, 0, 0)))),
        chunk(0xA050, chunk(0x0030, u16(25))),
        chunk(0xA081),
        chunk(0xA200, chunk(0x0031, f32(0.5)), chunk(0xA300, strz("BRICK.TGA")), chunk(0xA351, u16(0x10))),
    )


def percentage(chunk_id: int, value: int) -> bytes:
    return chunk(chunk_id, chunk(0x0030, struct.pack("<h", value)))


def float_color(chunk_id: int, *rgb: float) -> bytes:
    return chunk(chunk_id, chunk(0x0010, f32(*rgb)))


def texture(name: str, amount: int = 100, flags: int = 0, *sub_chunks: bytes, slot: int = 0xA200) -> bytes:
    return chunk(slot, chunk(0x0030, u16(amount)), chunk(0xA300, strz(name)), chunk(0xA351, u16(flags)), *sub_chunks)


def looks(place: int, *parts: bytes, low: float = 0.0, high: float = 1.0) -> bytes:
    """A material with these chunks, and a square in the x-z plane that has it, the others to the right of the first."""
    name = strz(f"{place}")
    x = 2.5 * place
    return chunk(0xAFFF, chunk(0xA000, name), *parts) + chunk(
        0x4000,
        name,
        chunk(
            0x4100,
            chunk(0x4110, u16(4), f32(x - 1, 0, -1, x + 1, 0, -1, x + 1, 0, 1, x - 1, 0, 1)),
            chunk(0x4140, u16(4), f32(low, low, high, low, high, high, low, high)),
            chunk(0x4120, u16(2), u16(0, 1, 2, 7, 0, 2, 3, 7), chunk(0x4130, name, u16(2, 0, 1))),
        ),
    )


def looks_images() -> bytes:
    """Images over a green material: 40, 0 and 100 percent of one; not tiled, a decal, mirrored, and mirrored but not
    tiled, each with its surroundings; an image with clear parts, without and with the flag to use its alpha; a decal
    that is tiled, with its surroundings; an image with an opacity map."""
    green = float_color(0xA020, 0.0, 0.5, 0.0)
    tiling = ((3, 0x10), (4, 0x11), (5, 0x02), (6, 0x12))
    return chunk(
        0x4D4D,
        chunk(0x0002, u32(3)),
        chunk(
            0x3D3D,
            *(looks(at, green, texture("RED.TGA", amount)) for at, amount in enumerate((40, 0, 100))),
            *(looks(at, green, texture("RED.TGA", 100, flags), low=-1.0, high=2.0) for at, flags in tiling),
            *(looks(at, green, texture("HALF.TGA", 100, flags)) for at, flags in ((7, 0), (8, 0x40))),
            looks(9, green, texture("RED.TGA", 100, 0x01), low=-1.0, high=2.0),
            looks(10, green, texture("RED.TGA"), texture("HALF.TGA", slot=0xA210)),
        ),
    )


def looks_shading() -> bytes:
    """Wire, flat, Gouraud, Phong and metal, each on two faces that share smoothing group 1 at an edge; the last
    material has a specular colour and no shininess."""
    parts = []
    for place, shading in enumerate((0, 1, 2, 3, 4, None)):
        name, x = strz(f"{place}"), 2.5 * place
        kind = b""
        if shading is not None:
            kind = percentage(0xA040, 50) + percentage(0xA041, 60) + chunk(0xA100, u16(shading))
        parts.append(
            chunk(0xAFFF, chunk(0xA000, name), float_color(0xA020, 0.8, 0.5, 0.1), float_color(0xA030, 1, 1, 1), kind)
        )
        parts.append(
            chunk(
                0x4000,
                name,
                chunk(
                    0x4100,
                    chunk(0x4110, u16(4), f32(x, 0, 0, x, 0, 1, x - 1, 1, 0, x + 1, 1, 0)),
                    chunk(
                        0x4120,
                        u16(2),
                        u16(0, 1, 2, 7, 0, 3, 1, 7),
                        chunk(0x4130, name, u16(2, 0, 1)),
                        chunk(0x4150, u32(1, 1)),
                    ),
                ),
            )
        )
    return chunk(0x4D4D, chunk(0x0002, u32(3)), chunk(0x3D3D, *parts))


def looks_values() -> bytes:
    """Values that have no place in glTF, and values out of range: a diffuse colour above 1, a negative transparency, a
    hotspot above the falloff, a cone above 180 degrees, a lens of 0, an image with a blur and a summed-area filter."""

    def spot(name: str, hotspot: float, falloff: float) -> bytes:
        cone = chunk(0x4610, f32(0, 0, 0, hotspot, falloff))
        return chunk(0x4000, strz(name), chunk(0x4600, f32(0, -5, 5), chunk(0x0010, f32(1, 1, 1)), cone))

    return chunk(
        0x4D4D,
        chunk(0x0002, u32(3)),
        chunk(
            0x3D3D,
            looks(
                0,
                float_color(0xA020, 1.5, 0.5, 0.0),
                float_color(0xA030, 0.9, 0.1, 0.1),
                percentage(0xA040, 50),
                percentage(0xA041, 50),
                percentage(0xA050, -20),
                texture("RED.TGA", 100, 0x20, chunk(0xA353, f32(0.25))),
            ),
            spot("hot", 60, 40),
            spot("wide", 170, 200),
            chunk(0x4000, strz("eye"), chunk(0x4700, f32(0, -9, 0, 0, 0, 0, 0, 0))),
        ),
    )


def looks_segment() -> bytes:
    """An active segment, frames 5 to 20 of 0 to 30, and an ambient light that changes its colour."""
    return chunk(
        0x4D4D,
        chunk(0x0002, u32(3)),
        chunk(0x3D3D, chunk(0x4000, strz("Tri"), triangle())),
        chunk(
            0xB000,
            chunk(0xB00A, u16(5), strz(""), u32(30)),
            chunk(0xB008, u32(5, 20)),
            chunk(
                0xB001,
                chunk(0xB030, u16(0xFFFF)),
                chunk(0xB010, strz("$AMBIENT$"), u16(0, 0, 0xFFFF)),
                track(0xB025, key(0, 0, f32(0, 0, 0)), key(30, 0, f32(1, 0.5, 0))),
            ),
            chunk(
                0xB002,
                chunk(0xB030, u16(0)),
                chunk(0xB010, strz("Tri"), u16(0x4000, 0, 0xFFFF)),
                track(0xB020, key(0, 0, f32(0, 0, 0)), key(30, 0, f32(30, 0, 0))),
            ),
        ),
    )


def targa(*rows: bytes) -> bytes:
    """A 32-bit TGA file, the top row first; pixels are blue, green, red, alpha."""
    head = bytes((0, 0, 2)) + bytes(9) + u16(len(rows[0]) // 4, len(rows)) + bytes((32, 0x28))
    return head + b"".join(rows)


IMAGES = {
    "RED.TGA": targa(*[bytes((0, 0, 255, 255)) * 8] * 8),
    "HALF.TGA": targa(*[bytes((0, 0, 255, 255)) * 4 + bytes((0, 0, 255, 0)) * 4] * 8),
}
"""the images that the samples name, in the folder ``images``"""


def library() -> bytes:
    """A material library."""
    return chunk(0x3DAA, material("red"), chunk(0xAFFF, chunk(0xA000, strz("plain"))))


def project() -> bytes:
    """A project: settings without a public layout around an editor section and a keyframer."""
    return chunk(
        0xC23D,
        chunk(0x0002, u32(4)),
        chunk(0xC020, strz("C:\\3DS\\MESHES")),
        chunk(0xC420, f32(1, 1, 1)),
        chunk(0xC700, u32(0)),
        chunk(0xC715, u32(30)),
        chunk(0x3D3D, chunk(0x0100, f32(1)), material("red"), chunk(0x4000, strz("Tri"), triangle())),
        chunk(
            0xB000,
            chunk(0xB00A, u16(5), strz(""), u32(30)),
            chunk(0xB002, chunk(0xB030, u16(0)), chunk(0xB010, strz("Tri"), u16(0x4000, 0, 0xFFFF))),
        ),
        chunk(0xD000, bytes(range(16))),
    )


def vertex(
    x: float, y: float, flags: int, into: tuple[float, float] = (0, 0), out: tuple[float, float] = (0, 0)
) -> bytes:
    """A vertex of a curve, and the tangent vectors before and behind it; Z is 0."""
    return f32(x, y, 0, *into, 0, *out, 0) + u16(flags)


def shapes() -> bytes:
    """Shapes: a closed triangle, and an open arc with tangents."""
    return chunk(
        0x2D2D,
        chunk(0x0100, f32(1)),
        chunk(0x7001, bytes(14)),
        chunk(0x5020, f32(1, 0.5)),
        chunk(0x5010),
        chunk(0x5000, u16(3), vertex(0, 0, 0x300), vertex(2, 0, 0x100), vertex(1, 2, 0x103)),
        chunk(0x5000, u16(2), vertex(3, 0, 0x200, out=(0, 1)), vertex(5, 0, 0x01, into=(0, 1))),
    )


def loft() -> bytes:
    """A loft: a straight path with a square at its beginning and two triangles at its end, scaled along the way."""
    square = [vertex(x, y, 0x03 if last else 0) for x, y, last in ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 1))]
    triangles = [vertex(x + y, y, flags) for x in (0, 3) for y, flags in ((0, 0), (1, 0), (2, 3))]

    def curve(chunk_id: int, *rows: bytes) -> bytes:
        return chunk(chunk_id, u16(len(rows)), *rows, chunk(0x6090, u16(10)))

    neutral = (f32(100, 0, 0, 0, 0, 0), f32(100, 400, 0, 0, 0, 0))
    return chunk(
        0x2D3D,
        chunk(0x0100, f32(39.37)),
        chunk(0x6090, u16(5)),
        chunk(
            0x6000,
            u16(5),
            u16(2),
            vertex(0, 0, 0),
            vertex(0, 100, 1),
            chunk(0x6005, f32(1, 0, 0, 0, 1, 0, 0, 0, 1)),
        ),
        chunk(0x6010, u16(0), u16(4), *square),
        chunk(0x6010, u16(6), u16(6), *triangles),
        chunk(0x6020, u16(1), curve(0x6070, *neutral), curve(0x6080, *neutral), chunk(0x60A0, f32(400))),
        chunk(0x6030, curve(0x6070, f32(180, 0, 0, 0, 0, 0), f32(200, 360, 0, -9, 0, 0)), chunk(0x60A0, f32(180))),
        chunk(0x6050, u16(1), curve(0x6070), curve(0x6080)),
        chunk(0x6120),
    )


def bare_editor() -> bytes:
    """Editor data without a main chunk, which 3ds Max accepts."""
    return chunk(
        0x3D3D,
        chunk(0x3D3E, u32(3)),
        chunk(0x0100, f32(39.37)),
        chunk(0x4000, strz("Tri"), chunk(0x4010), triangle(chunk(0x4160, f32(1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4)))),
        chunk(0x4000, strz("Cam"), chunk(0x4700, f32(0, -9, 0, 0, 0, 0, 0, 50), chunk(0x4720, f32(1, 99)))),
    )


def oddities() -> bytes:
    """Unknown, misplaced, repeated, too long and too short chunks, slack, wrong counts, bytes after the end."""
    return (
        chunk(
            0x4D4D,
            chunk(0x0002, u32(3), b"slack"),
            chunk(
                0x3D3D,
                chunk(0x0001, u32(7)),  # unknown; old converters write it
                chunk(0xFFFF, b"?"),
                chunk(0x0000),
                chunk(0xB020, u32(1)),  # known, but not here
                chunk(0x3D3D, chunk(0x3D3D)),
                chunk(
                    0x4000,
                    strz("Odd"),
                    chunk(
                        0x4100,
                        chunk(0x4120, u16(1), u16(0, 1, 2, 0), b"\x01\x02\x03"),  # before the vertices; stray bytes
                        chunk(0x4110, u16(9), f32(0, 0, 0)),  # nine promised, one there
                        chunk(0x4110, u16(0)),
                        chunk(0x4110, u16(1), f32(1, 2, 3), f32(4)),
                        chunk(0x4140, u16(65535)),
                        chunk(0x4150, b"\xff\xff\xff\xff\xff"),
                        chunk(0x4160, f32(1, 0, 0)),
                    ),
                    chunk(0x4000, strz("no NUL behind")[:-1]),
                ),
                chunk(0x4000, b"never ended"),
                chunk(0xAFFF, chunk(0xA000, strz("one")), chunk(0xA000, strz("two")), chunk(0xA200, length=3)),
                chunk(0x4000, strz("cut"), chunk(0x4100, chunk(0x7777, b"far too long", length=0x7FFFFFFF))),
            ),
            chunk(
                0xB000,
                chunk(
                    0xB002,
                    track(0xB020, key(0, 0, f32(0, 0, 0)), count=0xFFFFFFFF),
                    track(0xB022, key(0, 1, f32(1, 1, 1)), key(5, 0, f32(1, 1, 1))[:9]),
                    track(0xB026, key(0, 0, b"Odd")),
                    track(0xB029, key(0, 0), b"\x05\x00\x00"),
                ),
            ),
        )
        + b"bytes behind the end"
    )


def tracks() -> bytes:
    """All ten kinds of tracks: equal flags, mixed flags, undefined flag bits, no keys."""
    number = (f32(10), f32(20.5), f32(-30))
    place = (f32(1, 2, 3), f32(-4, 5e-7, 6e30), f32(0, 0, 0))

    def three(values: tuple[bytes, bytes, bytes], flags: tuple[int, int, int]) -> list[bytes]:
        return [key(10 * n, bits, value) for n, (bits, value) in enumerate(zip(flags, values, strict=True))]

    return chunk(
        0x4D4D,
        chunk(0x0002, u32(3)),
        chunk(
            0xB000,
            chunk(0xB00A, u16(5), strz("TRACKS"), u32(100)),
            chunk(0xB008, u32(0, 100)),
            chunk(0xB009, u32(50)),
            chunk(
                0xB002,
                chunk(0xB030, u16(7)),
                chunk(0xB010, strz("$$$DUMMY"), u16(0x4000, 1, 0xFFFF), chunk(0x80F0, strz("top"))),
                chunk(0xB011, strz("dummy")),
                chunk(0xB013, f32(0.5, 0.5, 0.5)),
                chunk(0xB014, f32(-1, -1, -1, 1, 1, 1)),
                chunk(0xB015, f32(30)),
                track(0xB020, *three(place, (0x00, 0x1F, 0x04)), flags=3),
                track(0xB021, *(key(n, 0, f32(0.5, 0, 0, 1)) for n in range(3)), flags=0x40),
                track(0xB022, *three(place, (0x09, 0x12, 0x00))),
                track(0xB026, key(0, 0x11, strz("Box01")), key(10, 0, strz("")), key(20, 0xFFE2, strz("x"))),
                track(0xB029, key(0, 0), key(-3, 0x18), key(2**31 - 1, 0)),
            ),
            chunk(
                0xB003,
                track(0xB023, *three(number, (0x01, 0x01, 0x01))),
                track(0xB024, *three(number, (0xFFE0, 0x8001, 0x0020))),
            ),
            chunk(0xB004, track(0xB020)),
            chunk(
                0xB007,
                track(0xB025, *three(place, (0x02, 0x08, 0x10))),
                track(0xB027, *three(number, (0x00, 0x00, 0x00)), flags=2),
                track(0xB028, *three(number, (0x05, 0x0A, 0x15))),
            ),
        ),
    )


def signalling_nans() -> bytes:
    """Signalling NaNs, which a conversion to double precision would change, in every float field."""
    nan, minus = SIGNALLING, SIGNALLING_NEGATIVE
    quiet = bytes.fromhex("0100c07f")
    return chunk(
        0x4D4D,
        chunk(0x0002, u32(3)),
        chunk(
            0x3D3D,
            chunk(0x0100, nan),
            chunk(0x1500, quiet, f32(float("inf")), f32(-0.0)),
            chunk(
                0x4000,
                strz("nan"),
                chunk(
                    0x4100, chunk(0x4110, u16(2), nan, minus, quiet, f32(1), nan, nan), chunk(0x4140, u16(1), nan, nan)
                ),
            ),
            chunk(0x4000, strz("light"), chunk(0x4600, nan, f32(0, 0), chunk(0x465B, f32(1)))),
        ),
        chunk(
            0xB000,
            chunk(
                0xB002,
                track(0xB020, key(0, 0, nan, minus, quiet), key(1, 0, nan, nan, nan)),
                chunk(
                    0xB021, bytes(10), u32(2), u32(0), u16(1), nan, f32(1, 0, 0, 1), u32(1), u16(6), minus, nan, nan * 4
                ),
                chunk(0xB026, bytes(10), u32(1), u32(0), u16(0x1F), nan, minus, quiet, nan, nan, strz("m")),
            ),
        ),
    )


def cut() -> bytes:
    """A truncated file: every chunk around the cut is longer than the remaining bytes."""
    return bare_in_main()[:-31]


def bare_in_main() -> bytes:
    return chunk(0x4D4D, chunk(0x0002, u32(3)), bare_editor())


SAMPLES = {
    "bare_editor.3ds": bare_editor,
    "cut.3ds": cut,
    "library.mli": library,
    "loft.lft": loft,
    "looks_images.3ds": looks_images,
    "looks_segment.3ds": looks_segment,
    "looks_shading.3ds": looks_shading,
    "looks_values.3ds": looks_values,
    "oddities.3ds": oddities,
    "project.prj": project,
    "shapes.shp": shapes,
    "signalling_nans.3ds": signalling_nans,
    "tracks.3ds": tracks,
}


def main() -> None:
    for name, make in SAMPLES.items():
        (FOLDER / name).write_bytes(make())
    for name, data in IMAGES.items():
        (FOLDER / "images" / name).write_bytes(data)


if __name__ == "__main__":
    main()
