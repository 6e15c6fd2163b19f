// Starts the page with the data inside it, or with data from its server.
import "./style.css";
import { start, type App } from "./app";
import { el, replace } from "./dom";
import { Data, liveSource, packedSource } from "./source";

declare global {
  /** The running app, for tests and debugging. */
  var keyframerViewer: App | undefined;
}

const container = document.getElementById("app") as HTMLElement;
const packed = document.getElementById("packed");
try {
  const source = packed ? await packedSource(packed.textContent ?? "") : await liveSource();
  const app = await start(container, new Data(source));
  globalThis.keyframerViewer = app;
  await app.open(0);
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  replace(container, el("p", { class: "fatal", role: "alert" }, error instanceof Error ? error.message : String(error)));
}
