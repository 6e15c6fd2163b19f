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

Writing, in the order of `writing`:

1. `write_nodes` takes the mirrors out of the nodes, fits their tracks to frames and places them at frame 0; then it
   writes one node after the other, with its object. `write_motion` writes tracks and finds targets, `write_objects`
   writes meshes, cameras, lights and materials.
2. The sections are put together: version, editor, keyframer.

An edited scene is written in the same way, but with the `original_conventions` of its document: names, numbers, pivots,
matrices. `merging` says which of its records correspond to those of the original, which keeps all others.
"""
