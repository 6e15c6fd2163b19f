import { describe, expect, it } from "vitest";
import { parsePointer, sample } from "../src/stage/pointers";

describe("pointers", () => {
  it("knows what our exporter animates", () => {
    expect(parsePointer("/nodes/7/extensions/KHR_node_visibility/visible")).toEqual({ kind: "visible", node: 7 });
    expect(parsePointer("/cameras/0/perspective/yfov")).toEqual({ kind: "yfov", camera: 0 });
    expect(parsePointer("/extensions/KHR_lights_punctual/lights/2/spot/outerConeAngle")).toEqual({ kind: "outer", light: 2 });
    expect(parsePointer("/nodes/7/__proto__")).toBeNull();
  });
});

describe("samplers", () => {
  it("hold before the first and after the last key", () => {
    const steps = { times: [1, 2], values: [5, 7], width: 1, mode: "STEP" as const };
    expect([0, 1, 1.9, 2, 3].map((time) => sample(steps, time)[0])).toEqual([5, 5, 5, 7, 7]);
  });
  it("interpolate linearly", () => {
    const line = { times: [0, 2], values: [0, 10, 4, 20], width: 2, mode: "LINEAR" as const };
    expect(sample(line, 1)).toEqual([2, 15]);
  });
  it("follow a cubic: t^3 from 0 to 2 has slopes 0 and 12", () => {
    const cubic = { times: [0, 2], values: [0, 0, 0, 12, 8, 0], width: 1, mode: "CUBICSPLINE" as const };
    for (const time of [0, 0.5, 1, 1.7, 2]) expect(sample(cubic, time)[0]).toBeCloseTo(time ** 3, 10);
  });
  it("return nothing without keys", () => {
    expect(sample({ times: [], values: [], width: 1, mode: "LINEAR" }, 0)).toEqual([]);
  });
});
