// What a visitor sees first on the page that runs Python itself: what it is, how to open files, and how far Python is.
import { el } from "../dom";
import { fileInput, type NamedFile } from "../dropping";
import type { Engine } from "../engine";

export function welcome(engine: Engine, open: (files: Promise<NamedFile[]>) => void, changed: (started: boolean, failure: string) => void): HTMLElement {
  const bar = el("progress", { max: 1, value: 0, id: "progress", "aria-label": "Starting" });
  const step = el("span", { id: "step", role: "status" }, "Loading Python…");
  const folder = fileInput("open-folder", open, true);
  const card = el(
    "section", { class: "welcome", id: "welcome", "aria-label": "About this page" },
    el("button", { type: "button", class: "close", id: "welcome-close", "aria-label": "Close", title: "Close", onclick: () => card.remove() }, "×"),
    el("h1", {}, "Play, check and convert old 3D animations"),
    el("p", {}, "Drop or paste files such as .3ds, .ase, .u3d or .gltf, with their images, a folder or a zip. They stay on your machine: nothing is uploaded."),
    el(
      "div", { class: "buttons" },
      el("button", { type: "button", class: "main", id: "welcome-open", onclick: () => document.getElementById("open")?.click() }, "Open files…"),
      el("button", { type: "button", id: "welcome-folder", onclick: () => folder.click() }, "Open a folder…"),
      folder, el("span", { class: "starting" }, bar, step),
    ),
  );
  engine.listener = (progress) => {
    const failure = "failed" in progress ? `Python could not be started: ${progress.failed}` : "";
    const part = "part" in progress ? progress.part : 0;
    bar.value = part;
    bar.hidden = part === 1 || failure !== "";
    step.textContent = failure || ("step" in progress && part < 1 ? `${progress.step}…` : "Ready: open a file.");
    changed(part === 1, failure);
  };
  return card;
}
