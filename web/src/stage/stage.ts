// The 3D view: orbit camera or a camera of the file, the model, sticks, edges, and the selection.
import {
  AxesHelper, Box3, Box3Helper, Color, GridHelper, NeutralToneMapping, PerspectiveCamera, Raycaster, Scene, SkinnedMesh, Sphere,
  Spherical, Vector2, Vector3, WebGLRenderer, type Mesh, type Object3D,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { subtree } from "../selecting";
import type { Lamps, SceneInfo } from "../types";
import { Lighting } from "./lighting";
import { Model } from "./model";
import { Skeleton } from "./skeleton";
import { transformInFile, type Transform } from "./transform";

const STEP = Math.PI / 24;
const HIDDEN_LAYER = 1; // no camera shows it, and no ray hits it

export interface Colors { background: string; line: string; accent: string; bone: string }

export class Stage {
  model: Model | null = null;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly eye = new PerspectiveCamera(40, 1, 0.1, 1000);
  private readonly controls: OrbitControls;
  private readonly lighting = new Lighting();
  private readonly axes = new AxesHelper(1);
  private readonly box = new Box3Helper(new Box3());
  private grid: GridHelper | null = null;
  private skeleton: Skeleton | null = null;
  private fileCamera: PerspectiveCamera | null = null;
  private info: SceneInfo | null = null;
  private selected: number | null = null;
  /** the node of the scene that each mesh of the model belongs to */
  private readonly owners = new Map<Mesh, number>();
  private hidden: ReadonlySet<number> = new Set();
  private extent = new Sphere(new Vector3(), 1);
  private colors: Colors = { background: "#fff", line: "#000", accent: "#06c", bone: "#c60" };
  private waiting = false;
  private frame = 0;
  private edgesWanted = false;
  private gridWanted = true;
  picked: (node: number) => void = () => undefined;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, alpha: true, antialias: true, powerPreference: "low-power" });
    this.renderer.toneMapping = NeutralToneMapping;
    this.controls = new OrbitControls(this.eye, canvas);
    this.controls.addEventListener("change", () => this.draw());
    canvas.addEventListener("keydown", (event) => this.steer(event));
    this.lighting.addTo(this.scene);
    this.axes.visible = this.box.visible = false;
    this.axes.renderOrder = 2;
    this.scene.add(this.axes, this.box);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement ?? canvas);
    canvas.addEventListener("webglcontextrestored", () => this.resize()); // a static picture would not be redrawn otherwise
    let pressed = [0, 0];
    canvas.addEventListener("pointerdown", (event) => (pressed = [event.clientX, event.clientY]));
    canvas.addEventListener("click", (event) => {
      if (Math.hypot(event.clientX - (pressed[0] ?? 0), event.clientY - (pressed[1] ?? 0)) < 4) this.pick(event);
    });
  }

  async show(info: SceneInfo, glb: ArrayBuffer | null): Promise<void> {
    this.model?.dispose();
    this.skeleton?.group.removeFromParent();
    this.model = null;
    this.skeleton = null;
    this.info = info;
    this.fileCamera = null;
    this.selected = null;
    this.owners.clear();
    this.hidden = new Set();
    if (glb) {
      this.model = await Model.load(glb);
      const nodes = new Map(info.nodes.map((node, index) => [node.gltf, index]));
      for (const mesh of this.model.meshes) {
        const owner = nodes.get(this.model.ownerOf(mesh) ?? -1);
        if (owner !== undefined) this.owners.set(mesh, owner);
      }
      this.skeleton = new Skeleton(info.nodes, this.model);
      this.skeleton.group.visible = !info.has_mesh;
      this.skeleton.setColor(new Color(this.colors.bone));
      this.scene.add(this.model.root, this.skeleton.group);
      await this.setEdges(this.edgesWanted);
    }
    this.measure();
    this.frameAll();
    this.mark();
  }

  async chooseClip(clip: number): Promise<void> {
    await this.model?.choose(clip);
    this.measure();
    this.mark();
    this.draw();
  }

  /** The current picture as a PNG file. */
  picture(): Promise<Blob> {
    this.scene.background = new Color(this.colors.background); // in the page the canvas is transparent: see .view in style.css
    this.render(); // browsers clear the canvas after showing it
    this.scene.background = null;
    this.draw();
    return new Promise((done, fail) =>
      this.canvas.toBlob((png) => (png ? done(png) : fail(new Error("The browser could not make a picture."))), "image/png"));
  }

  /** Measures the scene and puts the grid below it. */
  private measure(): void {
    const box = this.boxOf(() => true);
    this.extent = box?.getBoundingSphere(new Sphere()) ?? new Sphere(new Vector3(), 1);
    if (!(this.extent.radius > 0)) this.extent.radius = 1;
    this.makeGrid(box?.min.y ?? 0);
    if (this.grid && !this.model) this.grid.visible = false;
  }

  /** The box around the visible meshes of some nodes; without meshes, around the positions of the nodes, if possible without
   * cameras, lights and targets. Null if there is nothing. */
  private boxOf(includes: (node: number) => boolean): Box3 | null {
    const { model, info } = this;
    if (!model || !info) return null;
    const box = new Box3();
    for (const [mesh, owner] of this.owners) if (includes(owner) && isShown(mesh)) expandBy(box, mesh, true);
    if (box.isEmpty()) {
      const chosen = info.nodes.filter((_, index) => includes(index));
      const solid = chosen.filter(({ kind }) => !["camera", "light", "target"].includes(kind));
      for (const { gltf } of solid.length ? solid : chosen) box.expandByPoint(model.worldPosition(gltf) ?? new Vector3());
    }
    return !box.isEmpty() && [...box.min.toArray(), ...box.max.toArray()].every(Number.isFinite) ? box : null;
  }

  private makeGrid(height: number): void {
    const shown = this.gridWanted;
    this.grid?.removeFromParent();
    const step = 10 ** Math.floor(Math.log10(this.extent.radius));
    const color = new Color(this.colors.line);
    this.grid = new GridHelper(step * 40, 40, color, color);
    // almost transparent, so that the outline of the canvas does not thicken its lines
    Object.assign(this.grid.material, { transparent: true, opacity: 0.08, depthWrite: false });
    this.grid.position.set(this.extent.center.x, height, this.extent.center.z);
    this.grid.visible = shown;
    this.scene.add(this.grid);
  }

  /** Fits the view to everything that the user has not hidden, seen from the front, right and above. */
  frameAll(): void {
    const shown = this.hidden.size ? this.boxOf((node) => !this.hidden.has(node)) : null;
    this.frameSphere(shown?.getBoundingSphere(new Sphere()) ?? this.extent, new Vector3(0.5, 0.38, 0.78));
  }

  /** Fits the view to the selection and its descendants, from the current direction; to everything if nothing is selected. */
  frameSelected(): void {
    const { selected, info } = this;
    if (selected === null || !info) return this.frameAll();
    const family = subtree(info.nodes, selected);
    const sphere = this.boxOf((node) => family.has(node))?.getBoundingSphere(new Sphere()) ?? this.extent.clone();
    sphere.radius = Math.max(sphere.radius, this.extent.radius * 0.01); // a single point, for example a lamp
    this.frameSphere(sphere, this.eye.position.clone().sub(this.controls.target));
  }

  private frameSphere({ center, radius }: Sphere, direction: Vector3): void {
    const half = (this.eye.fov * Math.PI) / 360; // half of the smaller angle of view
    const distance = (radius * 1.15) / Math.sin(Math.atan(Math.tan(half) * Math.min(1, this.eye.aspect)));
    this.controls.target.copy(center);
    this.eye.position.copy(center).addScaledVector(direction.normalize(), distance);
    this.eye.near = distance / 1000;
    this.eye.far = Math.max(distance, this.extent.radius) * 100;
    this.eye.updateProjectionMatrix();
    this.controls.update();
    this.draw();
  }

  /** Rotates the orbit camera with Shift + arrows, zooms with + and -. */
  private steer(event: KeyboardEvent): void {
    const turn = event.shiftKey ? { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] : undefined;
    const zoom = { "+": 0.87, "=": 0.87, "-": 1.15 }[event.key];
    if (this.fileCamera || (!turn && !zoom)) return;
    const { target } = this.controls;
    const place = new Spherical().setFromVector3(this.eye.position.clone().sub(target));
    place.theta += (turn?.[0] ?? 0) * STEP;
    place.phi += (turn?.[1] ?? 0) * STEP;
    place.radius *= zoom ?? 1;
    this.eye.position.copy(target).add(new Vector3().setFromSpherical(place.makeSafe()));
    this.controls.update();
    this.draw();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Shows a time of the clip, given in seconds of the animation and in frames. */
  seek(seconds: number, frame: number): void {
    this.frame = frame;
    this.model?.seek(seconds);
    this.lighting.seek(frame);
    this.skeleton?.update(this.hidden);
    this.mark();
    this.draw();
  }

  lookThrough(camera: number | null): void {
    this.fileCamera = camera === null ? null : (this.model?.cameras[camera] ?? null);
    this.controls.enabled = this.fileCamera === null;
    this.draw();
  }

  /** Uses the lights of the studio (`studio`), all lights of the file (`file`), or one of them (its number). */
  chooseLights(choice: string, lamps: Lamps | null): void {
    this.lighting.choose(this.model, choice, lamps);
    this.lighting.seek(this.frame);
    this.draw();
  }

  setWireframe(on: boolean): void {
    this.model?.setWireframe(on);
    this.draw();
  }

  async setEdges(on: boolean): Promise<void> {
    this.edgesWanted = on;
    await this.model?.setEdges(on, new Color(this.colors.line));
    this.setHidden(this.hidden); // edges may be new
  }

  setBones(on: boolean): void {
    if (this.skeleton) {
      this.skeleton.group.visible = on;
      this.skeleton.update(this.hidden);
    }
    this.draw();
  }

  setGrid(on: boolean): void {
    this.gridWanted = on;
    if (this.grid) this.grid.visible = on;
    this.draw();
  }

  /** Hides the meshes and sticks of these nodes. Lights stay on, and children are hidden only if they are listed, too. */
  setHidden(hidden: ReadonlySet<number>): void {
    this.hidden = hidden;
    for (const [mesh, owner] of this.owners) {
      const layer = hidden.has(owner) ? HIDDEN_LAYER : 0; // not `visible`, which the animation sets, and which children inherit
      mesh.layers.set(layer);
      for (const child of mesh.children) if (child.userData.overlay) child.layers.set(layer);
    }
    this.skeleton?.update(hidden);
    this.draw();
  }

  select(node: number | null): void {
    this.selected = node;
    this.mark();
    this.draw();
  }

  /** The world transform of a node at the shown time, in the axes of the file. */
  transformOf(node: number): Transform | null {
    const { axes, nodes } = this.info ?? {};
    const object = this.model?.nodes[nodes?.[node]?.gltf ?? -1];
    return object && axes ? transformInFile(object.matrixWorld, axes) : null;
  }

  private mark(): void {
    const { selected } = this;
    const object = selected === null ? undefined : this.model?.nodes[this.info?.nodes[selected]?.gltf ?? -1];
    this.axes.visible = object !== undefined;
    this.box.visible = false;
    if (!object) return;
    this.axes.position.setFromMatrixPosition(object.matrixWorld);
    this.axes.quaternion.setFromRotationMatrix(object.matrixWorld.clone().extractRotation(object.matrixWorld));
    this.axes.scale.setScalar(this.extent.radius * 0.18);
    const box = new Box3();
    for (const [mesh, owner] of this.owners) if (owner === selected) expandBy(box, mesh);
    if (!box.isEmpty()) {
      this.box.box.copy(box);
      this.box.visible = true;
    }
  }

  private pick(event: MouseEvent): void {
    if (!this.model || !this.info) return;
    const area = this.canvas.getBoundingClientRect();
    const at = new Vector2(
      ((event.clientX - area.left) / area.width) * 2 - 1, 1 - ((event.clientY - area.top) / area.height) * 2,
    );
    const ray = new Raycaster();
    ray.setFromCamera(at, this.fileCamera ?? this.eye);
    const hit = ray.intersectObjects([...this.owners.keys()].filter(isShown), false)[0];
    const node = this.owners.get(hit?.object as Mesh);
    if (node !== undefined) this.picked(node);
  }

  setColors(colors: Colors): void {
    this.colors = colors;
    (this.box.material as unknown as { color: Color }).color.set(colors.accent);
    this.skeleton?.setColor(new Color(colors.bone));
    if (this.grid) this.makeGrid(this.grid.position.y);
    void this.setEdges(this.edgesWanted);
  }

  resize(): void {
    const area = this.canvas.parentElement?.getBoundingClientRect();
    if (!area?.width || !area.height) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(area.width, area.height, false);
    this.eye.aspect = area.width / area.height;
    this.draw();
  }

  /** Draws once in the next animation frame, however often this is called. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  private render(): void {
    const camera = this.fileCamera ?? this.eye;
    const size = this.renderer.getSize(new Vector2());
    camera.aspect = size.x / Math.max(1, size.y);
    if (this.fileCamera) {
      camera.near = this.extent.radius / 500;
      camera.far = this.extent.radius * 200;
    }
    camera.updateProjectionMatrix();
    this.lighting.face(camera);
    this.renderer.render(this.scene, camera);
  }
}

/** Whether neither an object nor one of its ancestors is hidden by the file. */
function isShown(object: Object3D): boolean {
  for (let at: Object3D | null = object; at; at = at.parent) if (!at.visible) return false;
  return true;
}

/** Extends a box by a mesh without its children. The box of a skinned mesh is that of its first pose, unless `now`. */
function expandBy(box: Box3, mesh: Mesh, now = false): void {
  const source = mesh instanceof SkinnedMesh ? mesh : mesh.geometry;
  if (!source.boundingBox || (now && mesh instanceof SkinnedMesh)) source.computeBoundingBox();
  if (source.boundingBox) box.union(source.boundingBox.clone().applyMatrix4(mesh.matrixWorld));
}
