"""Makes the ASE samples: ``python -m tests.samples.ase.make``. Comments explain the numbers."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

HEAD = """*3DSMAX_ASCIIEXPORT	200
*COMMENT "AsciiExport Version  2,00 - made by hand"
*SCENE {
	*SCENE_FILENAME "made.max"
	*SCENE_FIRSTFRAME 0
	*SCENE_LASTFRAME 4
	*SCENE_FRAMESPEED 30
	*SCENE_TICKSPERFRAME 160
	*SCENE_BACKGROUND_STATIC 0.0000	0.0000	0.5000
	*SCENE_AMBIENT_STATIC 0.1000	0.1000	0.1000
}
"""

NO_TURN = """		*TM_ROW0 1.0000	0.0000	0.0000
		*TM_ROW1 0.0000	1.0000	0.0000
		*TM_ROW2 0.0000	0.0000	1.0000
"""


def node_tm(name: str, position: tuple[float, float, float], rows: str = NO_TURN, parts: str = "") -> str:
    place = "\t".join(f"{value:.4f}" for value in position)
    return (
        f'\t*NODE_TM {{\n\t\t*NODE_NAME "{name}"\n\t\t*INHERIT_POS 0 0 0\n\t\t*INHERIT_ROT 0 0 0\n'
        f"\t\t*INHERIT_SCL 0 0 0\n{rows}\t\t*TM_ROW3 {place}\n\t\t*TM_POS {place}\n{parts}\t}}\n"
    )


def triangle(
    position: tuple[float, float, float] = (0, 0, 0), extra: str = "", indent: str = "\t", time: int = 0
) -> str:
    """One face in world space: the node's position, one unit along x and one along y."""
    x, y, z = position
    lines = [
        "*MESH {",
        f"\t*TIMEVALUE {time}",
        "\t*MESH_NUMVERTEX 3",
        "\t*MESH_NUMFACES 1",
        "\t*MESH_VERTEX_LIST {",
        f"\t\t*MESH_VERTEX    0\t{x:.4f}\t{y:.4f}\t{z:.4f}",
        f"\t\t*MESH_VERTEX    1\t{x + 1:.4f}\t{y:.4f}\t{z:.4f}",
        f"\t\t*MESH_VERTEX    2\t{x:.4f}\t{y + 1:.4f}\t{z:.4f}",
        "\t}",
        "\t*MESH_FACE_LIST {",
        "\t\t*MESH_FACE    0:    A:    0 B:    1 C:    2 AB:    1 BC:    0 CA:    1"
        "\t *MESH_SMOOTHING 1,3 \t*MESH_MTLID 1",
        "\t}",
    ]
    return "".join(f"{indent}{line}\n" for line in lines) + extra + f"{indent}}}\n"


TEXTURED = """		*MESH_NUMTVERTEX 3
		*MESH_TVERTLIST {
			*MESH_TVERT 0	0.0000	0.0000	0.0000
			*MESH_TVERT 1	1.0000	0.0000	0.0000
			*MESH_TVERT 2	0.0000	1.0000	0.0000
		}
		*MESH_NUMTVFACES 1
		*MESH_TFACELIST {
			*MESH_TFACE 0	0	1	2
		}
		*MESH_NUMCVERTEX 2
		*MESH_CVERTLIST {
			*MESH_VERTCOL 0	1.0000	0.0000	0.0000
			*MESH_VERTCOL 1	0.0000	0.0000	1.0000
		}
		*MESH_NUMCVFACES 1
		*MESH_CFACELIST {
			*MESH_CFACE 0	0	1	1
		}
		*MESH_NORMALS {
			*MESH_FACENORMAL 0	0.0000	0.0000	1.0000
				*MESH_VERTEXNORMAL 0	0.0000	0.0000	1.0000
				*MESH_VERTEXNORMAL 1	0.0000	0.0000	1.0000
				*MESH_VERTEXNORMAL 2	0.0000	0.0000	1.0000
		}
"""

MATERIALS = """*MATERIAL_LIST {
	*MATERIAL_COUNT 2
	*MATERIAL 0 {
		*MATERIAL_NAME "paint"
		*MATERIAL_CLASS "Multi/Sub-Object"
		*NUMSUBMTLS 2
		*SUBMATERIAL 0 {
			*MATERIAL_NAME "red"
			*MATERIAL_CLASS "Standard"
			*MATERIAL_AMBIENT 0.1000	0.0000	0.0000
			*MATERIAL_DIFFUSE 1.0000	0.0000	0.0000
			*MATERIAL_SPECULAR 0.9000	0.9000	0.9000
			*MATERIAL_SHINE 0.2500
			*MATERIAL_SHINESTRENGTH 0.0500
			*MATERIAL_TRANSPARENCY 0.0000
			*MATERIAL_WIRESIZE 1.0000
			*MATERIAL_SHADING Blinn
			*MATERIAL_XP_FALLOFF 0.0000
			*MATERIAL_SELFILLUM 0.0000
			*MATERIAL_FALLOFF In
			*MATERIAL_XP_TYPE Filter
		}
		*SUBMATERIAL 1 {
			*MATERIAL_NAME "stone"
			*MATERIAL_CLASS "Standard"
			*MATERIAL_DIFFUSE 0.5000	0.5000	0.5000
			*MATERIAL_TRANSPARENCY 0.2500
			*MATERIAL_SHADING Phong
			*MATERIAL_TWOSIDED
			*MAP_DIFFUSE {
				*MAP_NAME "Map #1"
				*MAP_CLASS "Bitmap"
				*MAP_SUBNO 1
				*MAP_AMOUNT 0.7500
				*BITMAP "STONE.TGA"
				*MAP_TYPE Screen
				*UVW_U_OFFSET 0.2500
				*UVW_V_OFFSET 0.1250
				*UVW_U_TILING 2.0000
				*UVW_V_TILING 3.0000
				*UVW_ANGLE 0.5236
				*UVW_BLUR 1.0000
				*UVW_BLUR_OFFSET 0.0000
				*BITMAP_FILTER Pyramidal
			}
		}
	}
	*MATERIAL 1 {
		*MATERIAL_NAME "blue"
		*MATERIAL_CLASS "Standard"
		*MATERIAL_DIFFUSE 0.0000	0.0000	1.0000
	}
}
"""

# A triangle at (10, 0, 0) that moves along x and rotates by 90 degrees about z in two steps, left-handed angles.
MOVING = (
    '*GEOMOBJECT {\n\t*NODE_NAME "Flag"\n'
    + node_tm("Flag", (10, 0, 0))
    + triangle((10, 0, 0), TEXTURED)
    + """	*PROP_MOTIONBLUR 0
	*PROP_CASTSHADOW 1
	*PROP_RECVSHADOW 0
	*TM_ANIMATION {
		*NODE_NAME "Flag"
		*CONTROL_POS_TRACK {
			*CONTROL_POS_SAMPLE 0	10.0000	0.0000	0.0000
			*CONTROL_POS_SAMPLE 160	11.0000	0.0000	0.0000
			*CONTROL_POS_SAMPLE 640	12.0000	0.0000	0.0000
		}
		*CONTROL_ROT_TRACK {
			*CONTROL_ROT_SAMPLE 160	0.0000	0.0000	1.0000	-0.7854
			*CONTROL_ROT_SAMPLE 320	0.0000	0.0000	1.0000	-0.7854
		}
	}
	*MATERIAL_REF 0
}
"""
)

# A camera at (0, -10, 0) that looks along +y at its target, and a spot that looks down.
STAGE = (
    '*CAMERAOBJECT {\n\t*NODE_NAME "Camera01"\n\t*CAMERA_TYPE Target\n'
    + node_tm(
        "Camera01",
        (0, -10, 0),
        "\t\t*TM_ROW0 1.0000\t0.0000\t0.0000\n\t\t*TM_ROW1 0.0000\t0.0000\t1.0000\n"
        "\t\t*TM_ROW2 0.0000\t-1.0000\t0.0000\n",
    )
    + node_tm("Camera01.Target", (0, 0, 0))
    + """	*CAMERA_SETTINGS {
		*TIMEVALUE 0
		*CAMERA_NEAR 0.0000
		*CAMERA_FAR 1000.0000
		*CAMERA_FOV 0.7854
		*CAMERA_TDIST 10.0000
	}
	*CAMERA_ANIMATION {
		*CAMERA_SETTINGS {
			*TIMEVALUE 0
			*CAMERA_FOV 0.7854
		}
		*CAMERA_SETTINGS {
			*TIMEVALUE 160
			*CAMERA_FOV 1.0472
		}
	}
}
*LIGHTOBJECT {
	*NODE_NAME "Spot01"
	*LIGHT_TYPE Target
"""
    + node_tm("Spot01", (0, 0, 8))
    + node_tm("Spot01.Target", (0, 0, 0))
    + """	*LIGHT_SHADOWS Mapped
	*LIGHT_USELIGHT 1
	*LIGHT_SPOTSHAPE Circle
	*LIGHT_SETTINGS {
		*TIMEVALUE 0
		*LIGHT_COLOR 1.0000	0.5000	0.2500
		*LIGHT_INTENS 1.5000
		*LIGHT_ASPECT -1.0000
		*LIGHT_HOTSPOT 43.0000
		*LIGHT_FALLOFF 45.0000
		*LIGHT_TDIST 8.0000
	}
	*LIGHT_EXCLUDELIST {
		*LIGHT_NUMEXCLUDED 1
		*LIGHT_EXCLUDED "Flag"
	}
}
"""
)


def keyed(name: str, tracks: str) -> str:
    dummy = f'*HELPEROBJECT {{\n\t*NODE_NAME "{name}"\n\t*HELPER_CLASS "Dummy"\n{node_tm(name, (0, 0, 0))}'
    box = "\t*BOUNDINGBOX_MIN -1.0000\t-1.0000\t-1.0000\n\t*BOUNDINGBOX_MAX 1.0000\t1.0000\t1.0000\n"
    return f'{dummy}{box}\t*TM_ANIMATION {{\n\t\t*NODE_NAME "{name}"\n{tracks}\t}}\n}}\n'


CONTROLLERS = (
    keyed(
        "Linear",
        """		*CONTROL_POS_LINEAR {
			*CONTROL_POS_KEY 0	0.0000	0.0000	0.0000
			*CONTROL_POS_KEY 640	4.0000	0.0000	0.0000
		}
		*CONTROL_SCALE_LINEAR {
			*CONTROL_SCALE_KEY 0	1.0000	1.0000	1.0000	0.0000	0.0000	0.0000	0.0000
			*CONTROL_SCALE_KEY 640	2.0000	1.0000	1.0000	0.0000	0.0000	0.0000	0.0000
		}
""",
    )
    + keyed(
        "Tcb",
        """		*CONTROL_POS_TCB {
			*CONTROL_TCB_POS_KEY 0	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000
			*CONTROL_TCB_POS_KEY 320	1.0000	0.0000	0.0000	0.5000	-0.5000	0.2500	0.0000	0.0000
			*CONTROL_TCB_POS_KEY 640	2.0000	2.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000
		}
		*CONTROL_ROT_TCB {
			*CONTROL_TCB_ROT_KEY 0	0.0000	0.0000	1.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000
			*CONTROL_TCB_ROT_KEY 640	0.0000	0.0000	1.0000	-6.2832	0.0000	0.0000	0.0000	0.0000	0.0000
		}
""",
    )
    + keyed(
        "Bezier",
        """		*CONTROL_POS_BEZIER {
			*CONTROL_BEZIER_POS_KEY 0	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0.0000	0
			*CONTROL_BEZIER_POS_KEY 640	4.0000	0.0000	0.0000	-0.0125	0.0000	0.0000	0.0000	0.0000	0.0000	0
		}
""",
    )
)

# A mesh that grows along z, and a node that is hidden from frame 2 on.
MORPHING = (
    '*GEOMOBJECT {\n\t*NODE_NAME "Wave"\n'
    + node_tm("Wave", (0, 0, 0))
    + triangle()
    + "\t*MESH_ANIMATION {\n"
    + triangle((0, 0, 0), indent="\t\t", time=0)
    + triangle((0, 0, 2), indent="\t\t", time=320)
    + "\t}\n"
    + """	*NODE_VISIBILITY_TRACK {
		*CONTROL_FLOAT_SAMPLE {
			*CONTROL_FLOAT_KEY 0	1.0000
			*CONTROL_FLOAT_KEY 320	0.0000
		}
	}
}
"""
)

BONES = "".join(
    f'*HELPEROBJECT {{\n\t*NODE_NAME "{name}"\n\t*HELPER_CLASS "Bone"\n{node_tm(name, place)}}}\n'
    for name, place in (("hip", (0, 0, 0)), ("knee", (0, 0, 1)))
)
SKINNED = (
    BONES
    + '*GEOMOBJECT {\n\t*NODE_NAME "Leg"\n'
    + node_tm("Leg", (0, 0, 0))
    + triangle(
        (0, 0, 0),
        """		*MESH_WEIGHTS {
			*MESH_NUMVERTEX 3
			*MESH_NUMBONE 2
			*MESH_BONE_LIST {
				*MESH_BONE_NAME 0 "hip"
				*MESH_BONE_NAME 1 "knee"
			}
			*MESH_BONE_VERTEX_LIST {
				*MESH_BONE_VERTEX 0	0.0000	0.0000	0.0000	0	1.0000
				*MESH_BONE_VERTEX 1	1.0000	0.0000	0.0000	0	0.7500	1	0.2500
				*MESH_BONE_VERTEX 2	0.0000	1.0000	0.0000	1	1.0000	-1	0.0000
			}
		}
""",
    )
    + "}\n"
    + '*GEOMOBJECT {\n\t*NODE_NAME "Boot"\n'
    + node_tm("Boot", (0, 0, 0))
    + triangle()
    + "}\n"
    + '*MESH_SOFTSKINVERTS {\nBoot\n3\n1\t"hip"\t1.0000\n2\t"hip"\t0.5000\t"knee"\t0.5000\n1\t"knee"\t1.0000\n}\n'
)

SHAPE = (
    '*GROUP "Sign" {\n\t*SHAPEOBJECT {\n\t\t*NODE_NAME "Line01"\n'
    + "".join(f"\t{line}\n" for line in node_tm("Line01", (0, 0, 0)).splitlines())
    + """		*SHAPE_LINECOUNT 1
		*SHAPE_LINE 0 {
			*SHAPE_CLOSED
			*SHAPE_VERTEXCOUNT 2
			*SHAPE_VERTEX_KNOT	0	0.0000	0.0000	0.0000
			*SHAPE_VERTEX_INTERP	1	1.0000	0.0000	0.0000
		}
	}
}
"""
)

# Layouts that 3ds Max does not write: a brace on its own line, unknown keywords, spaces, commas, unusual numbers, junk.
ODD = """  *3DSMAX_ASCIIEXPORT 110
*SCENE
{
 *SCENE_FIRSTFRAME  +0
 *SCENE_LASTFRAME 1.0
 *SCENE_TICKSPERFRAME 160   *SCENE_FRAMESPEED 25
 *SCENE_MOOD "cheerful { * }" 7
}
// a remark that is no keyword
*GEOMOBJECT { *NODE_NAME bare *PLUGIN_DATA { *DEEPER { 1 2 3 } }
*NODE_TM { *TM_ROW0 1 0 0 *TM_ROW1 0 1 0 *TM_ROW2 0 0 1 *TM_ROW3 1e1 .5 -0,25 }
*MESH { *MESH_VERTEX_LIST { *MESH_VERTEX 0 0,5 1. -.5
*MESH_VERTEX 1 1.#QNAN -1.#IND 1.#INF *MESH_VERTEX 2 1E+2 2e-1 0 }
*MESH_FACE_LIST { *MESH_FACE 0: A: 0 B: 1 C: 2 } } *MATERIAL_REF 5 }
"""


def samples() -> dict[str, bytes]:
    accents = HEAD.replace("made.max", "Mädchen.max") + keyed("Fähre", "")
    return {
        "textured.ase": (HEAD + MATERIALS + MOVING).encode("ascii"),
        "stage.ase": (HEAD + STAGE + SHAPE).encode("ascii"),
        "controllers.ase": (HEAD + CONTROLLERS).encode("ascii"),
        "morphing.ase": (HEAD + MORPHING).encode("ascii"),
        "skinned.ase": (HEAD + SKINNED).encode("ascii"),
        "odd.ase": ODD.encode("ascii"),
        "utf8_mark.ase": b"\xef\xbb\xbf" + accents.encode("utf-8"),
        "cp1252_crlf.ase": accents.replace("\n", "\r\n").encode("cp1252"),
        "utf16_le.ase": accents.replace("\n", "\r\n").encode("utf-16-le"),
        "utf16_be_mark.ase": b"\xfe\xff" + accents.encode("utf-16-be"),
    }


if __name__ == "__main__":
    for name, data in samples().items():
        (FOLDER / name).write_bytes(data)
