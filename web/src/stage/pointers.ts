// Animated properties that the loader does not play: visibility, fields of view, cones of lights (KHR_animation_pointer).
// Samplers are evaluated as glTF defines it.

export interface Sampler {
  times: ArrayLike<number>;
  values: ArrayLike<number>;
  width: number;
  mode: "STEP" | "LINEAR" | "CUBICSPLINE";
}

export type Target =
  | { kind: "visible"; node: number }
  | { kind: "yfov"; camera: number }
  | { kind: "inner" | "outer"; light: number };

const PATTERNS: [RegExp, (index: number) => Target][] = [
  [/^\/nodes\/(\d+)\/extensions\/KHR_node_visibility\/visible$/, (node) => ({ kind: "visible", node })],
  [/^\/cameras\/(\d+)\/perspective\/yfov$/, (camera) => ({ kind: "yfov", camera })],
  [/^\/extensions\/KHR_lights_punctual\/lights\/(\d+)\/spot\/innerConeAngle$/, (light) => ({ kind: "inner", light })],
  [/^\/extensions\/KHR_lights_punctual\/lights\/(\d+)\/spot\/outerConeAngle$/, (light) => ({ kind: "outer", light })],
];

export function parsePointer(pointer: string): Target | null {
  for (const [pattern, make] of PATTERNS) {
    const match = pattern.exec(pointer);
    if (match) return make(Number(match[1]));
  }
  return null;
}

/** The value at a time in seconds; empty without keys. */
export function sample(sampler: Sampler, time: number): number[] {
  const { times, width, mode } = sampler;
  const last = times.length - 1;
  const stride = mode === "CUBICSPLINE" ? 3 * width : width;
  const value = (key: number, part: number, offset: number): number =>
    sampler.values[key * stride + offset * width + part] ?? 0;
  const middle = mode === "CUBICSPLINE" ? 1 : 0;
  const at = (key: number): number[] => Array.from({ length: width }, (_, part) => value(key, part, middle));
  if (last < 0) return [];
  if (time <= (times[0] ?? 0)) return at(0);
  if (time >= (times[last] ?? 0)) return at(last);
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const half = (low + high) >> 1;
    if ((times[half] ?? 0) <= time) low = half;
    else high = half;
  }
  if (mode === "STEP") return at(low);
  const begin = times[low] ?? 0;
  const span = (times[high] ?? 0) - begin;
  const u = span > 0 ? (time - begin) / span : 0;
  if (mode === "LINEAR") return at(low).map((from, part) => from + u * (value(high, part, 0) - from));
  const u2 = u * u;
  const u3 = u2 * u;
  return at(low).map((from, part) =>
    (2 * u3 - 3 * u2 + 1) * from + span * (u3 - 2 * u2 + u) * value(low, part, 2)
    + (3 * u2 - 2 * u3) * value(high, part, 1) + span * (u3 - u2) * value(high, part, 0));
}
