"""glTF 2.0, written from scenes: right in any viewer without extensions, and everything else in extras.

`export` builds the whole asset in memory as parts; `container` turns it into ``.glb`` or ``.gltf`` + ``.bin``.
What maps to what, and why, is in ``docs/gltf.md``.
"""

from keyframer.exchange.gltf.exporting import export
from keyframer.exchange.gltf.options import GltfOptions

__all__ = ["GltfOptions", "export"]
