"""The Blender extension, tested in bpy from PyPI, which runs in a separate process."""
