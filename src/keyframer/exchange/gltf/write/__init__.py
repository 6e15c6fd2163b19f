"""Writes glTF 2.0 from scenes: correct in any viewer without extensions, with all other data in extras.

`export` builds the whole asset in memory as parts; `save` writes it as ``.glb``, or as ``.gltf`` with a ``.bin``.
"""

from keyframer.exchange.gltf.write.exporting import export, save
from keyframer.exchange.gltf.write.options import GltfOptions

__all__ = ["GltfOptions", "export", "save"]
