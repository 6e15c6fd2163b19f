// What Online3DViewer finds in a 3DS file, for the league: name and points of each mesh in the world, as JSON.
import { readFileSync } from 'node:fs';
import { Importer3ds, RGBColor } from 'online-3d-viewer';

const [path] = process.argv.slice(2);
const data = readFileSync(path);
const importer = new Importer3ds();
const grey = () => new RGBColor(200, 200, 200);
importer.Import(path, '3ds', data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength), {
  getDefaultLineMaterialColor: grey,
  getDefaultMaterialColor: grey,
  getFileBuffer: () => null, // images: nobody looks at them here
  onSuccess() {
    const model = importer.GetModel();
    const meshes = [];
    model.EnumerateTransformedMeshInstances((mesh) => {
      const points = [];
      mesh.EnumerateVertices((vertex) => points.push(vertex.x, vertex.y, vertex.z));
      meshes.push({ name: mesh.GetName(), points });
    });
    const materials = [];
    for (let number = 0; number < model.MaterialCount(); number++) materials.push(model.GetMaterial(number).name);
    process.stdout.write(JSON.stringify({ meshes, materials }));
  },
  onError() {
    console.error(importer.GetErrorMessage() ?? 'Online3DViewer does not read the file');
    process.exitCode = 1;
  },
  onComplete() {},
});
