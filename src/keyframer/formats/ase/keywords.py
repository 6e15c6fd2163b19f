"""The keywords of ASE: their values and meaning.

A signature has a letter for each value: i integer, f number, t quoted text, w word; a final + means any number of the
letter before it. The keywords are those of the exporter of 3ds Max, and some of exporters for games.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Entry(NamedTuple):
    """A keyword with its values and meaning."""

    signature: str
    description: str


class BlockEntry(NamedTuple):
    """A keyword with braces: the name of its record, its values, its meaning, and the usual lines inside."""

    name: str
    signature: str
    description: str
    lines: Mapping[str, Entry] = MappingProxyType({})


class Controller(NamedTuple):
    """A controller: the possible keywords of its rows, and the minimum number of values after the time of a key."""

    rows: tuple[bytes, ...]
    width: int
    flags: bool = False
    """whether keys with tangents end with an integer of flags"""


TOP_LINES = {
    "3DSMAX_ASCIIEXPORT": Entry("i", "version: 200, 110 in older files"),
    "COMMENT": Entry("t", "program and date"),
}
"""lines outside all blocks"""
_SCENE = {
    "SCENE_FILENAME": Entry("t", "name of the file in 3ds Max"),
    "SCENE_FIRSTFRAME": Entry("i", "first frame of the active segment"),
    "SCENE_LASTFRAME": Entry("i", "last frame of the active segment"),
    "SCENE_FRAMESPEED": Entry("i", "frames per second"),
    "SCENE_TICKSPERFRAME": Entry("i", "ticks per frame; 4800 make a second"),
    "SCENE_BACKGROUND_STATIC": Entry("fff", "background colour"),
    "SCENE_AMBIENT_STATIC": Entry("fff", "ambient light"),
}
_MATERIAL = {
    "MATERIAL_NAME": Entry("t", "name"),
    "MATERIAL_CLASS": Entry("t", "Standard, Multi/Sub-Object, or a plug-in"),
    "MATERIAL_AMBIENT": Entry("fff", "ambient colour"),
    "MATERIAL_DIFFUSE": Entry("fff", "diffuse colour"),
    "MATERIAL_SPECULAR": Entry("fff", "specular colour"),
    "MATERIAL_SHINE": Entry("f", "shininess, 0 to 1"),
    "MATERIAL_SHINESTRENGTH": Entry("f", "strength of the highlight"),
    "MATERIAL_TRANSPARENCY": Entry("f", "transparency, 0 to 1"),
    "MATERIAL_WIRESIZE": Entry("f", "width of wires"),
    "MATERIAL_SHADING": Entry("w", "Constant, Phong, Blinn, Metal or Other"),
    "MATERIAL_XP_FALLOFF": Entry("f", "falloff of the transparency"),
    "MATERIAL_SELFILLUM": Entry("f", "self-illumination, 0 to 1"),
    "MATERIAL_TWOSIDED": Entry("", "two-sided, if the line is present"),
    "MATERIAL_WIRE": Entry("", "shown as wires, if the line is present"),
    "MATERIAL_WIREUNITS": Entry("", "width of wires in units instead of pixels, if the line is present"),
    "MATERIAL_FACEMAP": Entry("", "maps are applied to each face, if the line is present"),
    "MATERIAL_SOFTEN": Entry("", "soft highlights, if the line is present"),
    "MATERIAL_FALLOFF": Entry("w", "In or Out: which way the transparency falls off"),
    "MATERIAL_XP_TYPE": Entry("w", "Filter, Subtractive, Additive or Other"),
    "NUMSUBMTLS": Entry("i", "number of sub-materials"),
}
_MAP = {
    "MAP_NAME": Entry("t", "name"),
    "MAP_CLASS": Entry("t", "Bitmap, or another kind of map"),
    "MAP_SUBNO": Entry("i", "number of the slot in the material"),
    "MAP_AMOUNT": Entry("f", "strength, 0 to 1"),
    "BITMAP": Entry("t", "path of the image"),
    "MAP_TYPE": Entry("w", "Explicit, Spherical, Cylindrical, Shrinkwrap or Screen"),
    "UVW_U_OFFSET": Entry("f", "offset of u"),
    "UVW_V_OFFSET": Entry("f", "offset of v, upwards"),
    "UVW_U_TILING": Entry("f", "how often the image repeats along u"),
    "UVW_V_TILING": Entry("f", "how often the image repeats along v"),
    "UVW_ANGLE": Entry("f", "angle in radians"),
    "UVW_BLUR": Entry("f", "blur; the default is 1"),
    "UVW_BLUR_OFFSET": Entry("f", "blur offset"),
    "UVW_NOUSE_AMT": Entry("f", "amount of noise (the exporter spells it like this)"),
    "UVW_NOISE_SIZE": Entry("f", "size of the noise"),
    "UVW_NOISE_LEVEL": Entry("i", "level of the noise"),
    "UVW_NOISE_PHASE": Entry("f", "phase of the noise"),
    "BITMAP_INVERT": Entry("", "inverted, if the line is present"),
    "BITMAP_FILTER": Entry("w", "Pyramidal, SAT or None"),
}
_NODE = {
    "NODE_NAME": Entry("t", "name of the node"),
    "NODE_PARENT": Entry("t", "name of its parent"),
    "PROP_MOTIONBLUR": Entry("i", "motion blur"),
    "PROP_CASTSHADOW": Entry("i", "whether it casts shadows"),
    "PROP_RECVSHADOW": Entry("i", "whether it receives shadows"),
    "MATERIAL_REF": Entry("i", "number of its material"),
    "WIREFRAME_COLOR": Entry("fff", "colour in wireframe views"),
    "HELPER_CLASS": Entry("t", "class of a helper: Dummy, Point, Bone …"),
    "BOUNDINGBOX_MIN": Entry("fff", "lower corner of a helper's box"),
    "BOUNDINGBOX_MAX": Entry("fff", "upper corner of a helper's box"),
    "CAMERA_TYPE": Entry("w", "Target or Free"),
    "LIGHT_TYPE": Entry("w", "Omni, Target (spot), Free (spot) or Directional"),
    "LIGHT_SHADOWS": Entry("w", "Off, Mapped or Raytraced"),
    "LIGHT_USELIGHT": Entry("i", "whether the light is on"),
    "LIGHT_SPOTSHAPE": Entry("w", "Circle or Rect"),
    "LIGHT_USEGLOBAL": Entry("i", "whether the light uses the global shadow settings"),
    "LIGHT_ABSMAPBIAS": Entry("i", "whether the bias of the shadow map is absolute"),
    "LIGHT_OVERSHOOT": Entry("i", "whether the light shines beyond its cone"),
    "SHAPE_LINECOUNT": Entry("i", "number of lines"),
}
_NODE_TM = {
    "NODE_NAME": Entry("t", "name of the node, or of its target"),
    "INHERIT_POS": Entry("iii", "axes of the position that are not inherited"),
    "INHERIT_ROT": Entry("iii", "axes of the rotation that are not inherited"),
    "INHERIT_SCL": Entry("iii", "axes of the scale that are not inherited"),
    "TM_ROW0": Entry("fff", "x axis in world space"),
    "TM_ROW1": Entry("fff", "y axis in world space"),
    "TM_ROW2": Entry("fff", "z axis in world space"),
    "TM_ROW3": Entry("fff", "position in world space"),
    "TM_POS": Entry("fff", "position in world space"),
    "TM_ROTAXIS": Entry("fff", "axis of the rotation"),
    "TM_ROTANGLE": Entry("f", "angle in radians, left-handed"),
    "TM_SCALE": Entry("fff", "scale"),
    "TM_SCALEAXIS": Entry("fff", "axis of the rotation of the scale axes"),
    "TM_SCALEAXISANG": Entry("f", "angle of that rotation in radians, left-handed"),
}
_MESH = {
    "TIMEVALUE": Entry("i", "time in ticks"),
    "MESH_NUMVERTEX": Entry("i", "number of vertices"),
    "MESH_NUMFACES": Entry("i", "number of faces"),
    "MESH_NUMTVERTEX": Entry("i", "number of texture vertices"),
    "MESH_NUMTVFACES": Entry("i", "number of texture faces"),
    "MESH_NUMCVERTEX": Entry("i", "number of colours"),
    "MESH_NUMCVFACES": Entry("i", "number of colour faces"),
}
_CAMERA = {
    "TIMEVALUE": Entry("i", "time in ticks"),
    "CAMERA_NEAR": Entry("f", "near range of the atmosphere"),
    "CAMERA_FAR": Entry("f", "far range of the atmosphere"),
    "CAMERA_FOV": Entry("f", "horizontal field of view in radians"),
    "CAMERA_TDIST": Entry("f", "distance to the target"),
    "CAMERA_HITHER": Entry("f", "near clip plane"),
    "CAMERA_YON": Entry("f", "far clip plane"),
}
_LIGHT = {
    "TIMEVALUE": Entry("i", "time in ticks"),
    "LIGHT_COLOR": Entry("fff", "colour"),
    "LIGHT_INTENS": Entry("f", "multiplier"),
    "LIGHT_ASPECT": Entry("f", "aspect of a rectangular cone; -1 for none"),
    "LIGHT_HOTSPOT": Entry("f", "full angle of the bright cone in degrees; -1 for none"),
    "LIGHT_FALLOFF": Entry("f", "full angle of the outer cone in degrees; -1 for none"),
    "LIGHT_TDIST": Entry("f", "distance to the target; -1 for none"),
    "LIGHT_MAPBIAS": Entry("f", "bias of the shadow map"),
    "LIGHT_MAPRANGE": Entry("f", "range of the shadow map"),
    "LIGHT_MAPSIZE": Entry("i", "size of the shadow map"),
    "LIGHT_RAYBIAS": Entry("f", "bias of raytraced shadows"),
    "LIGHT_ATTNSTART": Entry("f", "start of the attenuation"),
    "LIGHT_ATTNEND": Entry("f", "end of the attenuation"),
}
_SHAPE = {
    "SHAPE_CLOSED": Entry("", "closed, if the line is present"),
    "SHAPE_VERTEXCOUNT": Entry("i", "number of vertices"),
    "SHAPE_VERTEX_KNOT": Entry("ifff", "number and position of a knot, in world space"),
    "SHAPE_VERTEX_INTERP": Entry("ifff", "number and position of a point between knots"),
}
_EXCLUDED = {
    "LIGHT_NUMEXCLUDED": Entry("i", "number of names"),
    "LIGHT_EXCLUDED_INCLUDE": Entry("i", "1: the light reaches only these objects"),
    "LIGHT_EXCLUDED_AFFECT_ILLUM": Entry("i", "whether the list applies to illumination"),
    "LIGHT_EXCLUDED_AFFECT_SHADOW": Entry("i", "whether the list applies to shadows"),
    "LIGHT_EXCLUDED": Entry("t", "name of an object"),
}
_SKIN = {
    "MESH_NUMVERTEX": Entry("i", "number of vertices"),
    "MESH_NUMBONE": Entry("i", "number of bones"),
}
_IK = {
    "IK_TYPE": Entry("w", "Position or Rotation"),
    "IK_DOF": Entry("i", "degrees of freedom"),
}

BLOCKS: dict[bytes, BlockEntry] = {
    b"SCENE": BlockEntry("Scene", "", "Settings for the whole file.", _SCENE),
    b"SCENE_ENVMAP": BlockEntry("EnvironmentMap", "", "The environment map.", _MAP),
    b"SCENE_BACKGROUND_ANIM": BlockEntry("BackgroundAnimation", "", "The animated background colour."),
    b"SCENE_AMBIENT_ANIM": BlockEntry("AmbientAnimation", "", "The animated ambient light."),
    b"MATERIAL_LIST": BlockEntry(
        "MaterialList", "", "All materials.", {"MATERIAL_COUNT": Entry("i", "number of materials")}
    ),
    b"MATERIAL": BlockEntry("Material", "i", "A material and its number.", _MATERIAL),
    b"SUBMATERIAL": BlockEntry("SubMaterial", "i", "A sub-material, and its number.", _MATERIAL),
    **{
        keyword.encode(): BlockEntry(name, "", f"The {description} map of a material.", _MAP)
        for keyword, (name, description) in {
            "MAP_GENERIC": ("GenericMap", "unspecified"),
            "MAP_AMBIENT": ("AmbientMap", "ambient colour"),
            "MAP_DIFFUSE": ("DiffuseMap", "diffuse colour"),
            "MAP_SPECULAR": ("SpecularMap", "specular colour"),
            "MAP_SHINE": ("ShineMap", "shininess"),
            "MAP_SHINESTRENGTH": ("ShineStrengthMap", "highlight strength"),
            "MAP_SELFILLUM": ("SelfIlluminationMap", "self-illumination"),
            "MAP_OPACITY": ("OpacityMap", "opacity"),
            "MAP_FILTERCOLOR": ("FilterColorMap", "filter colour"),
            "MAP_BUMP": ("BumpMap", "bump"),
            "MAP_REFLECT": ("ReflectionMap", "reflection"),
            "MAP_REFRACT": ("RefractionMap", "refraction"),
        }.items()
    },
    b"GROUP": BlockEntry("Group", "t", "Objects that are grouped in 3ds Max, and the name of the group."),
    b"GEOMOBJECT": BlockEntry("GeomObject", "", "A node with a mesh.", _NODE),
    b"SHAPEOBJECT": BlockEntry("ShapeObject", "", "A node with lines.", _NODE),
    b"HELPEROBJECT": BlockEntry("HelperObject", "", "A dummy, a bone or another helper.", _NODE),
    b"CAMERAOBJECT": BlockEntry(
        "CameraObject", "", "A camera; a second NODE_TM and TM_ANIMATION belong to its target.", _NODE
    ),
    b"LIGHTOBJECT": BlockEntry(
        "LightObject", "", "A light; a second NODE_TM and TM_ANIMATION belong to its target.", _NODE
    ),
    b"NODE_TM": BlockEntry("NodeTransform", "", "The transform of a node in world space.", _NODE_TM),
    b"MESH": BlockEntry("Mesh", "", "A triangle mesh.", _MESH),
    b"MESH_ANIMATION": BlockEntry("MeshAnimation", "", "The mesh at several times: one MESH for each."),
    b"MESH_MAPPINGCHANNEL": BlockEntry(
        "MappingChannel", "i", "A further set of texture coordinates, and its number.", _MESH
    ),
    b"MESH_FACEMAPLIST": BlockEntry("FaceMapList", "", "Texture coordinates of face-mapped materials."),
    b"MESH_FACEMAP": BlockEntry("FaceMap", "i", "Texture coordinates of one face."),
    b"MESH_WEIGHTS": BlockEntry("MeshWeights", "", "Bones of a mesh, as exporters for games add them.", _SKIN),
    b"MESH_BONE_LIST": BlockEntry(
        "BoneList", "", "The bones of a mesh.", {"MESH_BONE_NAME": Entry("it", "number and name of a bone")}
    ),
    b"MESH_BONE_VERTEX_LIST": BlockEntry(
        "BoneVertexList",
        "",
        "The weights of a mesh.",
        {
            "MESH_BONE_VERTEX": Entry(
                "iffff+", "number and position of a vertex, then bone and weight of each influence"
            )
        },
    ),
    b"SHAPE_LINE": BlockEntry("ShapeLine", "i", "A line of a shape, and its number.", _SHAPE),
    b"CAMERA_SETTINGS": BlockEntry("CameraSettings", "", "The settings of a camera at one time.", _CAMERA),
    b"CAMERA_ANIMATION": BlockEntry("CameraAnimation", "", "A camera at several times: one CAMERA_SETTINGS for each."),
    b"LIGHT_SETTINGS": BlockEntry("LightSettings", "", "The settings of a light at one time.", _LIGHT),
    b"LIGHT_ANIMATION": BlockEntry("LightAnimation", "", "A light at several times: one LIGHT_SETTINGS for each."),
    b"LIGHT_EXCLUDELIST": BlockEntry("ExcludeList", "", "Objects that a light excludes or includes.", _EXCLUDED),
    b"TM_ANIMATION": BlockEntry(
        "TransformAnimation", "", "The keys of a node or of its target, relative to its parent.", _NODE_TM
    ),
    b"NODE_VISIBILITY_TRACK": BlockEntry("VisibilityTrack", "", "The visibility of a node over time."),
    b"IK_JOINT": BlockEntry("IkJoint", "", "Limits of inverse kinematics.", _IK),
}

NODES = frozenset((b"GEOMOBJECT", b"SHAPEOBJECT", b"HELPEROBJECT", b"CAMERAOBJECT", b"LIGHTOBJECT"))
"""blocks that are nodes"""

REPEATED = NODES | {b"GROUP", b"MATERIAL", b"SUBMATERIAL", b"NODE_TM", b"TM_ANIMATION"}
"""blocks that often occur several times in one parent: their paths always show the index"""

LINES: dict[bytes, Entry] = {
    name.encode(): entry
    for entries in (TOP_LINES, *(block.lines for block in BLOCKS.values()))
    for name, entry in entries.items()
}


def _controllers(kind: str, width: int) -> dict[bytes, Controller]:
    """Return the controllers of a kind of value (POS, ROT …) with ``width`` numbers, by the keyword of their blocks."""
    sample, key = f"CONTROL_{kind}_SAMPLE".encode(), f"CONTROL_{kind}_KEY".encode()
    # Blocks with samples of FLOAT and POINT3 have the keyword that other kinds use for the rows.
    sampled = {sample: (key,)} if kind in ("FLOAT", "POINT3") else {f"CONTROL_{kind}_TRACK".encode(): (sample,)}
    return {
        **{block: Controller(rows, width) for block, rows in sampled.items()},
        f"CONTROL_{kind}_LINEAR".encode(): Controller((key,), width),
        f"CONTROL_{kind}_TCB".encode(): Controller((f"CONTROL_TCB_{kind}_KEY".encode(),), width + 5),
        f"CONTROL_{kind}_BEZIER".encode(): Controller(
            (f"CONTROL_BEZIER_{kind}_KEY".encode(), key), width, flags=kind != "ROT"
        ),
    }


CONTROLLERS: dict[bytes, Controller] = {
    **_controllers("POS", 3),
    **_controllers("ROT", 4),
    **_controllers("SCALE", 3),
    **_controllers("FLOAT", 1),
    **_controllers("POINT3", 3),
    b"CONTROL_COLOR_BEZIER": Controller((b"CONTROL_BEZIER_POINT3_KEY",), 3, flags=True),
}
