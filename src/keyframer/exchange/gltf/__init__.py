"""glTF 2.0: `write` makes files of scenes, `read` makes scenes of files. What maps to what is in ``docs/gltf.md``."""
