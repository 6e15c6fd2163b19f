"""The bridge between U3D (UTO!) documents and scenes.

`scene` reads a document, `writing` writes a scene, `merging` merges edits. They use `objects` for meshes, cameras and
lights, `controllers` for animation, and `skins`; the tables of fields are in `declared_fields`.
"""
