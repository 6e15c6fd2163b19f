"""The bridge between Hale3D documents and scenes.

`skeleton` reads animations, `surface` reads models, and `scene` combines them. `writing` writes both files with the
records of `pair_writer`, which keeps the conventions of an original, if any (`original_conventions`). `merging` and
`merged_files` merge edits.
"""
