// Files that the browser saves: the picture, the model, the page.
import { el } from "./dom";
import { baseName } from "./format";
import type { Data } from "./source";
import type { Stage } from "./stage/stage";
import type { Store } from "./store";

export type Saved = "picture" | "model" | "page";

/** The name of a saved file: that of its source with another extension. */
export const savedName = (file: string, ending: string): string =>
  `${baseName(file).replace(/\.[^.]*$/, "") || "scene"}.${ending}`;

export async function save(what: Saved, store: Store, stage: Stage | null, data: Data): Promise<void> {
  const { info, file } = store.state;
  if (!info) return;
  if (what === "picture" && stage) download(await stage.picture(), savedName(info.name, "png"));
  if (what === "model") {
    // the GLB of `keyframer convert`; a page without a server has only that of the picture
    const choice = data.live ? info.saves.find(({ ending }) => ending === ".glb") : undefined;
    const content = await (choice ? data.saved(file, choice.number) : data.model(file));
    download(new Blob([content], { type: "model/gltf-binary" }), savedName(info.name, "glb"));
  }
  if (what === "page") download(new Blob([await data.page(file)], { type: "text/html" }), savedName(info.name, "html"));
}

export function download(content: Blob, name: string): void {
  const link = el("a", { download: name, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may first ask where to save it
}
