"""From Hale3D documents to scenes: `skeleton` builds the frames, `surface` the skinned model, `scene` joins them.
`writing` makes an animation of a scene, `write_model` its model."""
