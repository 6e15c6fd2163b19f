version: 1.09
verts: 6
normals: 6
colors: 1
tex1s: 2
tex2s: 0
tangents: 0
materials: 2
adjuncts: 12
primitives: 4
matrices: 3

v	0.125 0.0 0.0
v	-0.125 0.0 0.0
v	0.0 0.25 0.0
v	0.0 0.0 -0.25
v	0.5 0.0 0.0
v	0.25 -0.125 0.0625
n	0 0 1
n	0 0 1
n	0 2 0
n	0 1 0
n	1 0 0
n	1 0 0
c	0.5 0.25 0.125 1
t1	0.25 0.75
t1	1 0

mtl Man1:COAT {
	adjuncts:	6
	primitives:	2
	textures:	0
	illum: diffuse
	ambient:	0.25 0.25 0.25
	diffuse:	0.75 0.5 0.0
	specular:	0 0 0
}

mtl Man1:SKIN {
	adjuncts:	6
	primitives:	2
	textures:	1
	texture:	1 FACE
	illum: emit
	ambient:	0.25 0.25 0.25
	diffuse:	0.75 0.5 0.25
	specular:	0 0 0
}

adj	0 0 0 0 0
adj	1 1 0 1 0
adj	2 2 0 0 0
adj	0 0 0 0 0
adj	2 2 0 0 0
adj	3 3 0 1 0
adj	2 2 0 0 0
adj	4 4 0 0 0
adj	5 5 0 1 0
adj	3 3 0 1 0
adj	5 5 0 1 0
adj	4 4 0 0 0
tri	0 1 2
tri	3 4 5
tri	6 7 8
tri	9 10 11
mtxv 2 2 2
mtxn 2 2 2
