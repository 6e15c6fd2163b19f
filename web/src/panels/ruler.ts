// Shared by dope sheet and graph: ruler, playhead, zooming and panning in time, and scrubbing on the ruler.
import { panned, Scale, ticks, zoomed } from "../scale";
import type { Store } from "../store";
import type { Timing } from "../types";
import { line, type Brush } from "./canvas";
import { short } from "../format";

export const RULER = 20;

/** Draws the ruler; frames of the motion that are not played are grey. */
export function drawRuler({ context, width, height, color }: Brush, scale: Scale, timing: Timing | null | undefined): void {
  context.fillStyle = color("panel-2");
  context.fillRect(scale.left, 0, width - scale.left, RULER);
  context.fillStyle = color("line");
  for (const [from, to] of timing ? [[timing.first, timing.start], [timing.end, timing.last]] as const : []) {
    const left = Math.max(scale.x(from), scale.left);
    if (to > from) context.fillRect(left, 0, Math.max(scale.x(to) - left, 0), height);
  }
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const tick of ticks(scale.window.from, scale.window.to, (scale.right - scale.left) / 70)) {
    const x = Math.round(scale.x(tick)) + 0.5;
    if (x < scale.left) continue;
    context.strokeStyle = color("line");
    line(context, x, RULER, x, height);
    context.fillStyle = color("quiet");
    context.fillText(short(tick), x, RULER / 2 + 1);
  }
}

export function drawPlayhead({ context, height, color }: Brush, scale: Scale, frame: number): void {
  const x = Math.round(scale.x(frame)) + 0.5;
  if (x < scale.left) return;
  context.strokeStyle = context.fillStyle = color("playhead");
  context.lineWidth = 1.5;
  line(context, x, 0, x, height);
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x - 5, 0);
  context.lineTo(x + 5, 0);
  context.lineTo(x, 8);
  context.fill();
}

/** Zooms with Ctrl + wheel or + and -, pans with Shift + wheel or Shift + arrows, scrubs by dragging on the ruler. */
export function listenToTime(canvas: HTMLCanvasElement, store: Store, scale: () => Scale): void {
  canvas.addEventListener("wheel", (event) => {
    const timeScale = scale();
    if (event.ctrlKey || event.metaKey) {
      store.set({ window: zoomed(store.state.window, timeScale.frame(event.offsetX), 1.2 ** (event.deltaY / 100)) });
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      store.set({ window: panned(store.state.window, (event.deltaX || event.deltaY) * timeScale.perPixel) });
    } else return;
    event.preventDefault();
  }, { passive: false });
  let scrubbing = false;
  const seek = (event: PointerEvent): void => {
    const timing = store.state.info?.timing;
    const frame = scale().frame(event.offsetX);
    if (timing) store.set({ frame: Math.min(Math.max(frame, timing.first), timing.last), playing: false });
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.offsetY > RULER || event.offsetX < scale().left) return;
    scrubbing = true;
    canvas.setPointerCapture(event.pointerId);
    seek(event);
  });
  canvas.addEventListener("pointermove", (event) => scrubbing && seek(event));
  canvas.addEventListener("pointerup", () => (scrubbing = false));
  canvas.addEventListener("keydown", (event) => {
    const { from, to } = store.state.window;
    const middle = (from + to) / 2;
    const step = event.shiftKey ? { ArrowLeft: -0.1, ArrowRight: 0.1 }[event.key] : undefined;
    if (step !== undefined) store.set({ window: panned(store.state.window, step * (to - from)) });
    else if (event.key === "+" || event.key === "=") store.set({ window: zoomed(store.state.window, middle, 0.8) });
    else if (event.key === "-") store.set({ window: zoomed(store.state.window, middle, 1.25) });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
