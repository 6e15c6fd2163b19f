"""A file, playing, in the browser: a local server and the page it serves, or one page that needs no server.

The page only ever receives what our exporter and our sampler make: a GLB and JSON, addressed by whole numbers.
"""

from keyframer.viewer.server import Viewer
from keyframer.viewer.standalone_page import Page, packed_page, view
from keyframer.viewer.viewed_file import Material, ViewedFile

__all__ = ["Material", "Page", "ViewedFile", "Viewer", "packed_page", "view"]
