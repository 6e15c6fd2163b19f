"""The bridge between 3D Studio documents and scenes.

Reading, in the order of `scene`, which goes once through the document:

1. `editor` reads the settings (unit, background, fog), the materials, and the objects: meshes, cameras and lights as
   the 3D editor stores them, in scene space.
2. `nodes` reads the tree of the keyframer: names, parents, targets.
3. `tracks` reads the keys of all nodes together. Their first keys are the rest pose.
4. Cameras, lights and meshes are attached to their nodes. If stored vertices and keyframer disagree about the place of
   a mesh, `vertex_space` decides. Objects without a node get one.

`declared_fields` says once how fields of a scene are stored in chunks, for both directions; `context` has the options
and what all readers need: reports, sub-chunks, extras for chunks that are not read.

Writing: `writing` makes a document of a scene, with `prepared_scene` and the modules that begin with ``write_``.
`merging` writes an edited scene with the `original_conventions` of its document. They are loaded when a scene is written.
"""
