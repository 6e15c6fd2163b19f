"""The bridge between 3D Studio documents and scenes.

`scene` reads a whole document. `editor` reads background, fog and ambient light, `materials` reads materials and maps,
`objects` reads meshes, lights and cameras as the editor stores them, `nodes` and `tracks` read the keyframer's tree and
keys, and `vertex_space` decides what to do where stored vertices and keyframer disagree. `writing` writes a whole scene
and is loaded only when a scene is written; the modules it uses begin with ``write_``.
"""
