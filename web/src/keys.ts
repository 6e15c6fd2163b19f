// Keys that work wherever the focus is, except where somebody types.
import { play, stepFrame, stepKey } from "./panels/transport";
import type { Store } from "./store";

export function listenToKeys(store: Store): void {
  const press = (id: string) => (): void => document.getElementById(id)?.click();
  const acts: Record<string, () => void> = {
    " ": () => play(store),
    ArrowRight: () => stepFrame(store, 1),
    ArrowLeft: () => stepFrame(store, -1),
    ".": () => stepKey(store, 1),
    ",": () => stepKey(store, -1),
    Home: () => stepFrame(store, -1e12),
    End: () => stepFrame(store, 1e12),
    l: press("loop"), w: press("wire"), e: press("edges"), b: press("bones"), g: press("grid"), a: press("all"),
    f: press("turn-to"),
    "1": press("tab-dope"), "2": press("tab-graph"), "3": press("tab-bytes"),
    "/": () => document.getElementById("search")?.focus(),
  };
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=range]), select, textarea");
    const pressing = event.key === " " && target.matches("button");
    if (typing || pressing || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
