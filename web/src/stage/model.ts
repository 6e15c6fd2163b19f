// The model: the GLB of our exporter, its nodes by number, and its animation at any time.
import {
  AnimationMixer, BufferAttribute, BufferGeometry, Color, Light, Mesh, MeshBasicMaterial, Object3D, PerspectiveCamera,
  SkinnedMesh, SpotLight, Vector3, type AnimationAction, type Material,
} from "three";
import { GLTFLoader, type GLTF, type GLTFParser } from "three/examples/jsm/loaders/GLTFLoader.js";
import { authored, greyIfDefault } from "./authored";
import { asTriangles, edgePairs } from "./edges";
import { flatten, unpackedNumbers, type GltfAnimation, type GltfJson, type Placed } from "./gltf";
import { parsePointer, sample, type Sampler, type Target } from "./pointers";

interface Pointer { target: Target; sampler: Sampler }

export class Model {
  readonly root: Object3D;
  readonly nodes: (Object3D | undefined)[] = [];
  private readonly numbers = new Map<Object3D, number>();
  private readonly named: Map<string | undefined, number>;
  readonly cameras: PerspectiveCamera[] = [];
  readonly lights: { light: Light; number: number }[] = [];
  readonly meshes: Mesh[] = [];
  private readonly mixer: AnimationMixer;
  private action: AnimationAction | null = null;
  private duration = 0;
  private pointers: Pointer[] = [];
  /** functions that restore what pointers have changed */
  private restore: (() => void)[] = [];
  private readonly camerasByNumber = new Map<number, PerspectiveCamera[]>();
  private edgeMeshes: Promise<Mesh[]> | null = null;
  private edgesWanted = false;
  private isAuthored = false;
  private readonly materials = new Set<Material>();
  /** from each material to its authored copy and back; copies are made on first use */
  private readonly copies = new Map<Material, Material>();

  /** whether the file, or a pointer, shows each node; `visible` of its object is false below a hidden node, too */
  private readonly shown: boolean[] = [];

  /** `order` has the nodes with their parents, parents first: in three.js all nodes are children of the root. */
  private constructor(private readonly gltf: GLTF, private readonly json: GltfJson, private readonly order: Placed[]) {
    this.root = gltf.scene;
    this.named = new Map(json.nodes?.map(({ name }, number) => [name, number]));
    this.mixer = new AnimationMixer(this.root);
    this.collect();
  }

  static async load(glb: ArrayBuffer): Promise<Model> {
    let order: Placed[] = [];
    const loader = new GLTFLoader().register(({ json }) => ({ name: "flat", beforeRoot: async () => void (order = flatten(json as GltfJson)) }));
    const gltf = await loader.parseAsync(glb, "");
    const model = new Model(gltf, gltf.parser.json as GltfJson, order);
    await model.choose(0);
    return model;
  }

  /** Switches to a clip and shows its start. Everything that the clip does not animate is as in the file. */
  async choose(clip: number): Promise<void> {
    const name = this.json.scenes?.[this.json.scene ?? 0]?.extras?.keyframer?.clips?.[clip]?.animation;
    const number = this.json.animations?.findIndex((animation) => animation.name === name) ?? -1;
    const pointers: Pointer[] = [];
    for (const animation of this.json.animations ?? []) {
      const isSettings = animation.extras?.keyframer?.settings_of === name;
      if (name !== undefined && (animation.name === name || isSettings)) pointers.push(...await this.readPointers(animation));
    }
    this.mixer.stopAllAction(); // restores what the mixer has changed
    for (const restore of this.restore) restore();
    const animation = number < 0 ? undefined : this.gltf.animations[number];
    this.duration = animation?.duration ?? 0;
    this.action = animation ? this.mixer.clipAction(animation).play() : null;
    this.pointers = pointers;
    this.restore = pointers.map(({ target }) => this.restorer(target));
    this.seek(0);
  }

  private collect(): void {
    this.root.traverse((object) => {
      const indices = this.gltf.parser.associations.get(object) as Record<string, number> | undefined;
      if (indices?.nodes !== undefined && !this.nodes[indices.nodes]) {
        this.nodes[indices.nodes] = object;
        this.numbers.set(object, indices.nodes);
        object.matrixWorldAutoUpdate = false; // see `place`
      }
      if (object instanceof Mesh) {
        this.meshes.push(object);
        for (const material of [object.material].flat()) {
          this.materials.add(material);
          greyIfDefault(material);
          material.polygonOffset = true; // so that edges are drawn in front
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
    for (const entry of this.lights) {
      const node = this.nodeOf(entry.light);
      entry.number = (node === null ? undefined : this.json.nodes?.[node]?.extensions?.KHR_lights_punctual?.light) ?? -1;
    }
    for (const camera of this.cameras) {
      const node = this.nodeOf(camera);
      const number = node === null ? undefined : this.json.nodes?.[node]?.camera;
      if (number !== undefined) this.camerasByNumber.set(number, [...(this.camerasByNumber.get(number) ?? []), camera]);
    }
    this.json.nodes?.forEach((node, index) => {
      this.shown[index] = node.extensions?.KHR_node_visibility?.visible !== false;
    });
  }

  /** Returns a function that restores the current state of the target of a pointer. */
  private restorer(target: Target): () => void {
    if (target.kind === "visible") {
      const shown = this.shown[target.node] ?? true;
      return () => (this.shown[target.node] = shown);
    }
    if (target.kind === "yfov") {
      const cameras = (this.camerasByNumber.get(target.camera) ?? []).map((camera) => ({ camera, fov: camera.fov }));
      return () => cameras.forEach(({ camera, fov }) => (camera.fov = fov));
    }
    const spots = this.lights.flatMap(({ light, number }) => (number === target.light && light instanceof SpotLight ? light : []));
    const before = spots.map(({ angle, penumbra }) => ({ angle, penumbra, userData: {} }));
    return () => spots.forEach((light, index) => Object.assign(light, before[index]));
  }

  private async readPointers(animation: GltfAnimation): Promise<Pointer[]> {
    const parser: GLTFParser = this.gltf.parser;
    const pointers: Pointer[] = [];
    for (const channel of animation.channels) {
      const pointer = channel.target.extensions?.KHR_animation_pointer?.pointer;
      const target = pointer === undefined ? null : parsePointer(pointer);
      const stored = animation.samplers[channel.sampler];
      if (!target || !stored) continue;
      const input = await parser.getDependency("accessor", stored.input) as BufferAttribute;
      const output = await parser.getDependency("accessor", stored.output) as BufferAttribute;
      const mode = (stored.interpolation ?? "LINEAR") as Sampler["mode"];
      pointers.push({
        target,
        sampler: { times: input.array, values: output.array, width: output.itemSize, mode },
      });
    }
    return pointers;
  }

  /** Shows the animation at a time in seconds. */
  seek(exactSeconds: number): void {
    const seconds = Math.fround(exactSeconds); // key times have single precision: a step must happen exactly at its frame
    if (this.action) {
      this.action.time = Math.min(Math.max(seconds, 0), this.duration);
      this.mixer.update(0);
    }
    for (const pointer of this.pointers) this.apply(pointer, seconds);
    this.place();
    this.root.updateMatrixWorld(true);
  }

  /** Puts the nodes where they are in the world, and hides those below hidden ones; `Lighting` decides about lights. */
  private place(): void {
    const seen: boolean[] = [];
    for (const { node, parent } of this.order) {
      const object = this.nodes[node];
      if (!object) continue;
      const above = parent === null ? undefined : this.nodes[parent];
      object.updateMatrix();
      if (above) object.matrixWorld.multiplyMatrices(above.matrixWorld, object.matrix);
      else object.matrixWorld.copy(object.matrix);
      seen[node] = (this.shown[node] ?? true) && (parent === null || (seen[parent] ?? true));
      if (!(object instanceof Light)) object.visible = seen[node];
    }
  }

  private apply({ target, sampler }: Pointer, seconds: number): void {
    const value = sample(sampler, seconds);
    const first = value[0] ?? 0;
    if (target.kind === "visible") {
      this.shown[target.node] = first > 0.5;
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
      if (number === target.light && light instanceof SpotLight) setCone(light, target.kind, first);
    }
  }

  /** The position of a node, in the axes of the model (Y up). */
  worldPosition(node: number): Vector3 | null {
    const object = this.nodes[node];
    return object ? new Vector3().setFromMatrixPosition(object.matrixWorld) : null;
  }

  /** The number of the glTF node that an object is or belongs to; null if there is none. */
  nodeOf(object: Object3D): number | null {
    for (let at: Object3D | null = object; at; at = at.parent) {
      const index = this.numbers.get(at);
      if (index !== undefined) return index;
    }
    return null;
  }

  /** The node of the scene that an object belongs to; the exporter may put a mesh into a helper node, which has no parent if
   * the mesh is skinned. */
  ownerOf(object: Object3D): number | null {
    const node = this.nodeOf(object);
    const name = node === null ? undefined : this.json.nodes?.[node]?.extras?.keyframer?.of;
    return name === undefined ? node : (this.named.get(name) ?? null);
  }

  /** The light of a glTF node. */
  lightOf(node: number): Light | undefined {
    return this.lights.find(({ light }) => this.nodeOf(light) === node)?.light;
  }

  /** Shades materials as authored, or as glTF defines it. */
  setAuthored(on: boolean): void {
    const otherVersion = (material: Material): Material => {
      const known = this.copies.get(material);
      if (known) return known;
      const copy = authored(material);
      this.materials.add(copy);
      this.copies.set(material, copy);
      this.copies.set(copy, material);
      return copy;
    };
    if (on === this.isAuthored) return;
    this.isAuthored = on;
    for (const mesh of this.meshes) {
      mesh.material = Array.isArray(mesh.material) ? mesh.material.map(otherVersion) : otherVersion(mesh.material);
    }
  }

  setWireframe(on: boolean): void {
    for (const material of this.materials) if ("wireframe" in material) material.wireframe = on;
  }

  /** Shows or hides edges, which are made on first use. */
  async setEdges(on: boolean, color: Color): Promise<void> {
    this.edgesWanted = on;
    if (on) this.edgeMeshes ??= this.makeEdges();
    for (const mesh of await this.edgeMeshes ?? []) {
      mesh.visible = this.edgesWanted;
      (mesh.material as MeshBasicMaterial).color.copy(color);
    }
  }

  private async makeEdges(): Promise<Mesh[]> {
    const edges: Mesh[] = [];
    const facesBefore = new Map<number, number>();
    for (const mesh of [...this.meshes]) {
      const indices = this.gltf.parser.associations.get(mesh) as Record<string, number> | undefined;
      const index = mesh.geometry.getIndex();
      if (!index || indices?.meshes === undefined) continue;
      const stored = this.json.meshes?.[indices.meshes];
      const marks = stored?.extras?.keyframer?.edges;
      const first = this.firstFace(indices.meshes, indices.primitives ?? 0, facesBefore);
      const pairs = edgePairs(index.array, marks ? await unpackedNumbers(marks) : null, first);
      const geometry = new BufferGeometry();
      Object.assign(geometry.attributes, mesh.geometry.attributes);
      Object.assign(geometry.morphAttributes, mesh.geometry.morphAttributes);
      geometry.morphTargetsRelative = mesh.geometry.morphTargetsRelative;
      geometry.setIndex(new BufferAttribute(asTriangles(pairs), 1));
      edges.push(overlay(mesh, geometry));
    }
    return edges;
  }

  /** The number of faces in the primitives of a mesh before `primitive`; `facesBefore` caches the results. */
  private firstFace(mesh: number, primitive: number, facesBefore: Map<number, number>): number {
    const key = mesh * 65536 + primitive;
    if (!facesBefore.has(key)) {
      let faces = 0;
      for (const part of (this.json.meshes?.[mesh]?.primitives ?? []).slice(0, primitive)) {
        const accessors = (this.json as { accessors?: { count: number }[] }).accessors;
        faces += (accessors?.[part.indices ?? -1]?.count ?? 0) / 3;
      }
      facesBefore.set(key, faces);
    }
    return facesBefore.get(key) ?? 0;
  }

  dispose(): void {
    this.mixer.stopAllAction();
    for (const mesh of this.meshes) mesh.geometry.dispose();
    void this.edgeMeshes?.then((edges) => edges.forEach((mesh) => mesh.geometry.dispose()));
    for (const material of this.materials) material.dispose();
    this.root.removeFromParent();
  }
}

function setCone(light: SpotLight, kind: "inner" | "outer", value: number): void {
  light.userData[kind] = value;
  if (kind === "outer") light.angle = value;
  const outer = light.angle;
  const inner = (light.userData.inner as number | undefined) ?? outer * (1 - light.penumbra);
  light.userData.inner = inner;
  light.penumbra = outer > 0 ? Math.min(Math.max(1 - inner / outer, 0), 1) : 0;
}

/** A mesh of lines that moves with another mesh, and is skinned and morphed like it. */
function overlay(mesh: Mesh, geometry: BufferGeometry): Mesh {
  const material = new MeshBasicMaterial({ wireframe: true, toneMapped: false });
  let lines: Mesh;
  if (mesh instanceof SkinnedMesh) {
    const skinned = new SkinnedMesh(geometry, material);
    skinned.bind(mesh.skeleton, mesh.bindMatrix);
    skinned.frustumCulled = false;
    lines = skinned;
  } else {
    lines = new Mesh(geometry, material);
  }
  if (mesh.morphTargetInfluences) lines.morphTargetInfluences = mesh.morphTargetInfluences;
  lines.userData.overlay = true;
  mesh.add(lines);
  return lines;
}
