"""The bridge between U3D (UTO!) documents and scenes.

`scene` reads a whole document, `writing` writes a whole scene. Both use `objects` for meshes, cameras and lights,
`controllers` for animation, `skins`, and the field tables of `declared_fields`.
"""
