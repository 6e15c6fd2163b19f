"""Looking at files: what they are, what they hold as tables, and the text twin. Data and text; nothing here prints.

`identity` names a file from its head, `report` makes the tables of ``info``, `text_dump` writes a document as text and
`text_build` reads that text back, `format_pages` makes the documentation of the formats.
"""

TABLES = {
    "overview": "Overview",
    "records": "Records",
    "raw": "Unknown or raw",
    "issues": "Issues",
    "scene": "Scene",
    "tree": "Node tree",
    "curves": "Tracks of the scene",
    "meshes": "Meshes",
    "surfaces": "Materials of the scene",
    "images": "Maps of the scene",
    "textures": "Textures",
    "cameras": "Cameras",
    "lights": "Lights",
    "skins": "Skins",
    "raw_channels": "Raw channels",
    "scene_issues": "On the way to the scene",
}
"""names and titles of the tables that ``info`` has for every format; formats have more (`Format.tables`)"""


def table_names() -> list[str]:
    """What ``info --table`` may name."""
    from keyframer.formats import FORMATS

    return list(dict.fromkeys((*TABLES, *(name for known in FORMATS for name in known.tables))))
