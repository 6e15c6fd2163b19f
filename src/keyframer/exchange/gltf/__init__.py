"""glTF 2.0: `write` exports scenes, `read` imports them. ``docs/gltf.md`` describes the mapping."""

KEY_STYLES = ("linear", "cubic", "frames")
"""ways to write curves; the first is the default"""
