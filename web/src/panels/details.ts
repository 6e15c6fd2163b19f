// Describes the selected node with its world transform, or the file if none is selected.
import { el, replace } from "../dom";
import { baseName, bytesText, counted, offsetText, vectorText } from "../format";
import { selectTrack } from "../selecting";
import type { Store } from "../store";
import type { Transform } from "../stage/transform";
import { keyCount } from "../times";
import type { TrackInfo } from "../types";

const pair = (name: string, value: string): HTMLElement =>
  el("div", { class: "pair" }, el("dt", {}, name), el("dd", { title: value }, value));

/** World position, rotation and scale of the selection at the current frame; it is not read aloud while it changes. */
function worldPanel(store: Store, transformOf: (node: number) => Transform | null): HTMLElement {
  const panel = el("div", { class: "world", id: "world", "aria-live": "off" });
  const draw = (): void => {
    const { info, node, frame } = store.state;
    const transform = node === null ? null : transformOf(node);
    panel.hidden = transform === null;
    if (!transform) return;
    replace(
      panel, el("h3", { title: `In the axes and units of the file: ${info?.space}` }, `World at frame ${Number(frame.toFixed(2))}`),
      el(
        "dl", {}, pair("position", vectorText(transform.position)), pair("rotation XYZ", vectorText(transform.degrees, "°", 1e-4)),
        pair("quaternion", vectorText(transform.xyzw)), pair("scale", vectorText(transform.scale)),
      ),
    );
  };
  store.on(["info", "node", "frame"], draw);
  return panel;
}

export function detailsPanel(store: Store, transformOf: (node: number) => Transform | null): HTMLElement {
  const world = worldPanel(store, transformOf);
  const panel = el("div", { class: "details", id: "details", "aria-live": "polite" });
  const trackButton = (item: TrackInfo, index: number, selectedTrack: number | null): HTMLElement => el(
    "button",
    { type: "button", class: "link", "aria-pressed": String(index === selectedTrack), onclick: () => selectTrack(store, index) },
    `${item.kind}: ${counted(keyCount(item), `${item.interpolation} key`)}${item.wrap === "single" ? "" : `, ${item.wrap}`}`,
  );
  const draw = (): void => {
    const { info, node, track } = store.state;
    if (!info) return;
    const selected = node === null ? undefined : info.nodes[node];
    if (!selected || node === null) {
      const keys = info.tracks.reduce((sum, item) => sum + keyCount(item), 0);
      const raw = info.tracks.map((item, index) => ({ item, index })).filter(({ item }) => item.node === null);
      return replace(
        panel, el("h2", { title: info.name }, baseName(info.name)),
        el(
          "dl", {},
          pair("format", info.format ?? "not recognised"), pair("size", bytesText(info.size)),
          pair("nodes", String(info.nodes.length)), pair("tracks", `${info.tracks.length} with ${counted(keys, "key")}`),
          info.clips.length > 1 ? pair("clips", String(info.clips.length)) : null,
          info.counts ? pair("surface", `${counted(info.counts.vertices, "vertex", "vertices")}, ${counted(info.counts.faces, "face")}`) : null,
          info.counts ? pair("materials", String(info.counts.materials)) : null,
          info.space ? pair("space", info.space) : null,
        ),
        raw.length ? el("h3", {}, "Unknown channels") : null,
        ...raw.map(({ item, index }) => trackButton(item, index, track)),
        el("p", { class: "quiet" }, "Select a node in the tree, in the picture or on the dope sheet."),
      );
    }
    const content = [selected.mesh && "mesh", selected.camera !== null && "camera", selected.light !== null && "light"].filter(Boolean);
    const parent = selected.parent === null ? "none" : (info.nodes[selected.parent]?.name ?? "none");
    return replace(
      panel, el("h2", { title: selected.name }, selected.name),
      el(
        "dl", {},
        pair("kind", selected.kind), pair("parent", parent), pair("content", content.join(", ") || "none"),
        selected.hidden ? pair("hidden", "yes, unless a key shows it") : null,
      ),
      world,
      el("h3", {}, "Tracks"),
      ...info.tracks.flatMap((item, index) => item.node !== node ? [] : trackButton(item, index, track)),
      el("h3", {}, "In the file"),
      ...selected.places.map(({ span, what }) => el(
        "button", { type: "button", class: "link place", onclick: () => store.set({ span, nowhere: "", lower: "bytes", folded: false }) },
        `${offsetText(span[0])}, ${bytesText(span[1] - span[0])}, ${what}`,
      )),
      selected.nowhere ? el("p", { class: "quiet" }, selected.nowhere) : null,
    );
  };
  store.on(["info", "node", "track"], draw);
  return panel;
}
