"""The bridge between 3D Studio documents and scenes.

`scene` reads a whole document. `editor` reads the unit, background, fog and ambient light, `materials` reads materials
and maps, `objects` reads meshes, lights and cameras as the editor stores them, `nodes` and `tracks` read the
keyframer's tree and keys, and `vertex_space` decides between stored vertices and keyframer if they disagree.

`writing` writes a whole scene, with `prepared_scene` and the modules that begin with ``write_``. `merging` writes an
edited scene with the `original_conventions` of its document. They are loaded only when a scene is written.
"""
