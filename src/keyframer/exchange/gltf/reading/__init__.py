"""glTF 2.0 read into scenes: strict, bounds-checked, and with the authored keys where the file is one of ours."""

from keyframer.exchange.gltf.reading.importing import load
from keyframer.exchange.gltf.reading.rules import check

__all__ = ["check", "load"]
