"""The bridge between Hale3D documents and scenes.

`skeleton` reads frames, `surface` reads the skinned model, and `scene` combines them. `writing` writes an animation,
`write_model` its model.
"""
