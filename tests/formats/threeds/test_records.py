"""Every typed chunk: annotated bytes, and the values that the specification gives for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from keyframer.formats.threeds import document as threeds
from keyframer.formats.threeds import records
from keyframer.formats.threeds.chunk import CHUNKS, Chunk, RawChunk
from tests.building.threeds import chunk, decoded, in_container, innermost, paths
from tests.samples import unhex

ONE, TWO, THREE = "00 00 80 3f", "00 00 00 40", "00 00 40 40"
CURVE_START = ((1, 2, 0), (-1, 0, 0), (0.5, 1, 0), 0x300)
HALF, MINUS, ZERO = "00 00 00 3f", "00 00 80 bf", "00 00 00 00"


@dataclass(frozen=True)
class Case:
    """A chunk in its container: the bytes after the header, and their values."""

    id: int
    name: str
    home: int | None
    payload: str
    values: dict[str, Any]


CASES = [
    # ---- global
    Case(0x0002, "Version", 0x4D4D, "03 00 00 00", {"version": 3}),
    Case(0x0002, "Version", 0xC23D, "04 00 00 00", {"version": 4}),
    Case(0x0005, "KeyframerVersion", 0x4D4D, "05 00 00 00", {"version": 5}),
    Case(0x0010, "ColorFloat", 0x2100, f"{ONE} {HALF} {ZERO}  # red, green, blue", {"rgb": (1.0, 0.5, 0.0)}),
    Case(0x0011, "ColorByte", 0xA010, "ff 80 00  # red, green, blue", {"rgb": (255, 128, 0)}),
    Case(0x0012, "ColorByteGamma", 0xA020, "01 02 03", {"rgb": (1, 2, 3)}),
    Case(0x0013, "ColorFloatGamma", 0x1200, f"{ZERO} {HALF} {ONE}", {"rgb": (0.0, 0.5, 1.0)}),
    Case(0x0030, "PercentInt", 0xA040, "32 00  # 50 percent", {"percent": 50}),
    Case(0x0031, "PercentFloat", 0xA200, "00 00 80 3e  # 0.25", {"fraction": 0.25}),
    # ---- 3D3D, the editor
    Case(0x3D3E, "MeshVersion", 0x3D3D, "03 00 00 00", {"version": 3}),
    Case(0x0100, "MasterScale", 0x3D3D, TWO, {"scale": 2.0}),
    Case(0x1100, "BackgroundBitmap", 0x3D3D, "53 4b 59 2e 54 47 41 00  # SKY.TGA", {"name": b"SKY.TGA"}),
    Case(0x1300, "BackgroundGradient", 0x3D3D, HALF, {"midpoint": 0.5}),
    Case(0x1400, "ShadowBiasLow", 0x3D3D, ONE, {"bias": 1.0}),
    Case(0x1410, "ShadowBiasHigh", 0x3D3D, TWO, {"bias": 2.0}),
    Case(0x1420, "ShadowMapSize", 0x3D3D, "00 02  # 512", {"size": 512}),
    Case(0x1430, "ShadowSamples", 0x3D3D, "05 00", {"samples": 5}),
    Case(0x1440, "ShadowRange", 0x3D3D, "04 00", {"range": 4}),
    Case(0x1450, "ShadowFilter", 0x3D3D, THREE, {"filter": 3.0}),
    Case(0x1460, "RayBias", 0x3D3D, ONE, {"bias": 1.0}),
    Case(0x1500, "ConstructionPlanes", 0x3D3D, f"{ONE} {TWO} {THREE}", {"planes": (1.0, 2.0, 3.0)}),
    Case(
        0x2200,
        "Fog",
        0x3D3D,
        f"{ZERO} {HALF} {TWO} {ONE}  # near distance, density; far distance, density",
        {"near": 0.0, "near_density": 0.5, "far": 2.0, "far_density": 1.0},
    ),
    Case(
        0x2300,
        "DistanceCue",
        0x3D3D,
        f"{ZERO} {HALF} {TWO} {ONE}",
        {"near": 0.0, "near_dimming": 0.5, "far": 2.0, "far_dimming": 1.0},
    ),
    Case(
        0x2302,
        "LayerFog",
        0x3D3D,
        f"{ZERO} {TWO} {HALF} 03 00 10 00  # z min, z max, density, flags",
        {"z_min": 0.0, "z_max": 2.0, "density": 0.5, "flags": 0x100003},
    ),
    *(
        Case(number, name, 0x3000, f"{ONE} {TWO} {THREE} {HALF}", {"target": (1.0, 2.0, 3.0), "width": 0.5})
        for number, name in (
            (0x3010, "ViewTop"),
            (0x3020, "ViewBottom"),
            (0x3030, "ViewLeft"),
            (0x3040, "ViewRight"),
            (0x3050, "ViewFront"),
            (0x3060, "ViewBack"),
        )
    ),
    Case(
        0x3070,
        "ViewUser",
        0x3000,
        f"{ONE} {TWO} {THREE} {HALF} {ONE} {TWO} {MINUS}  # target, width, xy angle, yz angle, bank",
        {"target": (1.0, 2.0, 3.0), "width": 0.5, "xy_angle": 1.0, "yz_angle": 2.0, "bank": -1.0},
    ),
    Case(0x3080, "ViewCamera", 0x3000, "43 61 6d 00", {"name": b"Cam"}),
    *(
        Case(
            number,
            name,
            0x3D3D,
            "01 00  02 00  03 00  04 00  05 00  06 00  ff ff",
            {
                "form": 1,
                "active": 2,
                "ready": 3,
                "window_state": 4,
                "swap_state": 5,
                "swap_port": 6,
                "swap_current": -1,
            },
        )
        for number, name in ((0x7000, "OldViewportLayout"), (0x7001, "ViewportLayout"))
    ),
    *(
        Case(
            number,
            name,
            0x7001,
            f"""
            01 00  02 00            # flags, axis lock
            03 00 04 00 05 00 06 00 # x, y, width, height
            ff ff                   # view: a camera
            {ONE}                   # zoom
            {ONE} {TWO} {THREE}     # centre
            {HALF} {MINUS}          # horizontal and vertical angle
            43 61 6d 00 00 00 00 00 00 00 00   # camera, 11 bytes
            """,
            {
                "flags": 1,
                "axis_lock": 2,
                "x": 3,
                "y": 4,
                "width": 5,
                "height": 6,
                "view": 65535,
                "zoom": 1.0,
                "center": (1.0, 2.0, 3.0),
                "horizontal_angle": 0.5,
                "vertical_angle": -1.0,
                "camera": b"Cam" + bytes(8),
            },
        )
        for number, name in ((0x7011, "ViewportData"), (0x7012, "ViewportData3"))
    ),
    Case(0x7020, "ViewportSize", 0x7001, "01 00 02 00 03 00 04 00", {"x": 1, "y": 2, "width": 3, "height": 4}),
    # ---- 4000, objects
    Case(0x4000, "NamedObject", 0x3D3D, "42 6f 78 00", {"name": b"Box"}),
    Case(
        0x4110,
        "PointArray",
        0x4100,
        f"02 00  {ZERO} {ONE} {TWO}  {MINUS} {HALF} {THREE}  # two vertices",
        {"points": [[0.0, 1.0, 2.0], [-1.0, 0.5, 3.0]]},
    ),
    Case(0x4111, "PointFlags", 0x4100, "02 00  00 e0  01 00", {"flags": [0xE000, 1]}),
    Case(
        0x4120,
        "FaceArray",
        0x4100,
        "01 00  00 00 01 00 02 00  07 00  # one face: corners 0, 1, 2, all edges visible",
        {"faces": [[0, 1, 2, 7]]},
    ),
    *(
        Case(
            0x4130,
            "MaterialGroup",
            home,
            "72 65 64 00  02 00  00 00 05 00  # red, two faces: 0 and 5",
            {"material": b"red", "faces": [0, 5]},
        )
        for home in (0x4120, 0x4100)
    ),
    Case(0x4140, "TextureVertices", 0x4100, f"01 00  {HALF} {ONE}", {"uv": [[0.5, 1.0]]}),
    *(
        Case(0x4150, "SmoothGroups", home, "01 00 00 00  00 00 00 80  # groups 1; 32", {"groups": [1, 1 << 31]})
        for home in (0x4120, 0x4100)
    ),
    Case(
        0x4160,
        "MeshMatrix",
        0x4100,
        f"{ONE} {ZERO} {ZERO}  {ZERO} {ZERO} {ONE}  {ZERO} {MINUS} {ZERO}  {ONE} {TWO} {THREE}  # X1 X2 X3 O",
        {"x_axis": (1.0, 0.0, 0.0), "y_axis": (0.0, 0.0, 1.0), "z_axis": (0.0, -1.0, 0.0), "origin": (1.0, 2.0, 3.0)},
    ),
    Case(0x4165, "MeshColor", 0x4100, "1b", {"color": 27}),
    Case(
        0x4170,
        "MeshTextureInfo",
        0x4100,
        f"""
        02 00                        # spherical
        {ONE} {TWO}                  # tiling
        {ONE} {TWO} {THREE}  {HALF}  # icon position, scale
        {ONE} {ZERO} {ZERO}  {ZERO} {ONE} {ZERO}  {ZERO} {ZERO} {ONE}  {ZERO} {ZERO} {MINUS}
        {ONE} {TWO} {THREE}          # planar width, height, cylinder height
        """,
        {
            "type": 2,
            "tiling": (1.0, 2.0),
            "position": (1.0, 2.0, 3.0),
            "scale": 0.5,
            "matrix": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0),
            "planar_width": 1.0,
            "planar_height": 2.0,
            "cylinder_height": 3.0,
        },
    ),
    Case(0x4181, "ProcessName", 0x4100, "57 41 56 45 2e 50 58 50 00  # WAVE.PXP", {"name": b"WAVE.PXP"}),
    Case(0x4182, "ProcessData", 0x4100, "01 02 03 04 05", {"data": bytes([1, 2, 3, 4, 5])}),
    *(
        Case(
            0x4190,
            "BoxMap",
            home,
            "61 00 62 00 63 00 64 00 65 00 00  # front, back, left, right, top, bottom",
            {"front": b"a", "back": b"b", "left": b"c", "right": b"d", "top": b"e", "bottom": b""},
        )
        for home in (0x4120, 0x4000)
    ),
    Case(
        0x4400,
        "OldLight",
        0x4000,
        f"{ONE} {TWO} {THREE} {ZERO} {ZERO} {HALF} 09 00",
        {"values": (1.0, 2.0, 3.0, 0.0, 0.0, 0.5), "flags": 9},
    ),
    Case(
        0x4500,
        "OldCamera",
        0x4000,
        f"{ONE} {TWO} {THREE} {ZERO} {ZERO} {HALF}",
        {"values": (1.0, 2.0, 3.0, 0.0, 0.0, 0.5)},
    ),
    Case(0x4600, "Light", 0x4000, f"{ONE} {TWO} {THREE}  # position", {"position": (1.0, 2.0, 3.0)}),
    Case(
        0x4610,
        "Spotlight",
        0x4600,
        f"{ONE} {TWO} {THREE} {HALF} {TWO}  # target, hotspot, falloff",
        {"target": (1.0, 2.0, 3.0), "hotspot": 0.5, "falloff": 2.0},
    ),
    Case(0x4659, "LightInnerRange", 0x4600, ONE, {"range": 1.0}),
    Case(0x465A, "LightOuterRange", 0x4600, TWO, {"range": 2.0}),
    Case(0x465B, "LightMultiplier", 0x4600, MINUS, {"multiplier": -1.0}),
    Case(0x4654, "LightExclude", 0x4600, "42 6f 78 00", {"name": b"Box"}),
    Case(
        0x4640,
        "SpotOldShadow",
        0x4610,
        f"{ONE} {TWO}  01 00 02 00 ff ff",
        {"values": (1.0, 2.0), "sizes": (1, 2, -1)},
    ),
    Case(
        0x4641,
        "SpotShadow",
        0x4610,
        f"{ONE} {THREE} 00 02  # bias, filter, map size",
        {"bias": 1.0, "filter": 3.0, "map_size": 512},
    ),
    Case(0x4653, "SpotMap", 0x4610, "41 2e 54 47 41 00  # A.TGA", {"name": b"A.TGA"}),
    Case(0x4655, "SpotRange", 0x4610, ONE, {"range": 1.0}),
    Case(0x4656, "SpotRoll", 0x4610, "00 00 34 42  # 45 degrees", {"roll": 45.0}),
    Case(0x4657, "SpotAspect", 0x4610, TWO, {"aspect": 2.0}),
    Case(0x4658, "SpotRayBias", 0x4610, HALF, {"bias": 0.5}),
    Case(
        0x4700,
        "Camera",
        0x4000,
        f"{ONE} {TWO} {THREE}  {ZERO} {ZERO} {ZERO}  {HALF}  00 00 48 42  # position, target, bank, lens 50",
        {"position": (1.0, 2.0, 3.0), "target": (0.0, 0.0, 0.0), "bank": 0.5, "lens": 50.0},
    ),
    Case(0x4720, "CameraRanges", 0x4700, f"{ONE} {TWO}", {"near": 1.0, "far": 2.0}),
    Case(0x4F00, "Hierarchy", 0x4000, "05 00", {"index": 5}),
    Case(0x4F10, "HierarchyParent", 0x4F00, "04 00", {"index": 4}),
    # ---- AFFF, materials
    Case(0xA000, "MaterialName", 0xAFFF, "72 65 64 00", {"name": b"red"}),
    Case(0xA087, "MaterialWireSize", 0xAFFF, TWO, {"size": 2.0}),
    Case(0xA100, "MaterialShading", 0xAFFF, "03 00  # Phong", {"shading": 3}),
    Case(0xA252, "BumpPercent", 0xA230, "1e 00", {"percent": 30}),
    Case(0xA300, "MapName", 0xA200, "41 2e 54 47 41 00", {"name": b"A.TGA"}),
    Case(
        0xA310,
        "AutomaticCubic",
        0xA220,
        "01 02  11 00  64 00 00 00  05 00 00 00  # shade, antialias, flags, size, nth frame",
        {"shade": 1, "antialias": 2, "flags": 0x11, "size": 100, "nth_frame": 5},
    ),
    Case(0xA351, "MapParameters", 0xA200, "10 01  # no tile, ignore alpha", {"flags": 0x110}),
    Case(0xA353, "MapBlur", 0xA33A, HALF, {"value": 0.5}),
    Case(0xA354, "MapUScale", 0xA200, "00 00 20 41  # 10", {"value": 10.0}),
    Case(0xA356, "MapVScale", 0xA200, TWO, {"value": 2.0}),
    Case(0xA358, "MapUOffset", 0xA210, HALF, {"value": 0.5}),
    Case(0xA35A, "MapVOffset", 0xA204, MINUS, {"value": -1.0}),
    Case(0xA35C, "MapRotation", 0xA33E, "00 00 34 42  # 45 degrees", {"value": 45.0}),
    *(
        Case(number, name, 0xA200, "01 02 ff", {"rgb": (1, 2, 255)})
        for number, name in (
            (0xA360, "MapTint1"),
            (0xA362, "MapTint2"),
            (0xA364, "MapTintRed"),
            (0xA366, "MapTintGreen"),
            (0xA368, "MapTintBlue"),
        )
    ),
    # ---- B000, the keyframer
    Case(
        0xB00A,
        "KeyframerHeader",
        0xB000,
        "05 00  4d 41 58 53 43 45 4e 45 00  64 00 00 00  # revision, MAXSCENE, 100 frames",
        {"revision": 5, "name": b"MAXSCENE", "length": 100},
    ),
    Case(0xB008, "Frames", 0xB000, "0a 00 00 00  64 00 00 00", {"start": 10, "end": 100}),
    Case(0xB009, "CurrentTime", 0xB000, "a0 00 00 00", {"time": 160}),
    Case(
        0xB010,
        "NodeHeader",
        0xB002,
        "42 6f 78 00  00 40  05 00  ff ff  # Box, flags1, flags2, no father",
        {"name": b"Box", "flags1": 0x4000, "flags2": 5, "parent": -1},
    ),
    Case(0xB011, "InstanceName", 0xB002, "42 6f 78 00", {"name": b"Box"}),
    Case(0xB013, "Pivot", 0xB002, f"{ONE} {TWO} {THREE}", {"pivot": (1.0, 2.0, 3.0)}),
    Case(
        0xB014,
        "BoundBox",
        0xB002,
        f"{MINUS} {MINUS} {MINUS} {ONE} {TWO} {THREE}",
        {"minimum": (-1.0, -1.0, -1.0), "maximum": (1.0, 2.0, 3.0)},
    ),
    Case(0xB015, "MorphSmooth", 0xB002, "00 00 f0 41  # 30", {"angle": 30.0}),
    Case(0xB030, "NodeId", 0xB002, "07 00", {"id_": 7}),
    # ---- 2D2D, the shaper, and 2D3D, the lofter
    Case(0x0100, "MasterScale", 0x2D2D, TWO, {"scale": 2.0}),
    Case(0x5020, "ShapeHook", 0x2D2D, f"{ONE} {TWO}  # X, Y", {"point": (1.0, 2.0)}),
    Case(
        0x5000,
        "Polygon2D",
        0x2D2D,
        f"02 00  {ONE} {TWO} {ZERO}  {MINUS} {ZERO} {ZERO}  {HALF} {ONE} {ZERO}  00 03  # point; before, behind; first"
        f"\n {TWO} {THREE} {ZERO}  {ZERO} {ZERO} {ZERO}  {ZERO} {ZERO} {ZERO}  03 01  # last and closed",
        {"vertices": np.array([CURVE_START, ((2, 3, 0), (0, 0, 0), (0, 0, 0), 0x103)], records.VERTEX)},
    ),
    Case(
        0x6000,
        "LoftPath",
        0x2D3D,
        f"05 00  01 00  {ONE} {TWO} {ZERO}  {MINUS} {ZERO} {ZERO}  {HALF} {ONE} {ZERO}  00 03  # steps; one vertex",
        {"steps": 5, "vertices": np.array([CURVE_START], records.VERTEX)},
    ),
    Case(
        0x6005,
        "PathMatrix",
        0x6000,
        f"{ONE} {ZERO} {ZERO}  {ZERO} {MINUS} {ZERO}  {ZERO} {ZERO} {TWO}",
        {"x_axis": (1.0, 0.0, 0.0), "y_axis": (0.0, -1.0, 0.0), "z_axis": (0.0, 0.0, 2.0)},
    ),
    Case(
        0x6010,
        "LoftShape",
        0x2D3D,
        f"06 00  01 00  {ONE} {TWO} {ZERO}  {MINUS} {ZERO} {ZERO}  {HALF} {ONE} {ZERO}  00 03  # level; one vertex",
        {"level": 6, "vertices": np.array([CURVE_START], records.VERTEX)},
    ),
    *(Case(0x6090, "LoftSteps", home, "0a 00", {"steps": 10}) for home in (0x2D3D, 0x6070, 0x6080)),
    *(
        Case(number, name, 0x2D3D, "01 00", {"symmetry": 1})
        for number, name in ((0x6020, "ScaleDeformation"), (0x6040, "TeeterDeformation"), (0x6050, "FitDeformation"))
    ),
    *(
        Case(
            number,
            name,
            0x6020,
            f"01 00  {ONE} {TWO}  {MINUS} {ZERO}  {HALF} {ZERO}  # one vertex: value, place; before; behind",
            {"vertices": np.array([[1, 2, -1, 0, 0.5, 0]], np.float32)},
        )
        for number, name in ((0x6070, "DeformationX"), (0x6080, "DeformationY"))
    ),
    *(Case(0x60A0, "DeformationLimit", home, THREE, {"limit": 3.0}) for home in (0x6020, 0x6030, 0x6040, 0x6060)),
    *(Case(0x80F0, "ParentName", home, "74 6f 70 00", {"name": b"top"}) for home in (0xB010, 0xB002)),
]

# Chunks without fields: flags, and containers whose content is their sub-chunks.
EMPTY: dict[int, str] = {
    0x3D3D: """
        1101 UseBackgroundBitmap 1200 BackgroundColor 1201 UseBackgroundColor 1301 UseBackgroundGradient
        1470 UseRaytrace 2100 AmbientColor 2201 UseFog 2210 FogBackground 2301 UseDistanceCue 2303 UseLayerFog
        3000 DefaultView afff Material
    """,
    0x2200: "2210 FogBackground",
    0x2300: "2310 DimBackground",
    0x4000: """
        4010 ObjectHidden 4011 ObjectInLofter 4012 ObjectDoesNotCast 4013 ObjectMatte 4014 ObjectFast
        4015 ObjectProcedural 4016 ObjectFrozen 4017 ObjectReceivesNoShadow 4100 Mesh
    """,
    0x4600: "4620 LightOff 4625 LightAttenuates",
    0x4610: "4627 SpotRaytrace 4630 SpotShadowed 4650 SpotSeeCone 4651 SpotRectangular 4652 SpotOvershoot",
    0x4700: "4710 CameraSeeCone",
    0xAFFF: """
        a010 MaterialAmbient a020 MaterialDiffuse a030 MaterialSpecular a040 MaterialShininess
        a041 MaterialShininessStrength a042 MaterialShininess3 a050 MaterialTransparency
        a052 MaterialTransparencyFalloff a053 MaterialReflectionBlur a080 MaterialSelfIlluminated
        a081 MaterialTwoSided a082 MaterialDecal a083 MaterialAdditive a084 MaterialSelfIllumination
        a085 MaterialWire a086 MaterialSupersample a088 MaterialFaceMap a08a MaterialFalloffIn
        a08c MaterialSoften a08e MaterialWireInUnits a240 MaterialUseFalloff a250 MaterialUseReflectionBlur
        a200 TextureMap1 a33a TextureMap2 a210 OpacityMap a230 BumpMap a33c ShininessMap a204 SpecularMap
        a33d SelfIlluminationMap a220 ReflectionMap a33e TextureMask1 a340 TextureMask2 a342 OpacityMask
        a344 BumpMask a346 ShininessMask a348 SpecularMask a34a SelfIlluminationMask a34c ReflectionMask
    """,
    0x4D4D: "3d3d Editor b000 Keyframer",
    0xC23D: "2d2d Shaper 2d3d Lofter",
    0x2D2D: "5010 ShapeIsValid 5011 ShapeIsInvalid",
    0x2D3D: """
        6030 TwistDeformation 6060 BevelDeformation 6100 UseContour 6110 UseTween 6120 UseScale 6130 UseTwist
        6140 UseTeeter 6150 UseFit 6160 UseBevel
    """,
    0xB000: """
        b001 AmbientNode b002 ObjectNode b003 CameraNode b004 CameraTargetNode b005 OmniNode
        b006 SpotTargetNode b007 SpotNode
    """,
}
"""ids and names of chunks without fields, by the id of a parent"""
for home, text in EMPTY.items():
    words = text.split()
    CASES += [Case(int(number, 16), name, home, "", {}) for number, name in zip(words[::2], words[1::2], strict=True)]

# Tracks: flags, first and last time, number of keys; then the keys. What differs is the value of a key.
HEAD = "03 00  01 00 00 00  64 00 00 00"
FIRST = "05 00 00 00  00 00"  # frame 5, nothing announced
SECOND = f"0a 00 00 00  15 00  {ONE} {HALF} {TWO}"  # frame 10; tension 1, bias 0.5, ease from 2
VALUES: list[tuple[int, str, str, str, list[Any]]] = [
    (0xB020, "PositionTrack", f"{ONE} {TWO} {THREE}", f"{ZERO} {MINUS} {HALF}", [[1, 2, 3], [0, -1, 0.5]]),
    (
        0xB021,
        "RotationTrack",
        f"{HALF} {ZERO} {ZERO} {ONE}",
        f"{MINUS} {ONE} {ZERO} {ZERO}",
        [[0.5, 0, 0, 1], [-1, 1, 0, 0]],
    ),
    (0xB022, "ScaleTrack", f"{ONE} {ONE} {ONE}", f"{TWO} {THREE} {MINUS}", [[1, 1, 1], [2, 3, -1]]),
    (0xB023, "FovTrack", ONE, TWO, [[1], [2]]),
    (0xB024, "RollTrack", ONE, TWO, [[1], [2]]),
    (0xB025, "ColorTrack", f"{ONE} {HALF} {ZERO}", f"{ZERO} {ZERO} {ONE}", [[1, 0.5, 0], [0, 0, 1]]),
    (0xB027, "HotspotTrack", ONE, TWO, [[1], [2]]),
    (0xB028, "FalloffTrack", ONE, TWO, [[1], [2]]),
    (0xB029, "HideTrack", "", "", [[], []]),
]


def named(case: Case) -> str:
    return f"{case.id:04x} {case.name} in {case.home:04x}" if case.home is not None else f"{case.id:04x}"


def same(chunk: object, wanted: object) -> bool:
    if isinstance(chunk, np.ndarray):
        return bool(np.array_equal(chunk, np.array(wanted)))
    return chunk == wanted and type(chunk) is type(wanted)


def check(case: Case, *inside: bytes) -> Chunk:
    data = in_container(case.home, chunk(case.id, unhex(case.payload), *inside))
    document = decoded(data)
    assert not list(document.issues)
    (record,) = innermost(document, case.home)
    assert isinstance(record, Chunk)
    assert type(record).__name__ == case.name
    assert (record.id, record.ID) == (case.id, case.id)
    assert record.offset == len(data) - 6 - len(unhex(case.payload)) - sum(map(len, inside))
    assert [plan.name for plan in record.plan.fields] == list(case.values)
    for field, wanted in case.values.items():
        assert same(getattr(record, field), wanted), f"{field}: {getattr(record, field)!r}"
    return record


@pytest.mark.parametrize("case", CASES, ids=named)
def test_chunk(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_chunk_built_from_values(case: Case) -> None:
    """The same bytes are encoded from the values alone, without a file."""
    payload = unhex(case.payload)
    built = getattr(records, case.name)(**case.values)
    document = threeds.new_document(records.Main(children=[built]))
    assert threeds.encode(document) == chunk(0x4D4D, chunk(case.id, payload))


@pytest.mark.parametrize(("number", "name", "one", "two", "value"), VALUES, ids=[row[1] for row in VALUES])
def test_track(number: int, name: str, one: str, two: str, value: list[Any]) -> None:
    payload = unhex(f"""
        {HEAD}               # loop, times 1 to 100
        02 00 00 00          # two keys
        {FIRST} {one}
        {SECOND} {two}
    """)
    document = decoded(in_container(0xB002, chunk(number, payload)))
    assert not list(document.issues)
    (track,) = innermost(document, 0xB002)
    assert type(track).__name__ == name
    assert isinstance(track, records.Track)
    assert (track.flags, track.time_min, track.time_max) == (3, 1, 100)
    keys = track.keys  # type: ignore[attr-defined]
    assert keys.time.tolist() == [5, 10]
    assert keys.flags.tolist() == [0, 0x15]
    assert keys.value.tolist() == value
    assert keys.tension.tolist() == [0, 1]
    assert keys.continuity.tolist() == [0, 0]
    assert keys.bias.tolist() == [0, 0.5]
    assert keys.ease_to.tolist() == [0, 0]
    assert keys.ease_from.tolist() == [0, 2]


def test_morph_track() -> None:
    payload = unhex(f"""
        {HEAD}  02 00 00 00
        {FIRST}  42 6f 78 00       # Box
        {SECOND} 00                # an empty name
    """)
    (track,) = innermost(decoded(in_container(0xB002, chunk(0xB026, payload))), 0xB002)
    assert isinstance(track, records.MorphTrack)
    assert track.keys.text == (b"Box", b"")
    assert track.keys.time.tolist() == [5, 10]
    assert track.keys.bias.tolist() == [0, 0.5]


def test_every_typed_chunk_has_a_case() -> None:
    tops = {0x4D4D, 0xC23D, 0x3DAA}
    tested = {case.id for case in CASES} | {row[0] for row in VALUES} | {0xB026} | tops
    typed = {number for number, cls in CHUNKS.items() if not cls.opaque}
    assert {f"{number:04x}" for number in typed - tested} == set()
    assert len({case.name for case in CASES}) + len(VALUES) + 1 + len(tops) == len(typed)


@pytest.mark.parametrize("case", [case for case in CASES if case.payload], ids=named)
def test_a_truncated_chunk_stays_raw_with_the_reason(case: Case) -> None:
    """Removing any byte gives a raw chunk or a shorter list, and always the same bytes."""
    payload = unhex(case.payload)
    for size in range(len(payload)):
        document = decoded(in_container(case.home, chunk(case.id, payload[:size])))
        (record,) = innermost(document, case.home)
        if isinstance(record, RawChunk):
            assert record.data == payload[:size]
            assert record.reason == document.issues[0].code
            assert document.issues[0].severity.label == ("warning" if CHUNKS[case.id].optional else "error")
            assert document.issues[0].path.startswith(paths(document)[-1])
        else:
            assert case.name in {"SmoothGroups", "ProcessData"}


@pytest.mark.parametrize("case", CASES, ids=named)
def test_trailing_bytes_are_kept_and_reported(case: Case) -> None:
    document = decoded(in_container(case.home, chunk(case.id, unhex(case.payload), b"+++")))
    (record,) = innermost(document, case.home)
    assert isinstance(record, Chunk)
    if case.name == "ProcessData":
        return
    assert record.tail == b"+++"
    assert [(issue.code, issue.path) for issue in document.issues] == [("STRUCT_CHUNK_SLACK", paths(document)[-1])]


def test_gradient_of_the_specification() -> None:
    """The printed example: 1300, length 76h, position 0.79…, then six colours."""
    data = unhex("00 13 76 00 00 00 21 CE 4A 3F") + b"".join(
        chunk(number, unhex(f"{ONE} {HALF} {ZERO}")) for number in (0x10, 0x13) * 3
    )
    assert len(data) == 0x76
    (gradient,) = innermost(decoded(in_container(0x3D3D, data)), 0x3D3D)
    assert isinstance(gradient, records.BackgroundGradient)
    assert gradient.midpoint == pytest.approx(0.7922, abs=1e-4)
    kinds = [records.ColorFloat, records.ColorFloatGamma] * 3
    assert [type(colour) for colour in gradient.children] == kinds
