"""The bridge between U3D (UTO!) documents and scenes.

Reading (`scene.to_scene`): materials; nodes in the order of their records; parents and targets by id (targets of
Flexporter lights by name); meshes, cameras and lights (`objects`); the clip with one or two tracks for each controller
(`controllers`); at last `skins`, whose bind pose is the rest pose of the bones.

Writing (`writing`): every node gets its id first, because records refer to ids; then materials, nodes (bones in their
bind pose), targets, controllers, and the first and last frame, whose unit depends on all of them.

Edits (`merging`): the writer writes the scene with the ids, names, layout and time unit of the original.
"""
