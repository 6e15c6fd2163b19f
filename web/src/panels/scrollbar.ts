// A bar beside something long: which part of it is seen. It can be dragged; keys and the wheel work on the thing itself.
import { el } from "../dom";

const LEAST = 18;

export interface Scrollbar {
  element: HTMLElement;
  /** `top` of `all`, of which `seen` can be seen at once. */
  show: (top: number, seen: number, all: number) => void;
}

export function scrollbar(controls: string, moved: (top: number) => void): Scrollbar {
  const thumb = el("div", { class: "thumb" });
  const bar = el("div", {
    class: "scrollbar", role: "scrollbar", "aria-orientation": "vertical", "aria-controls": controls, "aria-valuemin": 0,
    "aria-valuenow": 0, "aria-valuemax": 0, hidden: true,
  }, thumb);
  let most = 0;
  let held = 0;
  const room = (): number => Math.max(1, bar.clientHeight - thumb.offsetHeight);
  const follow = (event: PointerEvent): void => {
    const y = event.clientY - bar.getBoundingClientRect().top - held;
    moved(Math.min(Math.max(y / room(), 0), 1) * most);
  };
  bar.addEventListener("pointerdown", (event) => {
    const own = thumb.getBoundingClientRect();
    held = event.target === thumb ? event.clientY - own.top : own.height / 2;
    bar.setPointerCapture(event.pointerId);
    follow(event);
    event.preventDefault();
  });
  bar.addEventListener("pointermove", (event) => bar.hasPointerCapture(event.pointerId) && follow(event));
  const show = (top: number, seen: number, all: number): void => {
    most = Math.max(0, all - seen);
    bar.hidden = most === 0;
    if (bar.hidden) return;
    const height = Math.max(LEAST, bar.clientHeight * (seen / all));
    thumb.style.height = `${height}px`;
    thumb.style.top = `${(top / most) * Math.max(0, bar.clientHeight - height)}px`;
    bar.setAttribute("aria-valuenow", String(Math.round(top)));
    bar.setAttribute("aria-valuemax", String(Math.round(most)));
  };
  return { element: bar, show };
}
