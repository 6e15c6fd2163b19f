// Plays glTF files with the loader and animation groups of Babylon.js, without a screen. Nodes are named n0, n1 …,
// animations a0, a1 ….
// stdin: one JSON line for each file: {file, seconds: [...], animations: [names that play together],
// vertices: {node: [numbers of vertices]}}.
// stdout: one JSON line for each: {node: [for each time [[for each vertex [x, y, z]], whether it is drawn]]}.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { NullEngine } from "@babylonjs/core/Engines/nullEngine.js";
import { LoadAssetContainerAsync } from "@babylonjs/core/Loading/sceneLoader.js";
import { Vector3 } from "@babylonjs/core/Maths/math.vector.js";
import { Logger } from "@babylonjs/core/Misc/logger.js";
import { Scene } from "@babylonjs/core/scene.js";
import "@babylonjs/loaders/glTF/2.0/index.js";

Logger.LogLevels = Logger.ErrorLogLevel;
const RATE = 60; // the loader makes frames of this rate from seconds
const gltf = { skipMaterials: true, animationStartMode: 0, targetFps: RATE };
const engine = new NullEngine();

/** World positions of all vertices of a mesh, shaped and skinned, as one flat array. */
function positions(mesh) {
  const flat = mesh.getPositionData(true, true);
  const world = mesh.computeWorldMatrix(true);
  const point = new Vector3();
  const out = new Array(flat.length);
  for (let i = 0; i < flat.length; i += 3) {
    Vector3.TransformCoordinatesFromFloatsToRef(flat[i], flat[i + 1], flat[i + 2], world, point);
    point.toArray(out, i);
  }
  return out;
}

/** Whether a mesh is drawn: it is not switched off and not shrunk to a point. */
function drawn(mesh, flat) {
  return mesh.isEnabled() && mesh.isVisible && flat.some((value, i) => value !== flat[i % 3]);
}

for await (const line of createInterface({ input: process.stdin })) {
  if (!line) continue;
  const { file, seconds, animations, vertices: wanted } = JSON.parse(line);
  const scene = new Scene(engine);
  scene.useRightHandedSystem = true; // as in the file: without this, everything is below a mirrored root
  const content = new Uint8Array(await readFile(file));
  const options = { pluginExtension: ".glb", pluginOptions: { gltf } };
  const container = await LoadAssetContainerAsync(content, scene, options);
  container.addAllToScene();
  const nodes = Object.keys(wanted);
  const meshes = Object.fromEntries(nodes.map((node) => [node, []]));
  for (const mesh of container.meshes) meshes[mesh.name.replace(/_primitive\d+$/, "")]?.push(mesh); // in their order
  for (const node of nodes) meshes[node] = meshes[node].filter((mesh) => mesh.getTotalVertices());
  const groups = container.animationGroups.filter((group) => animations.includes(group.name));
  for (const group of groups) group.start(false).pause();
  const answer = Object.fromEntries(nodes.map((node) => [node, []]));
  for (const time of seconds) {
    for (const group of groups) group.goToFrame(time * RATE);
    for (const node of container.transformNodes) node.computeWorldMatrix(true);
    for (const skeleton of container.skeletons) skeleton.prepare(true);
    for (const node of nodes) {
      const points = meshes[node].map(positions);
      const flat = points.flat();
      const vertices = wanted[node].map((number) => flat.slice(3 * number, 3 * number + 3));
      answer[node].push([vertices, meshes[node].some((mesh, i) => drawn(mesh, points[i]))]);
    }
  }
  console.log(JSON.stringify(answer));
  scene.dispose();
}
