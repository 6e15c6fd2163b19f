"""Plays a file in the browser: a local server and the page it serves, or one page that needs no server.

The page receives a GLB of our exporter, JSON, and bytes of the file for the hex view, all addressed by numbers.
"""

from keyframer.viewer.server import Viewer
from keyframer.viewer.standalone_page import Page, packed_page, view
from keyframer.viewer.viewed_file import LoadedFile, ViewedFile

__all__ = ["LoadedFile", "Page", "ViewedFile", "Viewer", "packed_page", "view"]
