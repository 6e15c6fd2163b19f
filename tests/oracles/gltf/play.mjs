// Plays glTF files with three.js' own loader and mixer, without a screen.
// stdin: one JSON line for each file: {file, seconds: [...], animation: its number, 0 if left out}.
// stdout: one JSON line for each: {file, duration, nodes: [names], places: [for each time [for each node [x, y, z]]],
// cameras: {node: [for each time [aim, up]]}}.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { AnimationMixer, LoopOnce, Vector3 } from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

globalThis.self ??= globalThis;
console.warn = () => {}; // extensions that three does not know are none of our business here

for await (const line of createInterface({ input: process.stdin })) {
  if (!line) continue;
  const { file, seconds, animation = 0 } = JSON.parse(line);
  const bytes = await readFile(file);
  const data = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const gltf = await new GLTFLoader().parseAsync(data, "");
  const count = gltf.parser.json.nodes.length;
  const nodes = await Promise.all([...Array(count).keys()].map((index) => gltf.parser.getDependency("node", index)));
  const mixer = new AnimationMixer(gltf.scene);
  let duration = 0;
  let action;
  if (gltf.animations.length) {
    action = mixer.clipAction(gltf.animations[animation]);
    action.setLoop(LoopOnce, 1);
    action.clampWhenFinished = true;
    action.play();
    duration = gltf.animations[animation].duration;
  }
  const place = new Vector3();
  const along = (node, axis, sign) =>
    place.setFromMatrixColumn(node.matrixWorld, axis).normalize().multiplyScalar(sign).toArray();
  const lookers = [...nodes.keys()].filter((index) => gltf.parser.json.nodes[index].camera !== undefined);
  const cameras = Object.fromEntries(lookers.map((index) => [index, []]));
  const places = seconds.map((time) => {
    action?.reset();
    mixer.setTime(time);
    gltf.scene.updateMatrixWorld(true);
    for (const index of lookers) cameras[index].push([along(nodes[index], 2, -1), along(nodes[index], 1, 1)]);
    return nodes.map((node) => place.setFromMatrixPosition(node.matrixWorld).toArray());
  });
  console.log(JSON.stringify({ file, duration, nodes: nodes.map((node) => node.name), places, cameras }));
}
