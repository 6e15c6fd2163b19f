"""Inspecting files: identification, tables, plots, differences, and documents as text. Returns data; prints nothing.

`identity` recognises a file by its head, `document_tables` makes the tables of ``info``, `text_dump` writes a document
as text and `text_build` reads that text back.
"""

from keyframer.formats import FORMATS

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
}
"""names and titles of the tables that ``info`` has for every format; formats may have more (`Format.tables`)

Scene tables are named ``tree``, ``curves``, ``surfaces`` and ``images``, because ``nodes``, ``tracks``, ``materials``
and ``maps`` are tables of documents.
"""


def table_names() -> list[str]:
    """Return the names that ``info --table`` accepts."""
    return list(dict.fromkeys((*TABLES, *(name for known in FORMATS for name in known.tables))))
