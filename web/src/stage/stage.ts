// The 3D view: orbit camera or a camera of the file, the model, sticks, edges, and the selection.
import {
  AxesHelper, Box3, Box3Helper, Color, GridHelper, NeutralToneMapping, PerspectiveCamera, Raycaster, Scene, Sphere, Spherical, Vector2,
  Vector3, WebGLRenderer, type Object3D,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Lamps, SceneInfo } from "../types";
import { Lighting } from "./lighting";
import { Model } from "./model";
import { Skeleton } from "./skeleton";

const STEP = Math.PI / 24;

export interface Colors { background: string; grid: string; line: string; accent: string; bone: string }

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
  /** numbers of the nodes of the scene by their objects in the model */
  private nodeNumbers = new Map<Object3D, number>();
  private marked: Object3D[] = [];
  private extent = new Sphere(new Vector3(), 1);
  private colors: Colors = { background: "#fff", grid: "#ccc", line: "#000", accent: "#06c", bone: "#c60" };
  private waiting = false;
  private frame = 0;
  private edgesWanted = false;
  private gridWanted = true;
  picked: (node: number) => void = () => undefined;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "low-power" });
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
    this.nodeNumbers.clear();
    this.marked = [];
    if (glb) {
      this.model = await Model.load(glb);
      info.nodes.forEach((node, index) => {
        const object = this.model?.nodes[node.gltf];
        if (object) this.nodeNumbers.set(object, index);
      });
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
    this.render(); // browsers clear the canvas after showing it
    return new Promise((done, fail) =>
      this.canvas.toBlob((png) => (png ? done(png) : fail(new Error("The browser could not make a picture."))), "image/png"));
  }

  /** Measures the visible meshes; without meshes, all nodes except cameras, lights and targets. Puts the grid below them. */
  private measure(): void {
    const box = new Box3();
    if (this.model) {
      for (const mesh of this.model.meshes) if (mesh.visible) box.expandByObject(mesh);
      for (const node of this.info?.nodes ?? []) {
        const place = ["camera", "light", "target"].includes(node.kind) ? null : this.model.worldPosition(node.gltf);
        if (place && !this.info?.has_mesh) box.expandByPoint(place);
      }
    }
    const usable = !box.isEmpty() && [...box.min.toArray(), ...box.max.toArray()].every(Number.isFinite);
    this.extent = usable ? box.getBoundingSphere(new Sphere()) : new Sphere(new Vector3(), 1);
    if (!(this.extent.radius > 0)) this.extent.radius = 1;
    this.makeGrid(usable ? box.min.y : 0);
    if (this.grid && !this.model) this.grid.visible = false;
  }

  private makeGrid(height: number): void {
    const shown = this.gridWanted;
    this.grid?.removeFromParent();
    const step = 10 ** Math.floor(Math.log10(this.extent.radius));
    const color = new Color(this.colors.grid);
    this.grid = new GridHelper(step * 40, 40, color, color);
    this.grid.position.set(this.extent.center.x, height, this.extent.center.z);
    this.grid.visible = shown;
    this.scene.add(this.grid);
  }

  frameAll(): void {
    const { center, radius } = this.extent;
    const distance = (radius * 1.15) / Math.sin((this.eye.fov * Math.PI) / 360);
    this.controls.target.copy(center);
    this.eye.position.copy(center).addScaledVector(new Vector3(0.5, 0.38, 0.78).normalize(), distance);
    this.eye.near = distance / 1000;
    this.eye.far = distance * 100;
    this.eye.updateProjectionMatrix();
    this.controls.update();
    this.draw();
  }

  /** Centres the selection; fits the view to the scene if nothing is selected. */
  frameSelected(): void {
    if (this.selected === null || !this.axes.visible) return this.frameAll();
    this.controls.target.copy(this.axes.position);
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
    this.skeleton?.update();
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
    this.draw();
  }

  setBones(on: boolean): void {
    if (this.skeleton) {
      this.skeleton.group.visible = on;
      this.skeleton.update();
    }
    this.draw();
  }

  setGrid(on: boolean): void {
    this.gridWanted = on;
    if (this.grid) this.grid.visible = on;
    this.draw();
  }

  select(node: number | null): void {
    this.selected = node;
    const object = this.selectedObject();
    this.marked = object ? this.ownMeshes(object) : [];
    this.mark();
    this.draw();
  }

  private selectedObject(): Object3D | undefined {
    const gltf = this.selected === null ? undefined : this.info?.nodes[this.selected]?.gltf;
    return gltf === undefined ? undefined : this.model?.nodes[gltf];
  }

  private mark(): void {
    const object = this.selectedObject();
    this.axes.visible = object !== undefined;
    this.box.visible = false;
    if (!object) return;
    this.axes.position.setFromMatrixPosition(object.matrixWorld);
    this.axes.quaternion.setFromRotationMatrix(object.matrixWorld.clone().extractRotation(object.matrixWorld));
    this.axes.scale.setScalar(this.extent.radius * 0.18);
    const box = new Box3();
    for (const mesh of this.marked) box.expandByObject(mesh);
    if (!box.isEmpty()) {
      this.box.box.copy(box);
      this.box.visible = true;
    }
  }

  /** The meshes of a node, without those of its children. */
  private ownMeshes(object: Object3D): Object3D[] {
    return (this.model?.meshes ?? []).filter((mesh) => {
      for (let ancestor: Object3D | null = mesh; ancestor; ancestor = ancestor.parent) {
        if (ancestor === object) return true;
        if (this.nodeNumbers.has(ancestor)) return false;
      }
      return false;
    });
  }

  private pick(event: MouseEvent): void {
    if (!this.model || !this.info) return;
    const area = this.canvas.getBoundingClientRect();
    const at = new Vector2(
      ((event.clientX - area.left) / area.width) * 2 - 1, 1 - ((event.clientY - area.top) / area.height) * 2,
    );
    const ray = new Raycaster();
    ray.setFromCamera(at, this.fileCamera ?? this.eye);
    const hit = ray.intersectObjects(this.model.meshes.filter((mesh) => mesh.visible), false)[0];
    for (let object: Object3D | null = hit?.object ?? null; object; object = object.parent) {
      const node = this.nodeNumbers.get(object);
      if (node !== undefined) return this.picked(node);
    }
  }

  setColors(colors: Colors): void {
    this.colors = colors;
    this.scene.background = new Color(colors.background);
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
