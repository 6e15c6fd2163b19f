// What a visitor sees first on the page that runs Python itself: what it is, how to open files, and how far Python is.
import { el } from "../dom";
import type { Engine } from "../engine";

/** The card; after it is closed, `notice` has the progress. */
export function welcome(engine: Engine, notice: HTMLElement, changed: (started: boolean, failure: string) => void): { element: HTMLElement; close: () => void } {
  const bar = el("progress", { max: 1, value: 0, id: "progress", "aria-label": "Starting" });
  const step = el("span", { id: "step", role: "status" }, "Loading Python…");
  const starting = el("span", { class: "starting" }, bar, step);
  const press = (id: string) => (): void => document.getElementById(id)?.click();
  const close = (): void => {
    notice.append(starting);
    card.remove();
    update();
  };
  const card = el(
    "section", { class: "welcome", id: "welcome", "aria-label": "About this page" },
    el("h1", {}, "Play, check and convert old 3D animations"),
    el("p", {}, "Drop or paste files such as .3ds, .ase, .u3d or .gltf, with their images, a folder or a zip. They stay on your machine: nothing is uploaded."),
    el(
      "div", { class: "buttons" },
      el("button", { type: "button", class: "main", id: "welcome-open", onclick: press("open") }, "Open files…"),
      el("button", { type: "button", id: "welcome-folder", onclick: press("folder") }, "Open a folder…"),
      starting,
    ),
    el("button", { type: "button", class: "close", id: "welcome-close", "aria-label": "Close", title: "Close", onclick: close }, "×"),
  );
  let isReady = false;
  const update = (): void => void (starting.hidden = isReady && !card.isConnected);
  engine.listener = (progress) => {
    const failure = "failed" in progress ? `Python could not be started: ${progress.failed}` : "";
    const part = "part" in progress ? progress.part : 0;
    isReady = part === 1;
    bar.value = part;
    bar.hidden = isReady || failure !== "";
    step.textContent = failure || ("step" in progress && part < 1 ? `${progress.step}…` : "Ready: open a file.");
    update();
    changed(isReady, failure);
  };
  return { element: card, close };
}
