// Edits a GLB with glTF-Transform: arguments are the file and the edited file. Moves the node "still", adds 5 to the third
// component of all keys of translations, and changes the first material, the camera and the light.
import { NodeIO } from "@gltf-transform/core";
import { ALL_EXTENSIONS } from "@gltf-transform/extensions";

const io = new NodeIO().registerExtensions(ALL_EXTENSIONS);
const [, , file, edited] = process.argv;
const document = await io.read(file);
const root = document.getRoot();
root.listNodes().find((node) => node.getName() === "still").setTranslation([7, 8, 9]);
for (const channel of root.listAnimations().flatMap((animation) => animation.listChannels())) {
  if (channel.getTargetPath() !== "translation") continue;
  const output = channel.getSampler().getOutput();
  output.setArray(output.getArray().map((value, place) => (place % 3 === 2 ? value + 5 : value)));
}
root.listMaterials()[0].setBaseColorFactor([1, 0, 0, 1]);
root.listCameras()[0].setYFov(0.5);
const lamp = root.listNodes().map((node) => node.getExtension("KHR_lights_punctual")).find((light) => light);
lamp.setColor([0, 1, 0]).setIntensity(2 * lamp.getIntensity());
await io.write(edited, document);
