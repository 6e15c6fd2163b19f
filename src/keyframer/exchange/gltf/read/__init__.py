"""Reads glTF 2.0 into scenes: strict, bounds-checked, and with the authored keys if we wrote the file."""

from keyframer.exchange.gltf.read.importing import check, load

__all__ = ["check", "load"]
