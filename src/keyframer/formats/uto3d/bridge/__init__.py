"""The bridge between U3D (UTO!) documents and scenes.

`scene` reads a whole document; `objects` reads what nodes carry and `controllers` reads animation. `writing` writes a
whole scene; the modules it uses begin with ``write_``.
"""
