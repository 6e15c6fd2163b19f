"""Inspecting files: identification, tables, plots, differences, and documents as text. Returns data; prints nothing.

`identity` recognises a file by its head, `document_tables` makes the tables of ``info``, `text_dump` writes a document
as text and `text_build` reads that text back.
"""

from itertools import chain

from keyframer.exchange import IMPORTERS
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
    "materials": "Materials",
    "images": "Maps of the scene",
    "textures": "Textures",
    "cameras": "Cameras",
    "lights": "Lights",
    "skins": "Skins",
    "raw_channels": "Raw channels",
}
"""names and titles of the tables that ``info`` has for every format; readers may have more (`Format.tables`,
`Importer.tables`)

Scene tables are named ``tree``, ``curves`` and ``images``, because ``nodes``, ``tracks`` and ``maps`` are tables of
documents.
"""


def table_names() -> list[str]:
    """Return the names that ``info --table`` accepts."""
    of_readers = [known.tables for known in FORMATS] + [known.tables for known in IMPORTERS]
    return list(dict.fromkeys((*TABLES, *chain.from_iterable(of_readers))))
