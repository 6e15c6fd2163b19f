// A canvas that is redrawn on request and when its size changes, in the resolution of the screen and the colours of the
// page.

export interface Brush {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  color: (name: string) => string;
}

export class Picture {
  readonly canvas = document.createElement("canvas");
  private waiting = false;

  constructor(label: string, private readonly paint: (brush: Brush) => void) {
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", label);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const { clientWidth: width, clientHeight: height } = this.canvas;
      if (!width || !height) return;
      const ratio = devicePixelRatio || 1;
      const [pixelWidth, pixelHeight] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (this.canvas.width !== pixelWidth || this.canvas.height !== pixelHeight) {
        this.canvas.width = pixelWidth;
        this.canvas.height = pixelHeight;
      }
      const context = this.canvas.getContext("2d");
      if (!context) return;
      const style = getComputedStyle(this.canvas);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = `11px ${style.fontFamily}`;
      this.paint({ context, width, height, color: (name) => style.getPropertyValue(`--${name}`).trim() || "#888" });
    });
  }
}

export function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** Truncates text that is wider than `width`. */
export function fitText(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = Math.min(text.length, Math.ceil(width / 4));
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
