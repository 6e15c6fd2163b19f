// A scrollbar for content that draws itself. It can be dragged, and so can the content with a finger; keys and the mouse wheel
// are handled by the content.
import { el } from "../dom";

const MIN_THUMB = 18;

export interface Scrollbar {
  element: HTMLElement;
  /** Shows the position `top` in content of length `total`, of which `visible` fits on the screen; hidden if all fits. */
  show: (top: number, visible: number, total: number) => void;
}

export function scrollbar(controls: string, moved: (top: number) => void): Scrollbar {
  const thumb = el("div", { class: "thumb" });
  const bar = el("div", {
    class: "scrollbar", role: "scrollbar", "aria-orientation": "vertical", "aria-controls": controls, "aria-valuemin": 0,
    "aria-valuenow": 0, "aria-valuemax": 0, hidden: true,
  }, thumb);
  let maxTop = 0;
  let grabOffset = 0;
  const travel = (): number => Math.max(1, bar.clientHeight - thumb.offsetHeight);
  const follow = (event: PointerEvent): void => {
    const y = event.clientY - bar.getBoundingClientRect().top - grabOffset;
    moved(Math.min(Math.max(y / travel(), 0), 1) * maxTop);
  };
  bar.addEventListener("pointerdown", (event) => {
    const box = thumb.getBoundingClientRect();
    grabOffset = event.target === thumb ? event.clientY - box.top : box.height / 2;
    bar.setPointerCapture(event.pointerId);
    follow(event);
    event.preventDefault();
  });
  bar.addEventListener("pointermove", (event) => bar.hasPointerCapture(event.pointerId) && follow(event));
  const show = (top: number, visible: number, total: number): void => {
    maxTop = Math.max(0, total - visible);
    bar.hidden = maxTop === 0;
    if (bar.hidden) return;
    const height = Math.max(MIN_THUMB, bar.clientHeight * (visible / total));
    thumb.style.height = `${height}px`;
    thumb.style.top = `${(top / maxTop) * Math.max(0, bar.clientHeight - height)}px`;
    bar.setAttribute("aria-valuenow", String(Math.round(top)));
    bar.setAttribute("aria-valuemax", String(Math.round(maxTop)));
  };
  return { element: bar, show };
}

/** Calls `moved` with the distance in pixels while a finger moves up or down on an element, unless it starts above `top`. */
export function dragToScroll(element: HTMLElement, top: number, moved: (pixels: number) => void): void {
  let last: number | null = null;
  element.addEventListener("pointerdown", (event) => (last = event.pointerType === "touch" && event.offsetY > top ? event.clientY : null));
  element.addEventListener("pointermove", (event) => {
    if (last === null || event.pointerType !== "touch") return;
    moved(last - event.clientY);
    last = event.clientY;
  });
}
