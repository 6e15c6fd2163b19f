// Starts the page with the data inside it, with data from its server, or with Python in a web worker.
import "./style.css";
import { start, type App } from "./app";
import { el, replace } from "./dom";
import { engineSource } from "./engine";
import { Data, liveSource, packedSource } from "./source";

declare global {
  /** The running app, for tests and debugging. */
  var keyframerViewer: App | undefined;
}

const container = document.getElementById("app") as HTMLElement;
const packed = document.getElementById("packed");
try {
  const inPage = document.documentElement.dataset.engine === "python";
  const source = packed ? await packedSource(packed.textContent ?? "") : await (inPage ? engineSource() : liveSource());
  const app = await start(container, new Data(source));
  globalThis.keyframerViewer = app;
  await app.open(app.first);
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  document.documentElement.dataset.state = "error";
  replace(container, el("p", { class: "fatal", role: "alert" }, error instanceof Error ? error.message : String(error)));
}
