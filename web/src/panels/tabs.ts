// A tab bar, and panels of which one is shown.
import { el } from "../dom";

export interface Tab { id: string; label: string; element: HTMLElement; shown?: () => void }

/** `beside` is put at the end of the bar. */
export function tabs(name: string, list: Tab[], chosen: (id: string) => void, beside: HTMLElement | null = null): { element: HTMLElement; show: (id: string) => void } {
  const bar = el("div", { class: "tabs", role: "tablist", "aria-label": name });
  const body = el("div", { class: "tab-body" });
  const buttons = list.map((tab) => el("button", {
    type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": `panel-${tab.id}`, onclick: () => chosen(tab.id),
  }, tab.label));
  list.forEach((tab, index) => {
    bar.append(buttons[index] as HTMLElement);
    body.append(el("div", { role: "tabpanel", id: `panel-${tab.id}`, "aria-labelledby": `tab-${tab.id}` }, tab.element));
  });
  bar.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0 || step === undefined) return;
    const next = (at + step + list.length) % list.length;
    buttons[next]?.focus();
    chosen(list[next]?.id ?? "");
    event.stopPropagation();
    event.preventDefault();
  });
  const show = (id: string): void => {
    list.forEach((tab, index) => {
      const on = tab.id === id;
      buttons[index]?.setAttribute("aria-selected", String(on));
      if (buttons[index]) (buttons[index] as HTMLElement).tabIndex = on ? 0 : -1;
      (body.children[index] as HTMLElement).hidden = !on;
      if (on) tab.shown?.();
    });
  };
  return { element: el("div", { class: "tabbed" }, el("div", { class: "tab-row" }, bar, beside), body), show };
}
