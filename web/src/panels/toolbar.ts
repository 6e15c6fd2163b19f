// The toolbar: file, camera, lights, display options and saving.
import { el, fillSelect, setPressed, toggle } from "../dom";
import type { Object3D } from "three";
import { openButtons, type NamedFile } from "../dropping";
import type { Saved } from "../saving";
import type { Stage } from "../stage/stage";
import type { Store } from "../store";
import { filePicker } from "./files";
import type { FileEntry, Lamps } from "../types";

export interface Toolbar {
  element: HTMLElement;
  /** Lists the cameras and lights of the opened file, and resets the choice. */
  refresh: () => void;
  /** Sets the files to choose from. */
  list: (files: FileEntry[]) => void;
  theme: HTMLButtonElement;
}

export interface Actions {
  show: (file: number) => void;
  /** Shows the next or previous file. */
  step: (direction: 1 | -1) => void;
  /** null if files cannot be opened, nor saved in other formats */
  open: ((files: Promise<NamedFile[]>) => void) | null;
  save: (what: Saved) => void;
  saveAs: () => void;
  readLamps: (file: number, clip: number) => Promise<Lamps | null>;
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
      if (!list.hidden) choices()[0]?.focus();
    },
  }, `${label} ▾`);
  const choices = (): HTMLElement[] => [...list.querySelectorAll<HTMLElement>(":enabled")];
  const holder = el("span", { class: "holder" }, button, list);
  holder.addEventListener("focusout", (event) => {
    if (!holder.contains(event.relatedTarget as Node | null)) close();
  });
  holder.addEventListener("keydown", (event) => {
    const buttons = choices();
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

export function toolbar(store: Store, stage: Stage | null, { show, step, open, save, saveAs, readLamps }: Actions): Toolbar {
  const files = filePicker(show, step);
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
  const orbit = (): void => {
    camera.value = "orbit";
    stage?.lookThrough(null);
  };
  const framing = (label: string, title: string, id: string, frame: () => void): HTMLElement => el("button", {
    type: "button", title, id, onclick: () => {
      orbit();
      frame();
    },
  }, label);
  const fit = framing("Fit", "Fit the view to the scene (A)", "all", () => stage?.frameAll());
  const zoom = framing("Zoom", "Zoom to the selection (F)", "zoom", () => stage?.frameSelected());
  const saving = menu("Save", "save", [
    { id: "save-model", label: "Save as GLB", act: () => save("model") },
    ...(open ? [{ id: "save-as", label: "Other formats, text, table…", act: saveAs }] : []),
    ...(stage ? [{ id: "save-picture", label: "Picture (PNG)", act: () => save("picture") }] : []),
    ...(open ? [{ id: "save-page", label: "Page (HTML)", act: () => save("page") }] : []),
  ]);
  const theme = el("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark", id: "theme" }, "◐");
  const help = el("button", { type: "button", title: "Keyboard (?)", "aria-label": "Keyboard", id: "help" }, "?");
  const refresh = (): void => {
    const model = stage?.model;
    saving.querySelector("#save-model")?.toggleAttribute("disabled", !store.state.info?.model);
    const names = new Map(store.state.info?.nodes.map((node) => [node.gltf, node.name]));
    const nameOf = (object: Object3D): string => names.get(model?.nodeOf(object) ?? -1) ?? object.name;
    const verdict = store.state.info?.verdict ?? "";
    files.show(store.state.file, ["damaged", "not readable"].includes(verdict) ? verdict : "");
    fillSelect(camera, [
      { value: "orbit", label: "Orbit" },
      ...(model?.cameras ?? []).map((camera, index) => ({ value: String(index), label: nameOf(camera) })),
    ], "orbit");
    orbit();
    fillSelect(lights, [
      { value: "studio", label: "Studio light" },
      ...(model?.lights.length ? [{ value: "file", label: "The file's lights" }] : []),
      ...(model?.lights ?? []).map(({ light }, index) => ({ value: String(index), label: `Only ${nameOf(light)}` })),
    ], "studio");
    stage?.chooseLights("studio", null);
    setPressed(bones, Boolean(model) && !store.state.info?.has_mesh);
    stage?.setWireframe(wire.getAttribute("aria-pressed") === "true");
  };
  return {
    element: el(
      "header", { class: "toolbar" },
      el("strong", { class: "brand" }, "Keyframer"), files.element, open ? openButtons(open) : null,
      el("span", { class: "gap" }),
      el(
        "div", { class: "display", role: "group", "aria-label": "Display" },
        el("label", {}, "View ", camera), el("label", {}, "Light ", lights), wire, edges, bones, grid, fit, zoom,
      ),
      saving, theme, help,
    ),
    refresh, theme, list: files.list,
  };
}
