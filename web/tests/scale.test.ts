import { describe, expect, it } from "vitest";
import { fitted, panned, Scale, ticks, zoomed } from "../src/scale";

describe("a window on the frames", () => {
  const scale = new Scale({ from: 10, to: 20 }, 100, 300);
  it("converts both ways", () => expect(scale.frame(scale.x(13.7))).toBeCloseTo(13.7));
  it("begins at its left edge", () => expect(scale.x(10)).toBe(100));
  it("zooms around a fixed frame", () => {
    const near = zoomed({ from: 0, to: 100 }, 25, 0.5);
    expect(near).toEqual({ from: 12.5, to: 62.5 });
  });
  it("has a smallest span", () => expect(zoomed({ from: 0, to: 3 }, 0, 0.01).to).toBe(2));
  it("moves", () => expect(panned({ from: 0, to: 10 }, 5)).toEqual({ from: 5, to: 15 }));
  it("has a margin", () => expect(fitted(0, 100)).toEqual({ from: -3, to: 103 }));
});

describe("ticks", () => {
  it("are at round numbers", () => expect(ticks(0, 100, 10)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]));
  it("are fractions where needed", () => expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]));
  it("are few for any range", () => {
    for (const span of [1e-9, 1, 1e9, Infinity, NaN, 0, -1]) expect(ticks(0, span, 10).length).toBeLessThanOrEqual(200);
  });
});
