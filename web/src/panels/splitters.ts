// Borders between panels that can be dragged, or moved by keys; where they stand is remembered.
import { el } from "../dom";

interface Border { name: string; label: string; upright: boolean; least: number; most: number; grows: 1 | -1 }

const BORDERS: Border[] = [
  { name: "left", label: "Width of the tree", upright: true, least: 120, most: 600, grows: 1 },
  { name: "right", label: "Width of the inspector", upright: true, least: 140, most: 700, grows: -1 },
  { name: "lower", label: "Height of the timeline", upright: false, least: 120, most: 900, grows: -1 },
];
const STEP = 16;
const NAME = "keyframer_panels";

/** The sizes in a text that was remembered: nothing but whole numbers that make sense. */
export function parseSizes(text: string): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name, size] = /^([a-z]+):(\d{1,4})$/.exec(part) ?? [];
    const border = BORDERS.find((each) => each.name === name);
    if (border && size) sizes.set(border.name, Math.min(Math.max(Number(size), border.least), border.most));
  }
  return sizes;
}

/** In a cookie, because every run has another port and storage belongs to one port; a page in a file has no cookies. */
const memory = {
  read(): string {
    try {
      if (location.protocol === "file:") return localStorage.getItem(NAME) ?? "";
      return document.cookie.split("; ").find((each) => each.startsWith(`${NAME}=`))?.slice(NAME.length + 1) ?? "";
    } catch {
      return ""; // a frame in a notebook may keep nothing
    }
  },
  write(text: string): void {
    try {
      if (location.protocol === "file:") localStorage.setItem(NAME, text);
      else document.cookie = `${NAME}=${text}; Path=/; Max-Age=31536000; SameSite=Strict`;
    } catch {
      // then it is forgotten
    }
  },
};

export function splitters(place: HTMLElement): HTMLElement[] {
  const sizes = parseSizes(memory.read());
  const apply = (name: string): void => {
    const size = sizes.get(name);
    if (size === undefined) place.style.removeProperty(`--${name}`);
    else place.style.setProperty(`--${name}`, `${size}px`);
  };
  const keep = (): void => memory.write([...sizes].map(([name, size]) => `${name}:${size}`).join(","));
  return BORDERS.map((border) => {
    const { name, label, upright, least, most, grows } = border;
    const panel = (): DOMRect => (place.querySelector(`.panel.${name}`) ?? place).getBoundingClientRect();
    const bar = el("div", {
      class: `splitter of-${name}`, id: `splitter-${name}`, role: "separator", tabindex: 0, "aria-label": label,
      "aria-orientation": upright ? "vertical" : "horizontal", "aria-valuemin": least, "aria-valuemax": most,
      title: `${label}: drag, or use the arrow keys; a double click resets it`,
    });
    const tell = (): void => bar.setAttribute("aria-valuenow", String(Math.round(upright ? panel().width : panel().height)));
    const set = (size: number | undefined): void => {
      if (size === undefined) sizes.delete(name);
      else sizes.set(name, Math.round(Math.min(Math.max(size, least), most)));
      apply(name);
      tell();
    };
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      event.preventDefault();
      bar.focus();
    });
    bar.addEventListener("pointermove", (event) => {
      if (!bar.hasPointerCapture(event.pointerId)) return;
      const area = panel();
      if (upright) set(grows === 1 ? event.clientX - area.left : area.right - event.clientX);
      else set(area.bottom - event.clientY);
    });
    bar.addEventListener("pointerup", keep);
    bar.addEventListener("dblclick", () => {
      set(undefined);
      keep();
    });
    bar.addEventListener("keydown", (event) => {
      const way = (upright ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 } as Record<string, number>)[event.key as never];
      if (way === undefined) return;
      set((upright ? panel().width : panel().height) + way * grows * STEP);
      keep();
      event.preventDefault();
      event.stopPropagation();
    });
    apply(name);
    requestAnimationFrame(tell);
    return bar;
  });
}
