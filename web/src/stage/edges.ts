// Edges marked as visible in the file: bit 0 of a face for its corners 0-1, bit 1 for 1-2, bit 2 for 2-0.

/** The pairs of vertices to draw; all edges of all faces if `marks` is null. */
export function edgePairs(indices: ArrayLike<number>, marks: ArrayLike<number> | null, firstFace: number): number[] {
  const pairs: number[] = [];
  for (let face = 0; 3 * face + 2 < indices.length; face++) {
    const mark = marks ? (marks[firstFace + face] ?? 7) : 7;
    for (let side = 0; side < 3; side++) {
      if (mark & (1 << side)) {
        pairs.push(indices[3 * face + side] ?? 0, indices[3 * face + ((side + 1) % 3)] ?? 0);
      }
    }
  }
  return pairs;
}

/** Pairs as triangles without area, which a wireframe mesh draws as lines: edges can then be skinned and morphed. */
export function asTriangles(pairs: number[]): Uint32Array {
  const triangles = new Uint32Array((pairs.length / 2) * 3);
  for (let edge = 0; 2 * edge < pairs.length; edge++) {
    const from = pairs[2 * edge] ?? 0;
    const to = pairs[2 * edge + 1] ?? 0;
    triangles.set([from, to, to], 3 * edge);
  }
  return triangles;
}
