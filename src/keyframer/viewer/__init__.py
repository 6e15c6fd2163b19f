"""A file, playing, in the browser: a local server and the page it serves, or one page that needs no server.

The page only ever receives what our exporter and our sampler make: a GLB and JSON, addressed by whole numbers.
"""

from keyframer.viewer.content import Material, ViewedFile
from keyframer.viewer.inline import Page, view
from keyframer.viewer.packing import packed_page
from keyframer.viewer.server import Viewer

__all__ = ["Material", "Page", "ViewedFile", "Viewer", "packed_page", "view"]
