"""The known chunks of 3D Studio files, in the terms of the specification.

First colours, percentages and the top chunks, then the 3D editor, objects, materials, the keyframer, and chunks of
project files and plug-ins. A chunk without fields of its own is declared in one line.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Singles
from keyframer.formats.kit.chunk_tree import ANYWHERE, chunk
from keyframer.formats.kit.key_table import KeyLayout, Keys, keys
from keyframer.formats.threeds.chunk import CHUNKS, TREE, Chunk, Opaque, RawChunk, declare
from keyframer.wire.field_types import (
    array_to_end,
    blob,
    chars,
    counted_array,
    f32,
    i16,
    i32,
    strz,
    u8,
    u16,
    u32,
    vector,
)
from keyframer.wire.record import record

MAP_IDS = (
    0xA200, 0xA33A, 0xA210, 0xA230, 0xA33C, 0xA204, 0xA33D, 0xA220,
    0xA33E, 0xA340, 0xA342, 0xA344, 0xA346, 0xA348, 0xA34A, 0xA34C,
)  # fmt: skip
"""the sixteen map and mask slots of a material"""

PERCENT_PARENTS = (0xA040, 0xA041, 0xA042, 0xA050, 0xA052, 0xA053, 0xA084, *MAP_IDS)
COLOUR_PARENTS = (0x1200, 0x1300, 0x2100, 0x2200, 0x2302, 0x4600, 0xA010, 0xA020, 0xA030)

TOP_IDS = (0x4D4D, 0xC23D, 0x3DAA, 0x3D3D, 0x2D2D, 0x2D3D)
"""ids of the first chunk of a file"""

Main = declare(0x4D4D, "Main", Chunk, (), "Main chunk of a .3ds file (M3DMAGIC).")
Project = declare(0xC23D, "Project", Chunk, (), "Main chunk of a .prj project file (CMAGIC).")
MaterialLibrary = declare(0x3DAA, "MaterialLibrary", Chunk, (), "Main chunk of a .mli material library (MLIBMAGIC).")


# Fixture models of one maker store the version in two bytes: kept as raw bytes with a warning.
@chunk(0x0002, parents=(0x4D4D, 0xC23D, 0x3DAA), optional=True)
class Version(Chunk):
    """3DS-Version (M3D_VERSION)."""

    version: int = u32("release of 3D Studio, 1 to 4; 3ds Max writes 3", default=3)


@chunk(0x0005, parents=(0x4D4D, 0xC23D, 0xB000))
class KeyframerVersion(Chunk):
    """Version of the keyframer section (M3D_KFVERSION)."""

    version: int = u32("version")


Null = declare(0x0000, "Null", Opaque, ANYWHERE, "Null chunk (NULL_CHUNK).")
Dummy = declare(0xFFFF, "Dummy", Opaque, ANYWHERE, "Placeholder of Autodesk's toolkit.")


@chunk(0x0010, parents=COLOUR_PARENTS)
class ColorFloat(Chunk):
    """Rgb color (float format) (COLOR_F)."""

    rgb: tuple[float, ...] = f32("red, green, blue, 0.0 to 1.0 (full intensity)", 3)


@chunk(0x0011, parents=COLOUR_PARENTS)
class ColorByte(Chunk):
    """Rgb color (byte format) (COLOR_24)."""

    rgb: tuple[int, ...] = u8("red, green, blue, 0 to 255 (full intensity)", 3)


@chunk(0x0012, parents=COLOUR_PARENTS)
class ColorByteGamma(Chunk):
    """Rgb color gamma corrected (byte format) (LIN_COLOR_24); overrides 0011 if both are present."""

    rgb: tuple[int, ...] = u8("red, green, blue, 0 to 255 (full intensity)", 3)


@chunk(0x0013, parents=COLOUR_PARENTS)
class ColorFloatGamma(Chunk):
    """Rgb color gamma corrected (float format) (LIN_COLOR_F); overrides 0010 if both are present."""

    rgb: tuple[float, ...] = f32("red, green, blue, 0.0 to 1.0 (full intensity)", 3)


@chunk(0x0030, parents=PERCENT_PARENTS)
class PercentInt(Chunk):
    """Percent (int format) (INT_PERCENTAGE)."""

    percent: int = i16("0 to 100")


@chunk(0x0031, parents=PERCENT_PARENTS)
class PercentFloat(Chunk):
    """Percent (float format) (FLOAT_PERCENTAGE)."""

    # The specification says 0 to 100; real files (VWSCENE) have 0.25 and 0.05.
    fraction: float = f32("0.0 to 1.0")


# The 3D editor and its settings: background, shadows, fog, views

_EDITOR = (0x3D3D,)


@chunk(0x3D3D, parents=(0x4D4D, 0xC23D))
class Editor(Chunk):
    """3D editor chunk (MDATA); also accepted as the top of a file."""


@chunk(0x3D3E, parents=_EDITOR)
class MeshVersion(Chunk):
    """Mesh version (MESH_VERSION)."""

    version: int = u32("2 or 3 in real files", default=3)


@chunk(0x0100, parents=(*_EDITOR, 0x2D2D, 0x2D3D))
class MasterScale(Chunk):
    """One unit (MASTER_SCALE)."""

    scale: float = f32("inches per unit: 1, 0.03937 (mm), 0.3937 (cm), 39.37 (m); 0 means 1", default=1.0)


@chunk(0x1100, parents=_EDITOR)
class BackgroundBitmap(Chunk):
    """Background bitmap (BIT_MAP), present even if not used."""

    name: bytes = strz("name of the background bitmap")


UseBackgroundBitmap = declare(0x1101, "UseBackgroundBitmap", Chunk, _EDITOR, "Use background bitmap (1100).")
BackgroundColor = declare(0x1200, "BackgroundColor", Chunk, _EDITOR, "Background color (SOLID_BGND), even if not used.")
UseBackgroundColor = declare(0x1201, "UseBackgroundColor", Chunk, _EDITOR, "Use background color (1200).")


@chunk(0x1300, parents=_EDITOR)
class BackgroundGradient(Chunk):
    """Background gradient colors (V_GRADIENT): three times a colour and its gamma corrected copy."""

    # Sources disagree on the order: 3ds Max's importer reads bottom, middle, top; Autodesk's toolkit reads the reverse.
    midpoint: float = f32("position of the middle color, 0.0 to 1.0")


UseBackgroundGradient = declare(0x1301, "UseBackgroundGradient", Chunk, _EDITOR, "Use background gradient (1300).")


@chunk(0x1400, parents=_EDITOR)
class ShadowBiasLow(Chunk):
    """Shadow map bias (LO_SHADOW_BIAS)."""

    bias: float = f32("shadow map bias")


@chunk(0x1410, parents=_EDITOR)
class ShadowBiasHigh(Chunk):
    """Upper shadow map bias (HI_SHADOW_BIAS)."""

    bias: float = f32("shadow map bias")


@chunk(0x1420, parents=_EDITOR)
class ShadowMapSize(Chunk):
    """Shadow map size (SHADOW_MAP_SIZE)."""

    size: int = i16("shadow map size")


@chunk(0x1430, parents=_EDITOR)
class ShadowSamples(Chunk):
    """Shadow map samples (SHADOW_SAMPLES)."""

    samples: int = i16("samples")


@chunk(0x1440, parents=_EDITOR)
class ShadowRange(Chunk):
    """Shadow map range (SHADOW_RANGE)."""

    # Autodesk's toolkit has a long in its struct; files have two bytes.
    range: int = i16("range")


@chunk(0x1450, parents=_EDITOR)
class ShadowFilter(Chunk):
    """Shadow filter (SHADOW_FILTER); the specification calls it shadow map sample range."""

    filter: float = f32("1 to 10")


@chunk(0x1460, parents=_EDITOR)
class RayBias(Chunk):
    """Raytrace bias (RAY_BIAS)."""

    bias: float = f32("raytrace bias")


UseRaytrace = declare(0x1470, "UseRaytrace", Chunk, _EDITOR, "Ray traced shadows are on (RAY_SHADOWS).")


@chunk(0x1500, parents=_EDITOR)
class ConstructionPlanes(Chunk):
    """Construction planes (O_CONSTS)."""

    planes: tuple[float, ...] = vector("construction planes")


AmbientColor = declare(0x2100, "AmbientColor", Chunk, _EDITOR, "Ambient color (AMBIENT_LIGHT).")


@chunk(0x2200, parents=_EDITOR)
class Fog(Chunk):
    """Fog (FOG), with a colour sub-chunk."""

    near: float = f32("near distance")
    near_density: float = f32("near density")
    far: float = f32("far distance")
    far_density: float = f32("far density")


UseFog = declare(0x2201, "UseFog", Chunk, _EDITOR, "Use fog (2200).")
FogBackground = declare(0x2210, "FogBackground", Chunk, (0x2200, 0x3D3D), "Fog the background too (FOG_BGND).")


@chunk(0x2300, parents=_EDITOR)
class DistanceCue(Chunk):
    """Distance cue (DISTANCE_CUE)."""

    near: float = f32("near distance")
    near_dimming: float = f32("near dimming")
    far: float = f32("far distance")
    far_dimming: float = f32("far dimming")


UseDistanceCue = declare(0x2301, "UseDistanceCue", Chunk, _EDITOR, "Use distance cue (2300).")


@chunk(0x2302, parents=_EDITOR)
class LayerFog(Chunk):
    """Layered fog options (LAYER_FOG), with a colour sub-chunk."""

    z_min: float = f32("lower end")
    z_max: float = f32("upper end")
    density: float = f32("density")
    flags: int = u32("bit 0: bottom falloff, bit 1: top falloff, bit 20: fog background")


UseLayerFog = declare(0x2303, "UseLayerFog", Chunk, _EDITOR, "Use layered fog (2302).")
DimBackground = declare(0x2310, "DimBackground", Chunk, (0x2300, 0x3D3D), "Dim the background too (DCUE_BGND).")
DefaultView = declare(0x3000, "DefaultView", Chunk, (0x3D3D, 0xB000), "Default view (DEFAULT_VIEW).")


@record
class _OrthogonalView(Chunk):
    target: tuple[float, ...] = vector("target")
    width: float = f32("width of the view")


ViewTop = declare(0x3010, "ViewTop", _OrthogonalView, (0x3000,), "View from the top.")
ViewBottom = declare(0x3020, "ViewBottom", _OrthogonalView, (0x3000,), "View from the bottom.")
ViewLeft = declare(0x3030, "ViewLeft", _OrthogonalView, (0x3000,), "View from the left.")
ViewRight = declare(0x3040, "ViewRight", _OrthogonalView, (0x3000,), "View from the right.")
ViewFront = declare(0x3050, "ViewFront", _OrthogonalView, (0x3000,), "View from the front.")
ViewBack = declare(0x3060, "ViewBack", _OrthogonalView, (0x3000,), "View from the back.")


@chunk(0x3070, parents=(0x3000,))
class ViewUser(_OrthogonalView):
    """User view."""

    xy_angle: float = f32("angle in the XY plane")
    yz_angle: float = f32("angle in the YZ plane")
    bank: float = f32("bank")


@chunk(0x3080, parents=(0x3000,))
class ViewCamera(Chunk):
    """View through a camera."""

    name: bytes = strz("name of the camera")


ViewWindow = declare(0x3090, "ViewWindow", Opaque, (0x3000,), "View window (VIEW_WINDOW).")


@record
class _ViewportLayout(Chunk):
    form: int = i16("arrangement of the windows, 0 to 11")
    active: int = i16("active window")
    ready: int = i16("ready")
    window_state: int = i16("state (wstate)")
    swap_state: int = i16("swapws")
    swap_port: int = i16("swapport")
    swap_current: int = i16("swapcur")


ViewportLayout = declare(
    0x7001, "ViewportLayout", _ViewportLayout, (0x3D3D, 0xB000, 0x2D2D, 0x2D3D), "Window settings (VIEWPORT_LAYOUT)."
)
OldViewportLayout = declare(
    0x7000, "OldViewportLayout", _ViewportLayout, (0x3D3D, 0xB000), "Window settings of older releases."
)


_LAYOUTS = (0x7000, 0x7001)
_VIEWS = "0 none, 1 top, 2 bottom, 3 left, 4 right, 5 front, 6 back, 7 user, 18 spot light, 65535 camera"


@record
class _ViewportData(Chunk):
    flags: int = u16("flags")
    axis_lock: int = u16("axis lock")
    x: int = u16("left edge")
    y: int = u16("upper edge")
    width: int = u16("width")
    height: int = u16("height")
    view: int = u16(_VIEWS)
    zoom: float = f32("zoom")
    center: tuple[float, ...] = vector("center")
    horizontal_angle: float = f32("horizontal angle")
    vertical_angle: float = f32("vertical angle")
    camera: bytes = chars(11, "name of the camera")


ViewportData = declare(
    0x7011, "ViewportData", _ViewportData, _LAYOUTS, "Window description #2 (VIEWPORT_DATA).", repeats=True
)
ViewportData3 = declare(
    0x7012, "ViewportData3", _ViewportData, _LAYOUTS, "Window description #1 (VIEWPORT_DATA_3).", repeats=True
)


@chunk(0x7020, parents=_LAYOUTS)
class ViewportSize(Chunk):
    """Mesh windows (VIEWPORT_SIZE)."""

    x: int = u16("left edge")
    y: int = u16("upper edge")
    width: int = u16("width")
    height: int = u16("height")


OldViewportData = declare(
    0x7010, "OldViewportData", Opaque, (0x3D3D, 0xB000, *_LAYOUTS), "Window description of older releases."
)
NetworkView = declare(0x7030, "NetworkView", Opaque, (0x3D3D, 0xB000, *_LAYOUTS), "Network view (NETWORK_VIEW).")


# Objects: meshes, lights and cameras

Shorts = npt.NDArray[np.uint16]

_OBJECT = (0x4000,)
_MESH = (0x4100,)
_LIGHT = (0x4600,)
_SPOT = (0x4610,)


@chunk(0x4000, parents=(0x3D3D,), repeats=True)
class NamedObject(Chunk):
    """Object block (NAMED_OBJECT): a mesh, a light or a camera."""

    name: bytes = strz("object name; 3D Studio allows 10 characters, real files have up to 60")


ObjectHidden = declare(0x4010, "ObjectHidden", Chunk, _OBJECT, "Object hidden (OBJ_HIDDEN).")
ObjectInLofter = declare(0x4011, "ObjectInLofter", Chunk, _OBJECT, "Object visible in the lofter (OBJ_VIS_LOFTER).")
ObjectDoesNotCast = declare(0x4012, "ObjectDoesNotCast", Chunk, _OBJECT, "Casts no shadows (OBJ_DOESNT_CAST).")
ObjectMatte = declare(0x4013, "ObjectMatte", Chunk, _OBJECT, "Matte object (OBJ_MATTE).")
ObjectFast = declare(0x4014, "ObjectFast", Chunk, _OBJECT, "Object shown as a box (OBJ_FAST).")
ObjectProcedural = declare(0x4015, "ObjectProcedural", Chunk, _OBJECT, "External process on (OBJ_PROCEDURAL).")
ObjectFrozen = declare(0x4016, "ObjectFrozen", Chunk, _OBJECT, "Frozen object (OBJ_FROZEN).")
ObjectReceivesNoShadow = declare(
    0x4017, "ObjectReceivesNoShadow", Chunk, _OBJECT, "Receives no shadows (OBJ_DONT_RCVSHADOW)."
)


@chunk(0x4100, parents=_OBJECT)
class Mesh(Chunk):
    """Triangular mesh (N_TRI_OBJECT)."""


@chunk(0x4110, parents=_MESH, once=True)
class PointArray(Chunk):
    """Vertices list (POINT_ARRAY)."""

    points: Singles = counted_array(("<f4", (3,)), "H", "position of each vertex: X, Y, Z")


@chunk(0x4111, parents=_MESH, optional=True)
class PointFlags(Chunk):
    """Flags of the vertices (POINT_FLAG_ARRAY)."""

    flags: Shorts = counted_array("<u2", "H", "flags of each vertex; bits 13-15: selections A, B, C")


@chunk(0x4120, parents=_MESH, once=True)
class FaceArray(Chunk):
    """Faces description (FACE_ARRAY), with material groups and smoothing groups as sub-chunks."""

    # Bits 3-15 contain garbage in real files; only the edge bits are reliable.
    faces: Shorts = counted_array(
        ("<u2", (4,)),
        "H",
        "corners A, B, C (vertex numbers) and the face flag: bit 0: CA visible, 1: BC visible, 2: AB visible, "
        "3: U wraps, 4: V wraps, 13-15: selections A, B, C",
    )


# Ten files shipped with Celestia have 4130 and 4150 directly under 4100: both places are legal.
_FACE_ARRAY_OR_MESH = (0x4120, 0x4100)


@chunk(0x4130, parents=_FACE_ARRAY_OR_MESH, repeats=True)
class MaterialGroup(Chunk):
    """Faces material list (MSH_MAT_GROUP), one for each material of the mesh."""

    material: bytes = strz("material name")
    faces: Shorts = counted_array("<u2", "H", "number of each face that has this material")


@chunk(0x4140, parents=_MESH, once=True)
class TextureVertices(Chunk):
    """Mapping coordinates list for each vertex (TEX_VERTS)."""

    uv: Singles = counted_array(("<f4", (2,)), "H", "U and V coordinate of each vertex; V runs up")


@chunk(0x4150, parents=_FACE_ARRAY_OR_MESH)
class SmoothGroups(Chunk):
    """Smoothing groups list (SMOOTH_GROUP): one entry for each face, without a count."""

    groups: npt.NDArray[np.uint32] = array_to_end("<u4", "bit mask of the groups 1 to 32 of each face")


@chunk(0x4160, parents=_MESH, once=True)
class MeshMatrix(Chunk):
    """Local coordinate system (MESH_MATRIX)."""

    x_axis: tuple[float, ...] = vector("X axis (X1 in the specification)", default=(1.0, 0.0, 0.0))
    y_axis: tuple[float, ...] = vector("Y axis (X2 in the specification)", default=(0.0, 1.0, 0.0))
    z_axis: tuple[float, ...] = vector("Z axis (X3 in the specification)", default=(0.0, 0.0, 1.0))
    origin: tuple[float, ...] = vector("origin (O in the specification)")


@chunk(0x4165, parents=_MESH)
class MeshColor(Chunk):
    """Object color in 3D editor (MESH_COLOR)."""

    color: int = u8("index in the editor's palette")


@chunk(0x4170, parents=_MESH)
class MeshTextureInfo(Chunk):
    """Mapping icon (MESH_TEXTURE_INFO)."""

    type: int = u16("0: planar, 1: cylindrical, 2: spherical")
    tiling: tuple[float, ...] = f32("tiling in X and Y", 2)
    position: tuple[float, ...] = vector("icon position")
    scale: float = f32("icon scale")
    matrix: tuple[float, ...] = f32("icon axes and origin, as in 4160", 12)
    planar_width: float = f32("planar icon width")
    planar_height: float = f32("planar icon height")
    cylinder_height: float = f32("cylindrical icon height")


@chunk(0x4181, parents=_MESH)
class ProcessName(Chunk):
    """External process name (PROC_NAME)."""

    name: bytes = strz("name of the process, up to 12 characters")


@chunk(0x4182, parents=_MESH)
class ProcessData(Chunk):
    """External process parameters (PROC_DATA)."""

    data: bytes = blob("parameters, in the process's own layout")


@chunk(0x4190, parents=(0x4120, 0x4100, 0x4000))
class BoxMap(Chunk):
    """Box mapping (MSH_BOXMAP): a material for each side."""

    front: bytes = strz("material of the front")
    back: bytes = strz("material of the back")
    left: bytes = strz("material of the left side")
    right: bytes = strz("material of the right side")
    top: bytes = strz("material of the top")
    bottom: bytes = strz("material of the bottom")


@chunk(0x4400, parents=_OBJECT)
class OldLight(Chunk):
    """Light of older releases."""

    values: tuple[float, ...] = f32("position and color, not documented further", 6)
    flags: int = u16("not documented")


@chunk(0x4500, parents=_OBJECT)
class OldCamera(Chunk):
    """Camera of older releases."""

    values: tuple[float, ...] = f32("position and target, not documented further", 6)


@chunk(0x4600, parents=_OBJECT)
class Light(Chunk):
    """Light (N_DIRECT_LIGHT), with a colour sub-chunk; an omni light unless it contains 4610."""

    position: tuple[float, ...] = vector("position")


@chunk(0x4610, parents=_LIGHT)
class Spotlight(Chunk):
    """Spotlight (DL_SPOTLIGHT)."""

    target: tuple[float, ...] = vector("target")
    hotspot: float = f32("full angle of the bright cone in degrees")
    falloff: float = f32("full angle of the outer cone in degrees")


LightOff = declare(0x4620, "LightOff", Chunk, _LIGHT, "Light off (DL_OFF).")
LightAttenuates = declare(0x4625, "LightAttenuates", Chunk, _LIGHT, "Attenuation on (DL_ATTENUATE).")


@chunk(0x4659, parents=_LIGHT)
class LightInnerRange(Chunk):
    """Range start (DL_INNER_RANGE)."""

    range: float = f32("distance up to which the light has its full intensity")


@chunk(0x465A, parents=_LIGHT)
class LightOuterRange(Chunk):
    """Range end (DL_OUTER_RANGE)."""

    range: float = f32("distance at which the light ends")


@chunk(0x465B, parents=_LIGHT)
class LightMultiplier(Chunk):
    """Multiplier (DL_MULTIPLIER)."""

    multiplier: float = f32("factor of the colour, may be negative", default=1.0)


@chunk(0x4654, parents=_LIGHT, repeats=True)
class LightExclude(Chunk):
    """Excluded object (DL_EXCLUDE), one chunk for each object."""

    name: bytes = strz("name of the object this light does not reach")


SpotRaytrace = declare(0x4627, "SpotRaytrace", Chunk, _SPOT, "Spot raytrace (DL_RAYSHAD).")
SpotShadowed = declare(0x4630, "SpotShadowed", Chunk, _SPOT, "Light shadowed (DL_SHADOWED).")


@chunk(0x4640, parents=_SPOT)
class SpotOldShadow(Chunk):
    """Spot shadow map of older releases (DL_LOCAL_SHADOW)."""

    values: tuple[float, ...] = f32("bias and filter", 2)
    sizes: tuple[int, ...] = i16("not documented further", 3)


@chunk(0x4641, parents=_SPOT)
class SpotShadow(Chunk):
    """Spot shadow map (DL_LOCAL_SHADOW2)."""

    bias: float = f32("bias")
    filter: float = f32("filter")
    map_size: int = i16("map size")


SpotSeeCone = declare(0x4650, "SpotSeeCone", Chunk, _SPOT, "Spot show cone (DL_SEE_CONE).")
SpotRectangular = declare(0x4651, "SpotRectangular", Chunk, _SPOT, "Spot is rectangular (DL_SPOT_RECTANGULAR).")
SpotOvershoot = declare(0x4652, "SpotOvershoot", Chunk, _SPOT, "Spot overshoot (DL_SPOT_OVERSHOOT).")


@chunk(0x4653, parents=_SPOT)
class SpotMap(Chunk):
    """Spot map (DL_SPOT_PROJECTOR)."""

    name: bytes = strz("file name; 3ds Max writes 13 bytes whatever its length")


@chunk(0x4655, parents=_SPOT)
class SpotRange(Chunk):
    """Spot range of older releases (DL_SPOT_RANGE)."""

    range: float = f32("range")


@chunk(0x4656, parents=_SPOT)
class SpotRoll(Chunk):
    """Spot roll (DL_SPOT_ROLL)."""

    roll: float = f32("roll in degrees; 3ds Max writes radians here")


@chunk(0x4657, parents=_SPOT)
class SpotAspect(Chunk):
    """Aspect of a rectangular spot (DL_SPOT_ASPECT)."""

    aspect: float = f32("height / width; 3ds Max writes width / height", default=1.0)


@chunk(0x4658, parents=_SPOT)
class SpotRayBias(Chunk):
    """Spot ray trace bias (DL_RAY_BIAS)."""

    bias: float = f32("bias")


AmbientLight = declare(0x4680, "AmbientLight", Opaque, _OBJECT, "Ambient light (N_AMBIENT_LIGHT).")


@chunk(0x4700, parents=_OBJECT)
class Camera(Chunk):
    """Camera (N_CAMERA)."""

    position: tuple[float, ...] = vector("position")
    target: tuple[float, ...] = vector("target")
    bank: float = f32("bank in degrees")
    lens: float = f32("lens in mm; the horizontal field of view is 2400 / lens degrees", default=50.0)


CameraSeeCone = declare(0x4710, "CameraSeeCone", Chunk, (0x4700,), "Camera shows its cone (CAM_SEE_CONE).")


@chunk(0x4720, parents=(0x4700,))
class CameraRanges(Chunk):
    """Camera ranges (CAM_RANGES): of the atmosphere, not clip planes."""

    near: float = f32("near")
    far: float = f32("far")


@chunk(0x4F00, parents=(0x4000, 0x4100))
class Hierarchy(Chunk):
    """Hierarchy in the editor (HIERARCHY); 3D Studio does not use it, Blender's exporter may write it."""

    index: int = u16("number of the object")


@chunk(0x4F10, parents=(0x4F00,))
class HierarchyParent(Chunk):
    """Parent of the object (PARENT_OBJECT)."""

    index: int = u16("number of the parent")


HierarchyPivot = declare(0x4F20, "HierarchyPivot", Opaque, (0x4F00,), "Pivot (PIVOT_OBJECT).")
HierarchyLimits = declare(0x4F30, "HierarchyLimits", Opaque, (0x4F00,), "Limits (PIVOT_LIMITS).")
HierarchyOrder = declare(0x4F40, "HierarchyOrder", Opaque, (0x4F00,), "Order (PIVOT_ORDER).")
HierarchyRange = declare(0x4F50, "HierarchyRange", Opaque, (0x4F00,), "Range of movement (XLATE_RANGE).")


# Shapes of the shaper; path, shapes and deformations of the lofter: in projects and in files of their own (.shp, .lft).
# Layouts: 3ds Max's importer for shapes, an open reimplementation of the program for lofts. They fit 21 real projects
# byte for byte; all curves in these have straight sides.

_SHAPER = (0x2D2D,)
_LOFTER = (0x2D3D,)
_DEFORMATIONS = (0x6020, 0x6030, 0x6040, 0x6050, 0x6060)
_CURVES = (0x6070, 0x6080)

VERTEX = np.dtype([("point", "<f4", (3,)), ("into", "<f4", (3,)), ("out", "<f4", (3,)), ("flags", "<u2")])
"""a vertex of a curve; the tangent vectors of straight sides are 0"""
_VERTICES = (
    "vertices: point, tangent vectors before and behind it (relative to the point), and flags: bit 0: last of its "
    "polygon, 1: the polygon is closed (at its last), 4-6: selections A, B, C, 8: part of the shape, 9: first of its "
    "polygon, 11: hidden, 12: frozen"
)


@chunk(0x2D2D, parents=(0xC23D,))
class Shaper(Chunk):
    """2D shaper (SMAGIC): also the main chunk of a .shp file."""


@chunk(0x5000, parents=_SHAPER, repeats=True)
class Polygon2D(Chunk):
    """A polygon (POLY_2D): a curve in the plane, closed or open."""

    vertices: Array = counted_array(VERTEX, "H", _VERTICES + "; Z has no meaning")


ShapeIsValid = declare(0x5010, "ShapeIsValid", Chunk, _SHAPER, "The polygons make up a valid shape (SHAPE_OK).")
ShapeIsInvalid = declare(0x5011, "ShapeIsInvalid", Chunk, _SHAPER, "They do not, or none was assigned (SHAPE_NOT_OK).")


@chunk(0x5020, parents=_SHAPER)
class ShapeHook(Chunk):
    """Hook of the shape (SHAPE_HOOK): the point that lies on the path of a loft."""

    point: tuple[float, ...] = f32("X and Y", 2)


@chunk(0x2D3D, parents=(0xC23D,))
class Lofter(Chunk):
    """3D lofter (LMAGIC): also the main chunk of a .lft file."""


@chunk(0x6000, parents=_LOFTER)
class LoftPath(Chunk):
    """Path of the loft (PATH_3D)."""

    steps: int = u16("steps between two vertices")
    vertices: Array = counted_array(VERTEX, "H", _VERTICES)


@chunk(0x6005, parents=(0x6000,))
class PathMatrix(Chunk):
    """Axes of the path (PATH_MATRIX)."""

    x_axis: tuple[float, ...] = vector("X axis", default=(1.0, 0.0, 0.0))
    y_axis: tuple[float, ...] = vector("Y axis", default=(0.0, 1.0, 0.0))
    z_axis: tuple[float, ...] = vector("Z axis", default=(0.0, 0.0, 1.0))


@chunk(0x6010, parents=_LOFTER, repeats=True)
class LoftShape(Chunk):
    """Shape on the path (SHAPE_2D): all its polygons, one behind the other."""

    level: int = u16("level of the path: vertices and the steps between them, counted from 0")
    vertices: Array = counted_array(VERTEX, "H", _VERTICES)


@record
class _SymmetricDeformation(Chunk):
    symmetry: int = u16("1: one curve serves for X and Y")


ScaleDeformation = declare(
    0x6020, "ScaleDeformation", _SymmetricDeformation, _LOFTER, "Scale deformation (M_SCALE), in percent."
)
TwistDeformation = declare(0x6030, "TwistDeformation", Chunk, _LOFTER, "Twist deformation (M_TWIST), in degrees.")
TeeterDeformation = declare(
    0x6040, "TeeterDeformation", _SymmetricDeformation, _LOFTER, "Teeter deformation (M_TEETER), in degrees."
)
FitDeformation = declare(0x6050, "FitDeformation", _SymmetricDeformation, _LOFTER, "Fit deformation (M_FIT).")
BevelDeformation = declare(0x6060, "BevelDeformation", Chunk, _LOFTER, "Bevel deformation (M_BEVEL).")


# All curves in real files are neutral: scale is 100 along a path of 400; twist, with limit 180, is 180 along 360.
@record
class _DeformationCurve(Chunk):
    vertices: Singles = counted_array(
        ("<f4", (6,)),
        "H",
        "point of the graph (value, for all but scale plus the limit; place along the path), the tangent vectors "
        "before and behind it",
    )


DeformationX = declare(0x6070, "DeformationX", _DeformationCurve, _DEFORMATIONS, "Curve for X, or for all (XZ_CURVE).")
DeformationY = declare(0x6080, "DeformationY", _DeformationCurve, _DEFORMATIONS, "Curve for Y (YZ_CURVE).")


@chunk(0x6090, parents=(*_LOFTER, *_CURVES))
class LoftSteps(Chunk):
    """Steps between two vertices (INTERPCT): of shapes, or of a deformation curve."""

    steps: int = u16("steps")


@chunk(0x60A0, parents=_DEFORMATIONS)
class DeformationLimit(Chunk):
    """Limit of the values of a deformation (DEFORM_LIMIT)."""

    limit: float = f32("limit")


UseContour = declare(0x6100, "UseContour", Chunk, _LOFTER, "Shapes turn with the path (USE_CONTOUR).")
UseTween = declare(0x6110, "UseTween", Chunk, _LOFTER, "The steps of the path are modelled, too (USE_TWEEN).")
UseScale = declare(0x6120, "UseScale", Chunk, _LOFTER, "Scale deformation is on (USE_SCALE).")
UseTwist = declare(0x6130, "UseTwist", Chunk, _LOFTER, "Twist deformation is on (USE_TWIST).")
UseTeeter = declare(0x6140, "UseTeeter", Chunk, _LOFTER, "Teeter deformation is on (USE_TEETER).")
UseFit = declare(0x6150, "UseFit", Chunk, _LOFTER, "Fit deformation is on (USE_FIT).")
UseBevel = declare(0x6160, "UseBevel", Chunk, _LOFTER, "Bevel deformation is on (USE_BEVEL).")


# Materials: colours, percentages, flags and maps

_MATERIAL = (0xAFFF,)


@chunk(0xAFFF, parents=(0x3D3D, 0x3DAA), repeats=True)
class Material(Chunk):
    """Material block (MAT_ENTRY)."""


@chunk(0xA000, parents=_MATERIAL, once=True)
class MaterialName(Chunk):
    """Material name (MAT_NAME)."""

    name: bytes = strz("material name; 3D Studio allows 16 characters")


MaterialAmbient = declare(0xA010, "MaterialAmbient", Chunk, _MATERIAL, "Ambient color (MAT_AMBIENT).")
MaterialDiffuse = declare(0xA020, "MaterialDiffuse", Chunk, _MATERIAL, "Diffuse color (MAT_DIFFUSE).")
MaterialSpecular = declare(0xA030, "MaterialSpecular", Chunk, _MATERIAL, "Specular color (MAT_SPECULAR).")
MaterialShininess = declare(0xA040, "MaterialShininess", Chunk, _MATERIAL, "Shininess percent (MAT_SHININESS).")
MaterialShininessStrength = declare(
    0xA041, "MaterialShininessStrength", Chunk, _MATERIAL, "Shininess strength percent (MAT_SHIN2PCT)."
)
MaterialShininess3 = declare(0xA042, "MaterialShininess3", Chunk, _MATERIAL, "Third shininess percent (MAT_SHIN3PCT).")
MaterialTransparency = declare(
    0xA050, "MaterialTransparency", Chunk, _MATERIAL, "Transparency percent (MAT_TRANSPARENCY)."
)
MaterialTransparencyFalloff = declare(
    0xA052, "MaterialTransparencyFalloff", Chunk, _MATERIAL, "Transparency falloff percent (MAT_XPFALL)."
)
MaterialReflectionBlur = declare(
    0xA053, "MaterialReflectionBlur", Chunk, _MATERIAL, "Reflection blur percent (MAT_REFBLUR)."
)
MaterialSelfIlluminated = declare(
    0xA080, "MaterialSelfIlluminated", Chunk, _MATERIAL, "Self illuminated (MAT_SELF_ILLUM), older releases."
)
MaterialTwoSided = declare(0xA081, "MaterialTwoSided", Chunk, _MATERIAL, "2 sided (MAT_TWO_SIDE).")
MaterialDecal = declare(0xA082, "MaterialDecal", Chunk, _MATERIAL, "Decal (MAT_DECAL), flag of older releases.")
MaterialAdditive = declare(0xA083, "MaterialAdditive", Chunk, _MATERIAL, "Additive transparency (MAT_ADDITIVE).")
MaterialSelfIllumination = declare(0xA084, "MaterialSelfIllumination", Chunk, _MATERIAL, "Self illum (MAT_SELF_ILPCT).")
MaterialWire = declare(0xA085, "MaterialWire", Chunk, _MATERIAL, "Wire frame on (MAT_WIRE).")
MaterialSupersample = declare(0xA086, "MaterialSupersample", Chunk, _MATERIAL, "Supersampling (MAT_SUPERSMP).")


@chunk(0xA087, parents=_MATERIAL)
class MaterialWireSize(Chunk):
    """Wire thickness (MAT_WIRESIZE)."""

    size: float = f32("thickness", default=1.0)


MaterialFaceMap = declare(0xA088, "MaterialFaceMap", Chunk, _MATERIAL, "Face map (MAT_FACEMAP).")
MaterialFalloffIn = declare(
    0xA08A, "MaterialFalloffIn", Chunk, _MATERIAL, "Inward falloff (MAT_XPFALLIN): clearer in the middle."
)
MaterialSoften = declare(0xA08C, "MaterialSoften", Chunk, _MATERIAL, "Soften (MAT_PHONGSOFT).")
MaterialWireInUnits = declare(0xA08E, "MaterialWireInUnits", Chunk, _MATERIAL, "Wire in units (MAT_WIREABS).")


@chunk(0xA100, parents=_MATERIAL)
class MaterialShading(Chunk):
    """Render type (MAT_SHADING)."""

    shading: int = i16("0: wire, 1: flat, 2: Gouraud, 3: Phong, 4: metal", default=3)


MaterialUseFalloff = declare(
    0xA240, "MaterialUseFalloff", Chunk, _MATERIAL, "Falloff percent present (MAT_USE_XPFALL)."
)
MaterialUseReflectionBlur = declare(
    0xA250, "MaterialUseReflectionBlur", Chunk, _MATERIAL, "Reflection blur percent present (MAT_USE_REFBLUR)."
)


# In the specification this is a flag of the material; files have two bytes inside the bump map.
@chunk(0xA252, parents=(0xA230,))
class BumpPercent(Chunk):
    """Bump map present (true percent) (MAT_BUMP_PERCENT)."""

    percent: int = i16("percent")


class Map(Chunk):
    """A map slot: its amount (a percent sub-chunk), file name and texture transform. The default amount is 100 %."""


TextureMap1 = declare(0xA200, "TextureMap1", Map, _MATERIAL, "Texture map 1 (MAT_TEXMAP).")
TextureMap2 = declare(0xA33A, "TextureMap2", Map, _MATERIAL, "Texture map 2 (MAT_TEX2MAP).")
OpacityMap = declare(0xA210, "OpacityMap", Map, _MATERIAL, "Opacity map (MAT_OPACMAP); white is opaque.")
BumpMap = declare(0xA230, "BumpMap", Map, _MATERIAL, "Bump map (MAT_BUMPMAP).")
ShininessMap = declare(0xA33C, "ShininessMap", Map, _MATERIAL, "Shininess map (MAT_SHINMAP).")
SpecularMap = declare(0xA204, "SpecularMap", Map, _MATERIAL, "Specular map (MAT_SPECMAP).")
SelfIlluminationMap = declare(0xA33D, "SelfIlluminationMap", Map, _MATERIAL, "Self illum. map (MAT_SELFIMAP).")
ReflectionMap = declare(
    0xA220, "ReflectionMap", Map, _MATERIAL, "Reflection map (MAT_REFLMAP): an environment map without UV coordinates."
)
TextureMask1 = declare(0xA33E, "TextureMask1", Map, _MATERIAL, "Mask for texture map 1 (MAT_TEXMASK).")
TextureMask2 = declare(0xA340, "TextureMask2", Map, _MATERIAL, "Mask for texture map 2 (MAT_TEX2MASK).")
OpacityMask = declare(0xA342, "OpacityMask", Map, _MATERIAL, "Mask for opacity map (MAT_OPACMASK).")
BumpMask = declare(0xA344, "BumpMask", Map, _MATERIAL, "Mask for bump map (MAT_BUMPMASK).")
ShininessMask = declare(0xA346, "ShininessMask", Map, _MATERIAL, "Mask for shininess map (MAT_SHINMASK).")
SpecularMask = declare(0xA348, "SpecularMask", Map, _MATERIAL, "Mask for specular map (MAT_SPECMASK).")
SelfIlluminationMask = declare(
    0xA34A, "SelfIlluminationMask", Map, _MATERIAL, "Mask for self illum. map (MAT_SELFIMASK)."
)
ReflectionMask = declare(0xA34C, "ReflectionMask", Map, _MATERIAL, "Mask for reflection map (MAT_REFLMASK).")


@chunk(0xA300, parents=MAP_IDS)
class MapName(Chunk):
    """Mapping filename (MAT_MAPNAME)."""

    name: bytes = strz("file name, 8.3, normally without a path")


@chunk(0xA310, parents=(*MAP_IDS, 0xAFFF))
class AutomaticCubic(Chunk):
    """Automatic reflection map (MAT_ACUBIC)."""

    shade: int = u8("shade")
    antialias: int = u8("antialias")
    flags: int = i16("bit 0: on, bit 3: first frame only, bit 4: flat mirror")
    size: int = u32("size")
    nth_frame: int = u32("nth frame")


@chunk(0xA351, parents=MAP_IDS)
class MapParameters(Chunk):
    """Mapping parameters (MAT_MAP_TILING)."""

    flags: int = u16(
        "bit 0: decal, 1: mirror, 3: negative, 4: no tile, 5: summed area, 6: use alpha, 7: one-channel tint, "
        "8: ignore alpha, 9: RGB tint"
    )


@record
class _MapNumber(Chunk):
    value: float = f32("value")


MapBlur = declare(0xA353, "MapBlur", _MapNumber, MAP_IDS, "Blur percent (MAT_MAP_TEXBLUR).")


# A real file made with U scale 10 and V scale 2 has A354 = 10, A356 = 2: the specification has the two swapped.
MapUScale = declare(
    0xA354, "MapUScale", _MapNumber, MAP_IDS, "U scale (MAT_MAP_USCALE): 2 means that the texture repeats twice."
)
MapVScale = declare(
    0xA356, "MapVScale", _MapNumber, MAP_IDS, "V scale (MAT_MAP_VSCALE): 2 means that the texture repeats twice."
)
MapUOffset = declare(0xA358, "MapUOffset", _MapNumber, MAP_IDS, "U offset (MAT_MAP_UOFFSET).")
MapVOffset = declare(0xA35A, "MapVOffset", _MapNumber, MAP_IDS, "V offset (MAT_MAP_VOFFSET); 3ds Max stores -V.")


# The specification prints A35A a second time in its description of this chunk; its chunk tree is correct.
MapRotation = declare(
    0xA35C,
    "MapRotation",
    _MapNumber,
    MAP_IDS,
    "Rotation angle (MAT_MAP_ANG), degrees; 3ds Max stores the negative.",
)


@record
class _MapTint(Chunk):
    rgb: tuple[int, ...] = u8("red, green, blue", 3)


MapTint1 = declare(0xA360, "MapTint1", _MapTint, MAP_IDS, "RGB luma/alpha tint 1 (MAT_MAP_COL1).")
MapTint2 = declare(0xA362, "MapTint2", _MapTint, MAP_IDS, "RGB luma/alpha tint 2 (MAT_MAP_COL2).")
MapTintRed = declare(0xA364, "MapTintRed", _MapTint, MAP_IDS, "RGB tint R (MAT_MAP_RCOL).")
MapTintGreen = declare(0xA366, "MapTintGreen", _MapTint, MAP_IDS, "RGB tint G (MAT_MAP_GCOL).")
MapTintBlue = declare(0xA368, "MapTintBlue", _MapTint, MAP_IDS, "RGB tint B (MAT_MAP_BCOL).")


# Parameters of procedural textures (SXP), in a layout that each external process defines.
for _id, _slot in {
    0xA320: "Texture1", 0xA321: "Opacity", 0xA322: "Bump", 0xA324: "Specular", 0xA325: "Shininess",
    0xA326: "SelfIllumination", 0xA328: "Texture1Mask", 0xA32A: "Texture2Mask", 0xA32C: "OpacityMask",
    0xA32E: "BumpMask", 0xA330: "SpecularMask", 0xA332: "ShininessMask", 0xA334: "SelfIlluminationMask",
    0xA336: "ReflectionMask", 0xA338: "Texture2",
}.items():  # fmt: skip
    declare(_id, f"Procedural{_slot}", Opaque, (*_MATERIAL, *MAP_IDS), f"Procedural texture data (SXP), {_slot}.")


# The keyframer: its header, nodes and tracks

NODE_IDS = (0xB001, 0xB002, 0xB003, 0xB004, 0xB005, 0xB006, 0xB007)


@chunk(0xB000, parents=(0x4D4D, 0xC23D))
class Keyframer(Chunk):
    """Keyframer (KFDATA): the motion of objects, lights and cameras."""


@chunk(0xB00A, parents=(0xB000,))
class KeyframerHeader(Chunk):
    """Keyframer header (KFHDR)."""

    revision: int = i16("revision of the keyframer", default=5)
    name: bytes = strz("name of the scene or of the writing program, up to 12 characters")
    length: int = i32("length of the animation in frames")


@chunk(0xB008, parents=(0xB000,))
class Frames(Chunk):
    """Frames (Start and End) (KFSEG): the active segment."""

    start: int = i32("first frame of the active segment")
    end: int = i32("last frame of the active segment")


@chunk(0xB009, parents=(0xB000,))
class CurrentTime(Chunk):
    """Current frame (KFCURTIME)."""

    # 66 of 68 non-zero values in files of 3ds Max are multiples of 160: ticks, at 30 frames per second.
    time: int = i32("frame; in files of 3ds Max ticks, 4800 per second")


@record
class Node(Chunk):
    """Information block: an object, light, camera or target in the hierarchy, with its tracks."""


AmbientNode = declare(0xB001, "AmbientNode", Node, (0xB000,), "Ambient light information block.", repeats=True)
ObjectNode = declare(0xB002, "ObjectNode", Node, (0xB000,), "Mesh information block.", repeats=True)
CameraNode = declare(0xB003, "CameraNode", Node, (0xB000,), "Camera information block.", repeats=True)
CameraTargetNode = declare(
    0xB004, "CameraTargetNode", Node, (0xB000,), "Camera target information block.", repeats=True
)
OmniNode = declare(0xB005, "OmniNode", Node, (0xB000,), "Omni light information block.", repeats=True)
SpotTargetNode = declare(
    0xB006, "SpotTargetNode", Node, (0xB000,), "Spot light target information block.", repeats=True
)
SpotNode = declare(0xB007, "SpotNode", Node, (0xB000,), "Spot light information block.", repeats=True)


@chunk(0xB010, parents=NODE_IDS, once=True)
class NodeHeader(Chunk):
    """Object name, parameters and hierarchy father (NODE_HDR)."""

    # Nearly every real file has 0x4000 in flags1; the specification names only bit 11.
    name: bytes = strz("object name")
    flags1: int = u16("bit 2: hidden when rendering, 3: off, 9: marked, 11: hidden, 12: fast, 14: primary, 15: path")
    flags2: int = u16(
        "bit 0: show path, 1: animate smoothing, 2: frozen, 3: animated hide, 4: motion blur, 5: blur branch, "
        "6: morph materials, 7: morph object"
    )
    parent: int = i16("hierarchy father: the node id of the parent, -1 for none", default=-1)


@chunk(0xB011, parents=NODE_IDS)
class InstanceName(Chunk):
    """Instance name (INSTANCE_NAME): the name of a dummy, or of an instance of a mesh."""

    name: bytes = strz("name")


PreScale = declare(0xB012, "PreScale", Opaque, NODE_IDS, "Prescale (PRESCALE), not used.")


@chunk(0xB013, parents=NODE_IDS)
class Pivot(Chunk):
    """Object pivot point (PIVOT)."""

    pivot: tuple[float, ...] = vector("pivot point; not inherited by children")


@chunk(0xB014, parents=NODE_IDS)
class BoundBox(Chunk):
    """Bounding box (BOUNDBOX), the size of a dummy."""

    minimum: tuple[float, ...] = vector("lower corner")
    maximum: tuple[float, ...] = vector("upper corner")


@chunk(0xB015, parents=NODE_IDS)
class MorphSmooth(Chunk):
    """Object morph angle (MORPH_SMOOTH)."""

    angle: float = f32("smoothing angle; degrees in Autodesk's toolkit, Blender writes radians")


@record
class Track(Chunk):
    """Common head of all tracks."""

    # The specification calls the two times "8 byte unknown". Only 3ds Max fills them: 0 and the last key or the length.
    flags: int = u16(
        "bits 0-1: 0 single, 2 repeat, 3 loop; bits 3-5: lock X, Y, Z; 6: at key (editor); 7-9: unlink X, Y, Z; "
        "10-11: the axis edited last (editor)"
    )
    time_min: int = i32("first time, 0 in most files")
    time_max: int = i32("last time, 0 in most files")


_KEYS = (
    "keys: frame, acceleration flags (bit 0: tension, 1: continuity, 2: bias, 3: ease to, 4: ease from), "
    "a float for each bit set, "
)


@chunk(0xB020, parents=NODE_IDS, once=True)
class PositionTrack(Track):
    """Position track (POS_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "position")


@chunk(0xB021, parents=NODE_IDS, once=True)
class RotationTrack(Track):
    """Rotation track (ROT_TRACK_TAG)."""

    keys: Keys = keys(
        KeyLayout(4),
        _KEYS + "angle in radians (clockwise, any number of turns) and axis; relative to the previous key",
    )


@chunk(0xB022, parents=NODE_IDS, once=True)
class ScaleTrack(Track):
    """Scale track (SCL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "scale factors")


@chunk(0xB023, parents=NODE_IDS, once=True)
class FovTrack(Track):
    """FOV track (FOV_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "horizontal field of view in degrees")


@chunk(0xB024, parents=NODE_IDS, once=True)
class RollTrack(Track):
    """Roll track (ROLL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "roll in degrees")


@chunk(0xB025, parents=NODE_IDS, once=True)
class ColorTrack(Track):
    """Color track (COL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(3), _KEYS + "red, green, blue, 0.0 to 1.0")


@chunk(0xB026, parents=NODE_IDS, once=True)
class MorphTrack(Track):
    """Morph track (MORPH_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(None), _KEYS + "name of the object to morph into")


@chunk(0xB027, parents=NODE_IDS, once=True)
class HotspotTrack(Track):
    """Hotspot track (HOT_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "full angle of the bright cone in degrees")


@chunk(0xB028, parents=NODE_IDS, once=True)
class FalloffTrack(Track):
    """Falloff track (FALL_TRACK_TAG)."""

    keys: Keys = keys(KeyLayout(1), _KEYS + "full angle of the outer cone in degrees")


@chunk(0xB029, parents=NODE_IDS, once=True)
class HideTrack(Track):
    """Hide track (HIDE_TRACK_TAG): each key toggles the visibility of the node."""

    keys: Keys = keys(KeyLayout(0), _KEYS + "no value")


@chunk(0xB030, parents=NODE_IDS, once=True)
class NodeId(Chunk):
    """Hierarchy position (NODE_ID)."""

    id_: int = i16("unique value of the object, used for the hierarchy tree links")


# Autodesk's toolkit puts this chunk inside B010, Blender's exporter puts it next to B010.
@chunk(0x80F0, parents=(0xB010, *NODE_IDS))
class ParentName(Chunk):
    """Name of the parent (PARENT_NAME)."""

    name: bytes = strz("name of the parent")


# Project files, and data that plug-ins add to any file

# Application data: 8000 contains entries with a name and values. Each plug-in defines its own layout (inverse
# kinematics stores its joints here), so the section is kept as bytes; the ids inside are listed for documentation.
XData = declare(
    0x8000,
    "XData",
    Opaque,
    (0x3D3D, 0x4000, 0x4100, 0xAFFF, *NODE_IDS),
    "Application data (XDATA_SECTION): entries 8001 with a name and values of plug-ins.",
)
for _id, _name, _description in (
    (0x8001, "XDataEntry", "Entry (XDATA_ENTRY)."),
    (0x8002, "XDataAppName", "Name of the application (XDATA_APPNAME), text."),
    (0x8003, "XDataString", "Text (XDATA_STRING)."),
    (0x8004, "XDataFloat", "Number (XDATA_FLOAT)."),
    (0x8005, "XDataDouble", "Number (XDATA_DOUBLE)."),
    (0x8006, "XDataShort", "Number (XDATA_SHORT)."),
    (0x8007, "XDataLong", "Number (XDATA_LONG)."),
    (0x8008, "XDataVoid", "Bytes (XDATA_VOID)."),
    (0x8009, "XDataGroup", "Group of entries (XDATA_GROUP)."),
    *((0x800A + n, f"XDataReserved{n + 1}", "Reserved.") for n in range(6)),
):
    declare(_id, _name, Opaque, (0x8000,), _description)

_PROJECT = (0xC23D,)
for _id, _name, _description in (
    (0xC420, "ProjectMasterScales", "Master scales (C_MASTER_SCALES)."),
    (0xC700, "ProjectSegmentStart", "First frame of the segment (C_SEG_START)."),
    (0xC705, "ProjectSegmentEnd", "Last frame of the segment (C_SEG_END)."),
    (0xC710, "ProjectCurrentTime", "Current frame (C_CURTIME)."),
    (0xC715, "ProjectLength", "Length of the animation (C_ANIMLENGTH)."),
    (0xC755, "ProjectPreviewRate", "Frames per second of previews (C_PV_FPS)."),
    (0xCA42, "ProjectTension", "Default tension (C_TENS_DEFAULT)."),
    (0xCA44, "ProjectContinuity", "Default continuity (C_CONT_DEFAULT)."),
    (0xCA46, "ProjectBias", "Default bias (C_BIAS_DEFAULT)."),
    (0xCD60, "ProjectDisplayGamma", "Display gamma (C_DISP_GAMMA)."),
    (0xCD70, "ProjectBufferGamma", "Frame buffer gamma (C_FBUF_GAMMA)."),
    (0xCD80, "ProjectFileOutGamma", "Gamma of written files (C_FILE_OUT_GAMMA)."),
    (0xCD82, "ProjectFileInGamma", "Gamma of read files (C_FILE_IN_GAMMA)."),
    (0xCD84, "ProjectGammaCorrect", "Gamma correction (C_GAMMA_CORRECT)."),
    (0xD000, "VideoPost", "Video post (VPDATA)."),
):
    declare(_id, _name, Opaque, _PROJECT, _description)


@record
class ProjectSetting(RawChunk):
    """Any other setting of a project, C000 to CEFF (folders, grids, render and lofter options); layout unknown."""

    parents = _PROJECT
    opaque = True


for _id in range(0xC000, 0xCF00):
    CHUNKS.setdefault(_id, ProjectSetting)

TREE.compute_valid_children()
