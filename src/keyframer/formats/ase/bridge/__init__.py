"""The bridge between ASE documents and scenes.

`scene` reads a whole document with `object_meshes`, `skins`, `materials`, `cameras_lights` and `tracks`; `target_roll`
handles cameras and lights with targets. `writing` writes a whole scene with `tracks` and the modules that begin with
``write_``. `declared_fields` is for both directions. `merging` merges edits.
"""
