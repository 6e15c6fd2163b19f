"""Arrays in, arrays out: quaternions (x, y, z, w), 4x4 affine matrices for column vectors, Euler angles;
numbering of equal keys, and of corners that share a normal.

Everything that turns is float64 and vectorised over leading axes. Angles are radians, right-handed (counter-clockwise
when the axis points at the viewer).
"""
