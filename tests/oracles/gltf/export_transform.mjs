// Makes glTF files with glTF-Transform: argument 1 is the folder. Writes transform.glb and transform.gltf + its .bin,
// with a sparse accessor, normalised weights and colours, cubic keys, and lights. Given a second argument, reads that
// GLB and writes it again as rewritten.glb.
import { Document, NodeIO } from "@gltf-transform/core";
import { ALL_EXTENSIONS, KHRLightsPunctual } from "@gltf-transform/extensions";

const io = new NodeIO().registerExtensions(ALL_EXTENSIONS);
const [, , folder, other] = process.argv;
if (other) {
  await io.write(`${folder}/rewritten.glb`, await io.read(other));
  process.exit(0);
}
const document = new Document();
const buffer = document.createBuffer();
const accessor = (type, array) => document.createAccessor().setType(type).setArray(array).setBuffer(buffer);
const positions = accessor("VEC3", new Float32Array([0, 0, 0, 2, 0, 0, 0, 3, 0, 2, 3, 0]));
const colors = accessor("VEC4", new Uint8Array([255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255])).setNormalized(true);
const moved = new Float32Array(12);
moved[11] = 5;
const target = document.createPrimitiveTarget().setAttribute("POSITION", accessor("VEC3", moved).setSparse(true));
const material = document.createMaterial("paint").setBaseColorFactor([0.5, 0.25, 1, 0.5]).setAlphaMode("BLEND").setDoubleSided(true);
const strip = document.createPrimitive().setMode(5).setMaterial(material).setAttribute("POSITION", positions)
  .setAttribute("COLOR_0", colors).addTarget(target);
const mesh = document.createMesh("sheet").addPrimitive(strip).setWeights([0.5]);
const node = document.createNode("sheet").setMesh(mesh).setTranslation([1, 2, 3]);
const lights = document.createExtension(KHRLightsPunctual);
const lamp = document.createNode("lamp").setTranslation([0, 5, 0])
  .setExtension("KHR_lights_punctual", lights.createLight("lamp").setType("point").setIntensity(3).setRange(7));
const eye = document.createNode("eye").setCamera(document.createCamera("eye").setType("perspective").setYFov(0.8).setAspectRatio(2));
document.createScene("all").addChild(node).addChild(lamp).addChild(eye);
const cubic = (type, values) => accessor(type, new Float32Array(values));
const times = accessor("SCALAR", new Float32Array([0, 1, 3]));
const animate = (target, path, type, values) => {
  const sampler = document.createAnimationSampler().setInterpolation("CUBICSPLINE").setInput(times).setOutput(cubic(type, values));
  return [sampler, document.createAnimationChannel().setTargetNode(target).setTargetPath(path).setSampler(sampler)];
};
const animation = document.createAnimation("wave");
for (const [sampler, channel] of [
  animate(node, "translation", "VEC3", [0, 0, 0, 1, 2, 3, 1, 0, 2, 0, 1, 0, 4, 0, 1, 0, -1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0]),
  animate(node, "rotation", "VEC4", [0, 0, 0, 0, 0, 0, 0, 1, 0.2, 0, 0, 0, 0, 0.1, 0, 0, 0, 0.6, 0, 0.8, 0, 0.1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
]) {
  animation.addSampler(sampler).addChannel(channel);
}
await io.write(`${folder}/transform.glb`, document);
await io.write(`${folder}/transform.gltf`, document);
