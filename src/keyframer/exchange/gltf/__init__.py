"""glTF 2.0: `write` exports scenes, `read` imports them. ``docs/gltf.md`` describes the mapping."""
