"""The bridge between ASE documents and scenes.

`scene` reads a whole document; `object_meshes`, `materials` and `cameras_lights` read what nodes carry, `tracks` reads
animation, and `target_roll` handles cameras and lights with targets. `writing` writes a whole scene; the modules it
uses begin with ``write_``.
"""
