// What three.js' TDSLoader finds in a file, for tests: name, vertices, faces, points and box of each mesh, as JSON.
import { readFileSync } from 'node:fs';
import { Box3, Vector3 } from 'three';
import { TDSLoader } from 'three/examples/jsm/loaders/TDSLoader.js';

// Materials ask for images; nobody looks at them here.
globalThis.document = { createElementNS: () => ({ addEventListener() {}, removeEventListener() {} }) };

const data = readFileSync(process.argv[2]);
const scene = new TDSLoader().parse(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength), '');
scene.updateMatrixWorld(true);
const found = [];
scene.traverse((object) => {
  if (!object.isMesh || !object.geometry.hasAttribute('position')) return;
  const position = object.geometry.getAttribute('position');
  const index = object.geometry.getIndex();
  const box = new Box3();
  const point = new Vector3();
  const points = [];
  for (let i = 0; i < position.count; i++) {
    box.expandByPoint(point.fromBufferAttribute(position, i).applyMatrix4(object.matrixWorld));
    points.push(...point.toArray());
  }
  found.push({
    name: object.name,
    vertices: position.count,
    points,
    faces: index === null ? 0 : index.count / 3,
    low: box.min.toArray(),
    high: box.max.toArray(),
  });
});
process.stdout.write(JSON.stringify(found));
