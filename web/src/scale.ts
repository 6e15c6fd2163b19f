// The time axis: converts between frames and pixels, zooms, pans, and places ticks at round numbers.

export interface Window { from: number; to: number }

export class Scale {
  constructor(readonly window: Window, readonly left: number, readonly right: number) {}

  get perPixel(): number {
    return (this.window.to - this.window.from) / Math.max(1, this.right - this.left);
  }

  x(frame: number): number {
    return this.left + (frame - this.window.from) / this.perPixel;
  }

  frame(x: number): number {
    return this.window.from + (x - this.left) * this.perPixel;
  }
}

/** Scales a window by a factor, but not below `minSpan` frames; `fixedFrame` keeps its place in the window. */
export function zoomed(window: Window, fixedFrame: number, factor: number, minSpan = 2): Window {
  const span = Math.max(minSpan, (window.to - window.from) * factor);
  const share = (fixedFrame - window.from) / (window.to - window.from || 1);
  return { from: fixedFrame - share * span, to: fixedFrame + (1 - share) * span };
}

export function panned(window: Window, frames: number): Window {
  return { from: window.from + frames, to: window.to + frames };
}

/** The whole range with a margin on both sides. */
export function fitted(first: number, last: number): Window {
  const margin = Math.max(1, (last - first) * 0.03);
  return { from: first - margin, to: last + margin };
}

/** Round numbers inside a range, about `count` of them; none if the range is empty or not finite. */
export function ticks(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0) || !Number.isFinite(span)) return [];
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  const values: number[] = [];
  for (let index = Math.ceil(from / step); index * step <= to && values.length < 200; index++) {
    values.push(Number((index * step).toPrecision(12)));
  }
  return values;
}
