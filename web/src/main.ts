// Starts the page with the data it carries, or with those of the server it came from.
import "./style.css";
import { start, type App } from "./app";
import { el, replace } from "./dom";
import { Data, liveSource, packedSource } from "./source";

declare global {
  /** For tests and for the curious: what the page holds. */
  var keyframerViewer: App | undefined;
}

const place = document.getElementById("app") as HTMLElement;
const packed = document.getElementById("packed");
try {
  const source = packed ? await packedSource(packed.textContent ?? "") : await liveSource();
  const app = await start(place, new Data(source));
  globalThis.keyframerViewer = app;
  await app.open(0);
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  replace(place, el("p", { class: "fatal", role: "alert" }, error instanceof Error ? error.message : String(error)));
}
