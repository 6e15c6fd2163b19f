"""The bridge between Midtown Madness 2 clips and scenes: `scene` reads, `writing` writes, `merging` merges edits."""
