"""The object block: meshes, lights and cameras."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Singles
from keyframer.formats.threeds.chunk import Chunk, chunk, declare_opaque
from keyframer.wire.field_types import array_to_end, blob, counted_array, f32, i16, strz, u8, u16, vector

Shorts = npt.NDArray[np.uint16]

_OBJECT = (0x4000,)
_MESH = (0x4100,)
_LIGHT = (0x4600,)
_SPOT = (0x4610,)


@chunk(0x4000, parents=(0x3D3D,), repeats=True)
class NamedObject(Chunk):
    """Object block (NAMED_OBJECT): a mesh, a light or a camera."""

    name: bytes = strz("object name; 3D Studio allows 10 characters, real files have up to 60")


@chunk(0x4010, parents=_OBJECT)
class ObjectHidden(Chunk):
    """Object hidden (OBJ_HIDDEN)."""


@chunk(0x4011, parents=_OBJECT)
class ObjectInLofter(Chunk):
    """Object visible in the lofter (OBJ_VIS_LOFTER)."""


@chunk(0x4012, parents=_OBJECT)
class ObjectDoesNotCast(Chunk):
    """Object doesn't cast (shadows) (OBJ_DOESNT_CAST)."""


@chunk(0x4013, parents=_OBJECT)
class ObjectMatte(Chunk):
    """Matte object (OBJ_MATTE)."""


@chunk(0x4014, parents=_OBJECT)
class ObjectFast(Chunk):
    """Object shown as a box (OBJ_FAST)."""


@chunk(0x4015, parents=_OBJECT)
class ObjectProcedural(Chunk):
    """External process on (OBJ_PROCEDURAL)."""


@chunk(0x4016, parents=_OBJECT)
class ObjectFrozen(Chunk):
    """Frozen object (OBJ_FROZEN)."""


@chunk(0x4017, parents=_OBJECT)
class ObjectReceivesNoShadow(Chunk):
    """Object doesn't receive shadows (OBJ_DONT_RCVSHADOW)."""


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


@chunk(0x4620, parents=_LIGHT)
class LightOff(Chunk):
    """Light off (DL_OFF)."""


@chunk(0x4625, parents=_LIGHT)
class LightAttenuates(Chunk):
    """Attenuation on (DL_ATTENUATE)."""


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


@chunk(0x4627, parents=_SPOT)
class SpotRaytrace(Chunk):
    """Spot raytrace (DL_RAYSHAD)."""


@chunk(0x4630, parents=_SPOT)
class SpotShadowed(Chunk):
    """Light shadowed (DL_SHADOWED)."""


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


@chunk(0x4650, parents=_SPOT)
class SpotSeeCone(Chunk):
    """Spot show cone (DL_SEE_CONE)."""


@chunk(0x4651, parents=_SPOT)
class SpotRectangular(Chunk):
    """Spot is rectangular (DL_SPOT_RECTANGULAR)."""


@chunk(0x4652, parents=_SPOT)
class SpotOvershoot(Chunk):
    """Spot overshoot (DL_SPOT_OVERSHOOT)."""


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


AmbientLight = declare_opaque(0x4680, "AmbientLight", "Ambient light (N_AMBIENT_LIGHT).", _OBJECT)


@chunk(0x4700, parents=_OBJECT)
class Camera(Chunk):
    """Camera (N_CAMERA)."""

    position: tuple[float, ...] = vector("position")
    target: tuple[float, ...] = vector("target")
    bank: float = f32("bank in degrees")
    lens: float = f32("lens in mm; the horizontal field of view is 2400 / lens degrees", default=50.0)


@chunk(0x4710, parents=(0x4700,))
class CameraSeeCone(Chunk):
    """Camera shows its cone (CAM_SEE_CONE)."""


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


HierarchyPivot = declare_opaque(0x4F20, "HierarchyPivot", "Pivot (PIVOT_OBJECT).", (0x4F00,))
HierarchyLimits = declare_opaque(0x4F30, "HierarchyLimits", "Limits (PIVOT_LIMITS).", (0x4F00,))
HierarchyOrder = declare_opaque(0x4F40, "HierarchyOrder", "Order (PIVOT_ORDER).", (0x4F00,))
HierarchyRange = declare_opaque(0x4F50, "HierarchyRange", "Range of movement (XLATE_RANGE).", (0x4F00,))
Polygon2D = declare_opaque(0x5000, "Polygon2D", "Shape of the shaper (POLY_2D).", (0x3D3D, 0x4000))
LoftPath = declare_opaque(0x6000, "LoftPath", "Path of the lofter.", (0x3D3D, 0x4000))
