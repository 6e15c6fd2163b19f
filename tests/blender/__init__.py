"""The extension inside Blender: bpy from PyPI plays what it imports, in a process of its own."""
