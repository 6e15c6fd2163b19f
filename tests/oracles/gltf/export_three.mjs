// Makes glTF files with three.js' own exporter: argument 1 is the folder. Writes three.glb and three.gltf (data URI).
import { writeFile } from "node:fs/promises";
import * as THREE from "three";
import { GLTFExporter } from "three/addons/exporters/GLTFExporter.js";

globalThis.self ??= globalThis;
globalThis.FileReader ??= class {
  async readAsArrayBuffer(blob) {
    this.result = await blob.arrayBuffer();
    this.onloadend();
  }
  async readAsDataURL(blob) {
    const bytes = Buffer.from(await blob.arrayBuffer());
    this.result = `data:${blob.type || "application/octet-stream"};base64,${bytes.toString("base64")}`;
    this.onloadend();
  }
};

const scene = new THREE.Scene();
const red = new THREE.MeshStandardMaterial({ name: "red", color: 0xff0000, roughness: 0.3, metalness: 0.1 });
const box = new THREE.Mesh(new THREE.BoxGeometry(1, 2, 3), red);
box.name = "box";
box.position.set(1, 2, 3);
const child = new THREE.Mesh(new THREE.SphereGeometry(0.5, 8, 6), new THREE.MeshStandardMaterial({ name: "glass",
  transparent: true, opacity: 0.25, side: THREE.DoubleSide, emissive: 0x202020 }));
child.name = "ball";
child.position.set(0, 3, 0);
child.rotation.set(0.3, 0.2, 0.1);
box.add(child);
scene.add(box);

const morphing = new THREE.BoxGeometry(1, 1, 1);
const wide = morphing.attributes.position.clone();
for (let i = 0; i < wide.count; i += 1) wide.setX(i, wide.getX(i) * 3);
morphing.morphAttributes.position = [wide];
const blob = new THREE.Mesh(morphing, red);
blob.name = "blob";
blob.updateMorphTargets();
blob.morphTargetInfluences[0] = 0.5;
scene.add(blob);

const points = new THREE.Points(new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(1, 1, 1)]));
points.name = "dust";
scene.add(points);

const camera = new THREE.PerspectiveCamera(40, 1.5, 0.1, 100);
camera.name = "eye";
camera.position.set(0, 0, 10);
scene.add(camera);
const lamp = new THREE.SpotLight(0xffffff, 10, 20, 0.5, 0.25);
lamp.name = "lamp";
lamp.target.position.set(0, 0, -1);
lamp.add(lamp.target);
scene.add(lamp);

const bones = [new THREE.Bone(), new THREE.Bone()];
bones[0].name = "hip";
bones[1].name = "knee";
bones[1].position.y = 1;
bones[0].add(bones[1]);
const geometry = new THREE.CylinderGeometry(0.2, 0.2, 2, 6, 4);
const influences = [];
const weights = [];
for (let i = 0; i < geometry.attributes.position.count; i += 1) {
  const share = (geometry.attributes.position.getY(i) + 1) / 2;
  influences.push(0, 1, 0, 0);
  weights.push(1 - share, share, 0, 0);
}
geometry.setAttribute("skinIndex", new THREE.Uint16BufferAttribute(influences, 4));
geometry.setAttribute("skinWeight", new THREE.Float32BufferAttribute(weights, 4));
const leg = new THREE.SkinnedMesh(geometry, red);
leg.name = "leg";
leg.add(bones[0]);
leg.bind(new THREE.Skeleton(bones));
scene.add(leg);

const turn = (x, y, z) => new THREE.Quaternion().setFromEuler(new THREE.Euler(x, y, z)).toArray();
const clip = new THREE.AnimationClip("move", -1, [
  new THREE.VectorKeyframeTrack("box.position", [0, 1, 2.5], [1, 2, 3, 4, 0, 0, -2, 5, 1]),
  new THREE.QuaternionKeyframeTrack("ball.quaternion", [0, 1, 2], [...turn(0, 0, 0), ...turn(1, 2, 0), ...turn(0, 0, 3)]),
  new THREE.VectorKeyframeTrack("ball.scale", [0, 2], [1, 1, 1, 2, 3, 4], THREE.InterpolateDiscrete),
  new THREE.QuaternionKeyframeTrack("knee.quaternion", [0, 2], [...turn(0, 0, 0), ...turn(1.2, 0, 0)]),
  new THREE.NumberKeyframeTrack("blob.morphTargetInfluences[0]", [0, 1, 2], [0, 1, 0.25]),
]);
const exporter = new GLTFExporter();
const options = { animations: [clip], onlyVisible: false };
await writeFile(`${process.argv[2]}/three.glb`, Buffer.from(await exporter.parseAsync(scene, { ...options, binary: true })));
await writeFile(`${process.argv[2]}/three.gltf`, JSON.stringify(await exporter.parseAsync(scene, options)));
