// Borders between panels, which can be dragged or moved with the arrow keys. The sizes of the panels are stored.
import { el } from "../dom";
import { readSetting, writeSetting } from "../settings";

interface Border {
  name: string;
  label: string;
  vertical: boolean;
  least: number;
  most: number;
  /** 1 if the panel grows when its border moves right or down, -1 if it shrinks */
  grows: 1 | -1;
}

const BORDERS: Border[] = [
  { name: "left", label: "Width of the tree", vertical: true, least: 120, most: 600, grows: 1 },
  { name: "right", label: "Width of the inspector", vertical: true, least: 140, most: 700, grows: -1 },
  { name: "lower", label: "Height of the timeline", vertical: false, least: 120, most: 900, grows: -1 },
];
const STEP = 16;
const NAME = "keyframer_panels";

/** Parses stored sizes. Unknown names are ignored, and sizes are limited to the range of their border. */
export function parseSizes(text: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name, size] = /^([a-z]+):(\d{1,4})$/.exec(part) ?? [];
    const border = BORDERS.find((candidate) => candidate.name === name);
    if (border && size) sizes.set(border.name, Math.min(Math.max(Number(size), border.least), border.most));
  }
  return sizes;
}

export function splitters(container: HTMLElement): HTMLElement[] {
  const sizes = parseSizes(readSetting(NAME));
  const apply = (name: string): void => {
    const size = sizes.get(name);
    if (size === undefined) container.style.removeProperty(`--${name}`);
    else container.style.setProperty(`--${name}`, `${size}px`);
  };
  const store = (): void => writeSetting(NAME, [...sizes].map(([name, size]) => `${name}:${size}`).join(","));
  return BORDERS.map((border) => {
    const { name, label, vertical, least, most, grows } = border;
    const panel = (): DOMRect => (container.querySelector(`.panel.${name}`) ?? container).getBoundingClientRect();
    const bar = el("div", {
      class: `splitter of-${name}`, id: `splitter-${name}`, role: "separator", tabindex: 0, "aria-label": label,
      "aria-orientation": vertical ? "vertical" : "horizontal", "aria-valuemin": least, "aria-valuemax": most,
      title: `${label}: drag, or use the arrow keys; a double click resets it`,
    });
    const updateValue = (): void => bar.setAttribute("aria-valuenow", String(Math.round(vertical ? panel().width : panel().height)));
    const set = (size: number | undefined): void => {
      if (size === undefined) sizes.delete(name);
      else sizes.set(name, Math.round(Math.min(Math.max(size, least), most)));
      apply(name);
      updateValue();
    };
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      event.preventDefault();
      bar.focus();
    });
    bar.addEventListener("pointermove", (event) => {
      if (!bar.hasPointerCapture(event.pointerId)) return;
      const area = panel();
      if (vertical) set(grows === 1 ? event.clientX - area.left : area.right - event.clientX);
      else set(area.bottom - event.clientY);
    });
    bar.addEventListener("pointerup", store);
    bar.addEventListener("dblclick", () => {
      set(undefined);
      store();
    });
    bar.addEventListener("keydown", (event) => {
      const direction = (vertical ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 } as Record<string, number>)[event.key as never];
      if (direction === undefined) return;
      set((vertical ? panel().width : panel().height) + direction * grows * STEP);
      store();
      event.preventDefault();
      event.stopPropagation();
    });
    apply(name);
    requestAnimationFrame(updateValue);
    return bar;
  });
}
