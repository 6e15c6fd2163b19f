// Where three.js' BVHLoader has the joints of a file, for tests: a point for each frame, by name, as JSON.
import { readFileSync } from 'node:fs';
import { AnimationMixer, Vector3 } from 'three';
import { BVHLoader } from 'three/examples/jsm/loaders/BVHLoader.js';

const { clip, skeleton } = new BVHLoader().parse(readFileSync(process.argv[2], 'utf8'));
const [root] = skeleton.bones;
const mixer = new AnimationMixer(root);
mixer.clipAction(clip).play();
const found = {};
for (const time of clip.tracks[0].times) {
  mixer.setTime(Math.min(time, clip.duration - 1e-9)); // a clip begins again at its end
  root.updateMatrixWorld(true);
  for (const bone of skeleton.bones) {
    (found[bone.name] ??= []).push(new Vector3().setFromMatrixPosition(bone.matrixWorld).toArray());
  }
}
console.log(JSON.stringify(found));
