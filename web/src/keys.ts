// Keys that work wherever the focus is, except where somebody types; and the list of them.
import { el } from "./dom";
import { play, stepFrame, stepKey } from "./panels/transport";
import type { Store } from "./store";

interface Shortcut { keys: string[]; words: string; act: () => void }

export function listenToKeys(store: Store): void {
  const press = (id: string) => (): void => document.getElementById(id)?.click();
  const shortcuts: Shortcut[] = [
    { keys: [" "], words: "Play or pause", act: () => play(store) },
    { keys: ["ArrowLeft"], words: "Previous frame", act: () => stepFrame(store, -1) },
    { keys: ["ArrowRight"], words: "Next frame", act: () => stepFrame(store, 1) },
    { keys: [","], words: "Previous key", act: () => stepKey(store, -1) },
    { keys: ["."], words: "Next key", act: () => stepKey(store, 1) },
    { keys: ["Home"], words: "To the start", act: () => stepFrame(store, -1e12) },
    { keys: ["End"], words: "To the end", act: () => stepFrame(store, 1e12) },
    { keys: ["l"], words: "Loop playback", act: press("loop") },
    { keys: ["w"], words: "Wireframe", act: press("wire") },
    { keys: ["e"], words: "Edges marked as visible in the file", act: press("edges") },
    { keys: ["b"], words: "Show nodes as sticks", act: press("bones") },
    { keys: ["g"], words: "Grid", act: press("grid") },
    { keys: ["a"], words: "Show everything", act: press("all") },
    { keys: ["f"], words: "Centre the selection", act: press("turn-to") },
    { keys: ["m"], words: "Show only animated nodes, in tree and dope sheet", act: press("moving") },
    { keys: ["1"], words: "Dope sheet", act: press("tab-dope") },
    { keys: ["2"], words: "Graph", act: press("tab-graph") },
    { keys: ["3"], words: "Bytes", act: press("tab-bytes") },
    { keys: ["o"], words: "Open files", act: press("open") },
    { keys: ["/"], words: "Search the tree", act: () => document.getElementById("search")?.focus() },
    { keys: ["?"], words: "List these keys", act: press("help") },
  ];
  const list = keyList(shortcuts);
  document.body.append(list);
  document.getElementById("help")?.addEventListener("click", () => (list.open ? list.close() : list.showModal()));
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]), select, textarea");
    const pressing = event.key === " " && target.matches("button");
    if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const shortcut = shortcuts.find(({ keys }) => keys.includes(key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.act();
  });
}

const NAMES: Record<string, string> = { " ": "Space", ArrowLeft: "←", ArrowRight: "→" };

function keyList(shortcuts: Shortcut[]): HTMLDialogElement {
  const rows = [
    ...shortcuts.map(({ keys, words }) => [keys.map((key) => NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key)).join(" "), words] as const),
    ["Drag", "Rotate the view"], ["Shift + arrows", "Rotate the view, if it has the focus"],
    ["Wheel, + −", "Zoom in, zoom out"],
  ] as const;
  const close = el("button", { type: "button", id: "help-close", onclick: () => dialog.close() }, "Close");
  const dialog: HTMLDialogElement = el(
    "dialog", { class: "keys-list", id: "keys-list", "aria-label": "Keys" },
    el("h2", {}, "Keys"),
    el("dl", {}, ...rows.map(([key, words]) => el("div", { class: "pair" }, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)))),
    close,
  );
  return dialog;
}
