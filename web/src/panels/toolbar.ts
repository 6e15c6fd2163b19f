// The toolbar: file, camera, lights, display options and saving.
import { el, fillSelect, setPressed, toggle, type Choice } from "../dom";
import { baseName } from "../format";
import type { Object3D } from "three";
import { openButton, type NamedFile } from "../dropping";
import type { Saved } from "../saving";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import type { FileEntry, Lamps } from "../types";

export interface Toolbar {
  element: HTMLElement;
  /** Lists the cameras and lights of the opened file, and resets the choice. */
  refresh: () => void;
  list: (files: FileEntry[]) => void;
  theme: HTMLButtonElement;
}

export interface Actions {
  show: (file: number) => void;
  /** null if there is no server to open files or write a page */
  open: ((files: Promise<NamedFile[]>) => void) | null;
  save: (what: Saved) => void;
  readLamps: (file: number, clip: number) => Promise<Lamps | null>;
}

/** The last part of each path, or the whole path if several files have the same last part. */
export function fileLabels(files: FileEntry[]): Choice[] {
  const counts = new Map<string, number>();
  for (const { name } of files) counts.set(baseName(name), (counts.get(baseName(name)) ?? 0) + 1);
  return files.map(({ id, name }) => ({ value: String(id), label: counts.get(baseName(name)) === 1 ? baseName(name) : name }));
}

/** A button with a menu. */
function menu(label: string, id: string, items: { id: string; label: string; act: () => void }[]): HTMLElement {
  const close = (): void => {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
  };
  const list = el("div", { class: "menu", role: "menu", "aria-label": label, hidden: true }, ...items.map((item) => el("button", {
    type: "button", role: "menuitem", id: item.id, onclick: () => {
      close();
      button.focus();
      item.act();
    },
  }, item.label)));
  const button = el("button", {
    type: "button", id, "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => {
      list.hidden = !list.hidden;
      button.setAttribute("aria-expanded", String(!list.hidden));
      if (!list.hidden) (list.firstElementChild as HTMLElement).focus();
    },
  }, `${label} ▾`);
  const holder = el("span", { class: "holder" }, button, list);
  holder.addEventListener("focusout", (event) => {
    if (!holder.contains(event.relatedTarget as Node | null)) close();
  });
  holder.addEventListener("keydown", (event) => {
    const buttons = [...list.children] as HTMLElement[];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && !list.hidden) {
      close();
      button.focus();
    } else if (step !== undefined && !list.hidden) {
      buttons[(buttons.indexOf(document.activeElement as HTMLElement) + step + buttons.length) % buttons.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return holder;
}

export function toolbar(store: Store, stage: Stage | null, files: FileEntry[], { show, open, save, readLamps }: Actions): Toolbar {
  const file = el("select", { "aria-label": "File", id: "file", class: "file" });
  fillSelect(file, fileLabels(files), "0");
  file.addEventListener("change", () => show(Number(file.value)));
  const camera = el("select", { "aria-label": "Camera", id: "camera" });
  camera.addEventListener("change", () => stage?.lookThrough(camera.value === "orbit" ? null : Number(camera.value)));
  const lights = el("select", { "aria-label": "Lights", id: "lights" });
  const applyLights = async (): Promise<void> => {
    const { file, clip } = store.state;
    const choice = lights.value;
    const lamps = choice === "studio" ? null : await readLamps(file, clip);
    if (store.state.file === file && store.state.clip === clip && lights.value === choice) stage?.chooseLights(choice, lamps);
  };
  lights.addEventListener("change", () => void applyLights());
  store.on(["clip"], () => void applyLights());
  const wire = toggle("Wire", "Wireframe (W)", false, (on) => stage?.setWireframe(on));
  const edges = toggle("Edges", "Edges marked as visible in the file (E)", false, (on) => void stage?.setEdges(on));
  const bones = toggle("Bones", "Show nodes as sticks (B)", false, (on) => stage?.setBones(on));
  const grid = toggle("Grid", "Grid (G)", true, (on) => stage?.setGrid(on));
  wire.id = "wire";
  edges.id = "edges";
  bones.id = "bones";
  grid.id = "grid";
  const fit = el("button", { type: "button", title: "Fit the view to the scene (A)", onclick: () => stage?.frameAll(), id: "all" }, "Fit");
  const centre = el(
    "button", { type: "button", title: "Centre the selection (F)", onclick: () => stage?.frameSelected(), id: "turn-to" }, "Centre",
  );
  const saving = menu("Save", "save", [
    ...(stage ? [{ id: "save-picture", label: "Picture (PNG)", act: () => save("picture") }] : []),
    { id: "save-model", label: "Model (GLB)", act: () => save("model") },
    ...(open ? [{ id: "save-page", label: "Page (HTML)", act: () => save("page") }] : []),
  ]);
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
    stage?.chooseLights("studio", null);
    setPressed(bones, Boolean(model) && !store.state.info?.has_mesh);
    stage?.setWireframe(wire.getAttribute("aria-pressed") === "true");
  };
  return {
    element: el(
      "header", { class: "toolbar" },
      el("strong", { class: "brand" }, "Keyframer"), file, open ? openButton(open) : null,
      el("span", { class: "gap" }),
      el("label", {}, "View ", camera), el("label", {}, "Light ", lights), wire, edges, bones, grid, fit, centre, saving, theme,
      help,
    ),
    refresh, theme,
    list: (files) => fillSelect(file, fileLabels(files), file.value),
  };
}
