"""glTF 2.0 written from scenes: right in any viewer without extensions, and everything else in extras.

`export` builds the whole asset in memory as parts; `save` writes it as ``.glb``, or as ``.gltf`` with a ``.bin``.
"""

from keyframer.exchange.gltf.write.exporting import TEXT_OPTIONS, export, save
from keyframer.exchange.gltf.write.options import GltfOptions

__all__ = ["TEXT_OPTIONS", "GltfOptions", "export", "save"]
