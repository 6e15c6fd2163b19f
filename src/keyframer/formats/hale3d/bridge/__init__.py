"""The bridge between Hale3D documents and scenes.

`skeleton` reads frames, `surface` reads the skinned model, and `scene` combines them. `writing` writes both
files with the records of `pair_writer`, which follows an original if there is one (`original_conventions`).
"""
