"""The bridge between ASE documents and scenes.

`scene` reads a whole document with `object_meshes`, `skins`, `materials` and `cameras_lights`. `writing` writes a whole
scene with the modules that begin with ``write_``. `tracks`, `target_roll` and `declared_fields` are for both
directions. `merging` merges edits.
"""
