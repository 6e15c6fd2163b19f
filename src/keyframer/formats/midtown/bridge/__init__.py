"""From Midtown Madness 2 clips to scenes: `rig` has the skeleton, `scene` the motion; `writing` is the way back."""
