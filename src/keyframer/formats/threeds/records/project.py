"""Chunks of project files, and data that plug-ins add to any file."""

from __future__ import annotations

from keyframer.formats.threeds.chunk import RawChunk, declare_family, declare_opaque
from keyframer.formats.threeds.records.nodes import NODE_IDS
from keyframer.wire.record import record

# Application data: 8000 contains entries with a name and values. Each plug-in defines its own layout (inverse
# kinematics stores its joints here), so the section is kept as bytes; the ids inside are listed for documentation.
XData = declare_opaque(
    0x8000,
    "XData",
    "Application data (XDATA_SECTION): entries 8001 with a name and values of plug-ins.",
    (0x3D3D, 0x4000, 0x4100, 0xAFFF, *NODE_IDS),
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
    declare_opaque(_id, _name, _description, (0x8000,))

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
    declare_opaque(_id, _name, _description, _PROJECT)


@record
class ProjectSetting(RawChunk):
    """Any other setting of a project, C000 to CEFF (folders, grids, render and lofter options); layout unknown."""

    parents = _PROJECT
    opaque = True


declare_family(ProjectSetting, range(0xC000, 0xCF00))
