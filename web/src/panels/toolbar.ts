// The upper bar: which file, through which camera, in which light, drawn how.
import { el, fillSelect, setPressed, toggle, type Choice } from "../dom";
import { baseName } from "../format";
import type { Object3D } from "three";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import type { FileEntry } from "../types";

export interface Toolbar { element: HTMLElement; refresh: () => void; theme: HTMLButtonElement }

/** The last part of each path; the whole path where two files share that. */
export function fileLabels(files: FileEntry[]): Choice[] {
  const counts = new Map<string, number>();
  for (const { name } of files) counts.set(baseName(name), (counts.get(baseName(name)) ?? 0) + 1);
  return files.map(({ id, name }) => ({ value: String(id), label: counts.get(baseName(name)) === 1 ? baseName(name) : name }));
}

export function toolbar(store: Store, stage: Stage | null, files: FileEntry[], open: (file: number) => void): Toolbar {
  const file = el("select", { "aria-label": "File", id: "file", class: "file" });
  fillSelect(file, fileLabels(files), "0");
  file.addEventListener("change", () => open(Number(file.value)));
  const camera = el("select", { "aria-label": "Camera", id: "camera" });
  camera.addEventListener("change", () => stage?.lookThrough(camera.value === "orbit" ? null : Number(camera.value)));
  const lights = el("select", { "aria-label": "Lights", id: "lights" });
  lights.addEventListener("change", () => stage?.chooseLights(lights.value));
  const wire = toggle("Wire", "Wireframe (W)", false, (on) => stage?.setWireframe(on));
  const edges = toggle("Edges", "Edges as the file marks them (E)", false, (on) => void stage?.setEdges(on));
  const bones = toggle("Bones", "Nodes as sticks (B)", false, (on) => stage?.setBones(on));
  const grid = toggle("Grid", "Grid (G)", true, (on) => stage?.setGrid(on));
  wire.id = "wire";
  edges.id = "edges";
  bones.id = "bones";
  grid.id = "grid";
  const frame = el("button", { type: "button", title: "Show everything (A)", onclick: () => stage?.frameAll(), id: "all" }, "Fit");
  const selected = el(
    "button", { type: "button", title: "Turn to what is selected (F)", onclick: () => stage?.frameSelected(), id: "turn-to" }, "Turn to",
  );
  const theme = el("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark", id: "theme" }, "◐");
  const help = el("button", { type: "button", title: "Keys (?)", "aria-label": "Keys", id: "help" }, "?");
  const refresh = (): void => {
    const model = stage?.model;
    const names = new Map(store.state.info?.nodes.map((node) => [node.gltf, node.name]));
    const nameOf = (object: Object3D): string => names.get(model?.nodeOf(object) ?? -1) ?? object.name;
    file.value = String(store.state.file);
    fillSelect(camera, [
      { value: "orbit", label: "Orbit" },
      ...(model?.cameras ?? []).map((camera, index) => ({ value: String(index), label: nameOf(camera) })),
    ], "orbit");
    fillSelect(lights, [
      { value: "studio", label: "Studio light" },
      ...(model?.lights.length ? [{ value: "file", label: "The file's lights" }] : []),
      ...(model?.lights ?? []).map(({ light }, index) => ({ value: String(index), label: `Only ${nameOf(light)}` })),
    ], "studio");
    stage?.lookThrough(null);
    stage?.chooseLights("studio");
    setPressed(bones, Boolean(model) && !store.state.info?.has_mesh);
    stage?.setWireframe(wire.getAttribute("aria-pressed") === "true");
  };
  return {
    element: el(
      "header", { class: "toolbar" },
      el("strong", { class: "brand" }, "Keyframer"), file,
      el("span", { class: "gap" }),
      el("label", {}, "View ", camera), el("label", {}, "Light ", lights), wire, edges, bones, grid, frame, selected, theme,
      help,
    ),
    refresh, theme,
  };
}
