"""The bridge between Midtown Madness 2 clips and scenes: `rig` has the skeleton, `scene` reads, `writing` writes."""
