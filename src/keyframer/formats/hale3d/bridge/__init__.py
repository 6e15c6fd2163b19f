"""The bridge between Hale3D documents and scenes.

`scene` reads an animation, a model (`surface`) or both. `writing` writes new files with the records of `pair_writer`.
`merging` writes an edited scene: the same records, with what did not change from the original.
"""
