// The model: our exporter's GLB, its nodes by number, its animation at any time.
import {
  AnimationMixer, BufferAttribute, BufferGeometry, Color, Light, Mesh, MeshBasicMaterial, Object3D, PerspectiveCamera,
  SkinnedMesh, SpotLight, Vector3, type AnimationAction, type Material,
} from "three";
import { GLTFLoader, type GLTF, type GLTFParser } from "three/examples/jsm/loaders/GLTFLoader.js";
import { asTriangles, edgePairs } from "./edges";
import { unpackedNumbers, type GltfJson } from "./gltf";
import { parsePointer, sample, type Sampler, type Target } from "./pointers";

interface Pointer { target: Target; sampler: Sampler }

export class Model {
  readonly root: Object3D;
  readonly nodes: (Object3D | undefined)[] = [];
  private readonly numbers = new Map<Object3D, number>();
  readonly cameras: PerspectiveCamera[] = [];
  readonly lights: { light: Light; number: number }[] = [];
  readonly meshes: Mesh[] = [];
  private readonly mixer: AnimationMixer;
  private readonly action: AnimationAction | null;
  private readonly duration: number;
  private readonly pointers: Pointer[] = [];
  private readonly camerasByNumber = new Map<number, PerspectiveCamera[]>();
  private edgeMeshes: Promise<Mesh[]> | null = null;
  private edgesWanted = false;
  private readonly materials = new Set<Material>();

  private constructor(private readonly gltf: GLTF, private readonly json: GltfJson) {
    this.root = gltf.scene;
    this.mixer = new AnimationMixer(this.root);
    const clip = gltf.animations[0];
    this.duration = clip?.duration ?? 0;
    this.action = clip ? this.mixer.clipAction(clip) : null;
    this.action?.play();
    this.collect();
  }

  static async load(glb: ArrayBuffer): Promise<Model> {
    const gltf = await new GLTFLoader().parseAsync(glb, "");
    const model = new Model(gltf, gltf.parser.json as GltfJson);
    await model.readPointers(gltf.parser);
    model.seek(0);
    return model;
  }

  private collect(): void {
    this.root.traverse((object) => {
      const known = this.gltf.parser.associations.get(object) as Record<string, number> | undefined;
      if (known?.nodes !== undefined && !this.nodes[known.nodes]) {
        this.nodes[known.nodes] = object;
        this.numbers.set(object, known.nodes);
      }
      if (object instanceof Mesh) {
        this.meshes.push(object);
        for (const material of [object.material].flat()) {
          this.materials.add(material);
          material.polygonOffset = true; // behind its own edges
          material.polygonOffsetFactor = material.polygonOffsetUnits = 1;
        }
        object.frustumCulled = !(object instanceof SkinnedMesh);
      }
      if (object instanceof PerspectiveCamera) {
        this.cameras.push(object);
      }
      if (object instanceof Light) {
        this.lights.push({ light: object, number: -1 });
      }
    });
    for (const each of this.lights) {
      const node = this.nodeOf(each.light);
      each.number = (node === null ? undefined : this.json.nodes?.[node]?.extensions?.KHR_lights_punctual?.light) ?? -1;
    }
    for (const camera of this.cameras) {
      const node = this.nodeOf(camera);
      const number = node === null ? undefined : this.json.nodes?.[node]?.camera;
      if (number !== undefined) this.camerasByNumber.set(number, [...(this.camerasByNumber.get(number) ?? []), camera]);
    }
    this.json.nodes?.forEach((node, index) => {
      const shown = node.extensions?.KHR_node_visibility?.visible;
      const object = this.nodes[index];
      if (shown === false && object) object.visible = false;
    });
  }

  private async readPointers(parser: GLTFParser): Promise<void> {
    const animation = this.json.animations?.[0];
    for (const channel of animation?.channels ?? []) {
      const pointer = channel.target.extensions?.KHR_animation_pointer?.pointer;
      const target = pointer === undefined ? null : parsePointer(pointer);
      const stored = animation?.samplers[channel.sampler];
      if (!target || !stored) continue;
      const input = await parser.getDependency("accessor", stored.input) as BufferAttribute;
      const output = await parser.getDependency("accessor", stored.output) as BufferAttribute;
      const mode = (stored.interpolation ?? "LINEAR") as Sampler["mode"];
      this.pointers.push({
        target,
        sampler: { times: input.array, values: output.array, width: output.itemSize, mode },
      });
    }
  }

  /** Put everything where it is at a time, in seconds of the animation. */
  seek(exact: number): void {
    const seconds = Math.fround(exact); // key times are stored so: a step at a frame must be met at that frame
    if (this.action) {
      this.action.time = Math.min(Math.max(seconds, 0), this.duration);
      this.mixer.update(0);
    }
    for (const pointer of this.pointers) this.apply(pointer, seconds);
    this.root.updateMatrixWorld(true);
  }

  private apply({ target, sampler }: Pointer, seconds: number): void {
    const value = sample(sampler, seconds);
    const first = value[0] ?? 0;
    if (target.kind === "visible") {
      const object = this.nodes[target.node];
      if (object) object.visible = first > 0.5;
      return;
    }
    if (target.kind === "yfov") {
      for (const camera of this.camerasByNumber.get(target.camera) ?? []) {
        camera.fov = (first * 180) / Math.PI;
        camera.updateProjectionMatrix();
      }
      return;
    }
    for (const { light, number } of this.lights) {
      if (number === target.light) setLight(light, target.kind, value);
    }
  }

  /** Where a node is, in the model's own axes (Y up). */
  worldPosition(node: number): Vector3 | null {
    const object = this.nodes[node];
    return object ? new Vector3().setFromMatrixPosition(object.matrixWorld) : null;
  }

  /** The number of the glTF node that an object is, or hangs in. */
  nodeOf(object: Object3D): number | null {
    for (let at: Object3D | null = object; at; at = at.parent) {
      const index = this.numbers.get(at);
      if (index !== undefined) return index;
    }
    return null;
  }

  setWireframe(on: boolean): void {
    for (const material of this.materials) if ("wireframe" in material) material.wireframe = on;
  }

  /** Lines over the faces; made when first wanted. */
  async setEdges(on: boolean, color: Color): Promise<void> {
    this.edgesWanted = on;
    if (on) this.edgeMeshes ??= this.makeEdges();
    for (const mesh of await this.edgeMeshes ?? []) {
      mesh.visible = this.edgesWanted;
      (mesh.material as MeshBasicMaterial).color.copy(color);
    }
  }

  private async makeEdges(): Promise<Mesh[]> {
    const made: Mesh[] = [];
    const facesBefore = new Map<number, number>();
    for (const mesh of [...this.meshes]) {
      const known = this.gltf.parser.associations.get(mesh) as Record<string, number> | undefined;
      const index = mesh.geometry.getIndex();
      if (!index || known?.meshes === undefined) continue;
      const stored = this.json.meshes?.[known.meshes];
      const marks = stored?.extras?.keyframer?.edges;
      const first = this.firstFace(known.meshes, known.primitives ?? 0, facesBefore);
      const pairs = edgePairs(index.array, marks ? await unpackedNumbers(marks) : null, first);
      const geometry = new BufferGeometry();
      Object.assign(geometry.attributes, mesh.geometry.attributes);
      Object.assign(geometry.morphAttributes, mesh.geometry.morphAttributes);
      geometry.morphTargetsRelative = mesh.geometry.morphTargetsRelative;
      geometry.setIndex(new BufferAttribute(asTriangles(pairs), 1));
      made.push(overlay(mesh, geometry));
    }
    return made;
  }

  private firstFace(mesh: number, primitive: number, known: Map<number, number>): number {
    const key = mesh * 65536 + primitive;
    if (!known.has(key)) {
      let faces = 0;
      for (const part of (this.json.meshes?.[mesh]?.primitives ?? []).slice(0, primitive)) {
        const accessors = (this.json as { accessors?: { count: number }[] }).accessors;
        faces += (accessors?.[part.indices ?? -1]?.count ?? 0) / 3;
      }
      known.set(key, faces);
    }
    return known.get(key) ?? 0;
  }

  dispose(): void {
    this.mixer.stopAllAction();
    for (const mesh of this.meshes) mesh.geometry.dispose();
    void this.edgeMeshes?.then((made) => made.forEach((mesh) => mesh.geometry.dispose()));
    for (const material of this.materials) material.dispose();
    this.root.removeFromParent();
  }
}

function setLight(light: Light, kind: "color" | "intensity" | "inner" | "outer", value: number[]): void {
  const first = value[0] ?? 0;
  if (kind === "color") light.color.setRGB(first, value[1] ?? 0, value[2] ?? 0);
  else if (kind === "intensity") light.intensity = first;
  else if (light instanceof SpotLight) {
    light.userData[kind] = first;
    if (kind === "outer") light.angle = first;
    const outer = light.angle;
    const inner = (light.userData.inner as number | undefined) ?? outer * (1 - light.penumbra);
    light.userData.inner = inner;
    light.penumbra = outer > 0 ? Math.min(Math.max(1 - inner / outer, 0), 1) : 0;
  }
}

/** A mesh of lines that moves, bends and morphs with another. */
function overlay(mesh: Mesh, geometry: BufferGeometry): Mesh {
  const material = new MeshBasicMaterial({ wireframe: true, toneMapped: false });
  let made: Mesh;
  if (mesh instanceof SkinnedMesh) {
    const skinned = new SkinnedMesh(geometry, material);
    skinned.bind(mesh.skeleton, mesh.bindMatrix);
    skinned.frustumCulled = false;
    made = skinned;
  } else {
    made = new Mesh(geometry, material);
  }
  if (mesh.morphTargetInfluences) made.morphTargetInfluences = mesh.morphTargetInfluences;
  made.userData.overlay = true;
  mesh.add(made);
  return made;
}
