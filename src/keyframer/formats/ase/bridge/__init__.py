"""The bridge between ASE documents and scenes.

Reading (`scene.read_scene`): materials; nodes with their parents; rest transforms from the world matrices of the file;
the clip (`tracks`); cameras, lights, meshes and morphs (`objects`); then the roll of cameras and lights with a target,
which is separated from their rotation; skins, which find their bones by name; at last the environment.

Writing (`writing`): names and targets are settled first; then one block for the scene, one for the materials, and one
for each node with its transform, content (`write_objects`) and controllers (`write_tracks`).

Edits (`merging`): the writer writes the scene with the names, numbers and matrices of the original, and nodes and
materials are moved into the groups and materials that contain them there.

`declared_fields` says which lines store which fields, for both directions and for loss reports.
"""
