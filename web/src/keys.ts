// Keyboard shortcuts of the page, and the dialog that lists them. Input fields and focused panels handle some keys
// themselves.
import { el } from "./dom";
import { play, stepFrame, stepKey } from "./panels/transport";
import type { Store } from "./store";

interface Shortcut { keys: string[]; description: string; act: () => void }

export function listenToKeys(store: Store): void {
  const press = (id: string) => (): void => document.getElementById(id)?.click();
  const shortcuts: Shortcut[] = [
    { keys: [" "], description: "Play or pause", act: () => play(store) },
    { keys: ["ArrowLeft"], description: "Previous frame", act: () => stepFrame(store, -1) },
    { keys: ["ArrowRight"], description: "Next frame", act: () => stepFrame(store, 1) },
    { keys: [","], description: "Previous key", act: () => stepKey(store, -1) },
    { keys: ["."], description: "Next key", act: () => stepKey(store, 1) },
    { keys: ["Home"], description: "To the start", act: () => stepFrame(store, -1e12) },
    { keys: ["End"], description: "To the end", act: () => stepFrame(store, 1e12) },
    { keys: ["l"], description: "Loop playback", act: press("loop") },
    { keys: ["w"], description: "Wireframe", act: press("wire") },
    { keys: ["e"], description: "Edges marked as visible in the file", act: press("edges") },
    { keys: ["b"], description: "Show nodes as sticks", act: press("bones") },
    { keys: ["g"], description: "Grid", act: press("grid") },
    { keys: ["a"], description: "Fit the view to the scene", act: press("all") },
    { keys: ["f"], description: "Zoom to the selection", act: press("zoom") },
    { keys: ["h"], description: "Hide or show the selection", act: press("hide") },
    { keys: ["i"], description: "Isolate: show only the selection", act: press("isolate") },
    { keys: ["s"], description: "Show all hidden nodes", act: press("show-all") },
    { keys: ["m"], description: "Show only animated nodes, in tree and dope sheet", act: press("moving") },
    { keys: ["1"], description: "Dope sheet", act: press("tab-dope") },
    { keys: ["2"], description: "Graph", act: press("tab-graph") },
    { keys: ["3"], description: "Bytes", act: press("tab-bytes") },
    { keys: ["t"], description: "Open or close the timeline", act: press("fold") },
    { keys: ["o"], description: "Open files", act: press("open") },
    { keys: ["n"], description: "Next file", act: press("next-file") },
    { keys: ["p"], description: "Previous file", act: press("previous-file") },
    { keys: ["j"], description: "Choose a file from the list", act: press("file") },
    { keys: ["/"], description: "Search the tree", act: () => document.getElementById("search")?.focus() },
    { keys: ["?"], description: "List these keys", act: press("help") },
  ];
  const list = keyList(shortcuts);
  document.body.append(list);
  document.getElementById("help")?.addEventListener("click", () => {
    if (list.open) return list.close();
    list.showModal();
    list.scrollTop = 0; // the focus is on the button at its end
  });
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const dialog = document.querySelector("dialog[open]"); // it handles its own keys
    if (dialog && !(dialog === list && event.key === "?")) return;
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
    ...shortcuts.map(({ keys, description }) => [keys.map((key) => NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key)).join(" "), description] as const),
    ["↑ ↓", "In the tree, the dope sheet and lists: another row"],
    ["Shift + arrows", "Rotate the view, if it has the focus; or drag"],
    ["+ −", "Zoom in, zoom out; or use the wheel"],
    ["Esc", "Close a list or a sheet"],
  ] as const;
  const close = el("button", { type: "button", id: "help-close", onclick: () => dialog.close() }, "Close");
  const dialog: HTMLDialogElement = el(
    "dialog", { class: "keys-list", id: "keys-list", "aria-label": "Keyboard" },
    el("h2", {}, "Keyboard"),
    el("dl", {}, ...rows.map(([key, description]) => el("div", { class: "pair" }, el("dt", {}, el("kbd", {}, key)), el("dd", {}, description)))),
    close,
  );
  return dialog;
}
