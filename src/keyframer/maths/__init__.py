"""Functions on arrays: quaternions (x, y, z, w), 4x4 affine matrices for column vectors, Euler angles, distinct values
and smoothing groups.

Rotations are float64 and vectorised over leading axes. Angles are radians, right-handed (counter-clockwise
when the axis points at the viewer).
"""
