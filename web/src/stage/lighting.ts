// The lights: those of a studio, or those of the file (all or a single one) as in our thumbnails.
import { AmbientLight, DirectionalLight, Group, HemisphereLight, Object3D, PointLight, Quaternion, SpotLight, Vector3, type Camera } from "three";
import type { Column, Lamps, Line } from "../types";
import type { Model } from "./model";

/** Lights that a thumbnail adds if those of the file are too weak, with directions relative to the camera. */
const ADDED = [
  { color: [0.68, 0.68, 0.67], from: new Vector3(-0.55, 0.75, 0.75) },
  { color: [0.22, 0.22, 0.24], from: new Vector3(0.85, 0.1, 0.6) },
];
const ADDED_AMBIENT = 0.3;

export class Lighting {
  private readonly studio = new Group();
  private readonly ambient = new AmbientLight();
  private readonly added = ADDED.map(({ color, from }) => ({ light: new DirectionalLight(), color, from }));
  private lamps: Lamps | null = null;
  private model: Model | null = null;

  constructor() {
    const key = new DirectionalLight(0xffffff, 2.2);
    key.position.set(3, 5, 4);
    const back = new DirectionalLight(0xffffff, 0.7);
    back.position.set(-4, 2, -5);
    this.studio.add(new HemisphereLight(0xffffff, 0x667788, 1.4), key, back);
  }

  addTo(scene: Object3D): void {
    scene.add(this.studio, this.ambient, ...this.added.map(({ light }) => light));
    this.choose(null, "studio", null);
  }

  /** Uses the lights of the studio (`studio`), all lights of the file (`file`), or one of them (its number); always those of
 * the studio if `lamps` is null. */
  choose(model: Model | null, choice: string, lamps: Lamps | null): void {
    const studio = choice === "studio" || !lamps;
    const all = choice === "file";
    this.model = model;
    this.lamps = studio ? null : { ...lamps, fill: all ? lamps.fill : 0, gain: all ? lamps.gain : 1 };
    this.studio.visible = studio;
    this.ambient.visible = !studio;
    for (const { light } of this.added) light.visible = !studio;
    model?.setAuthored(!studio);
    model?.lights.forEach(({ light }, index) => {
      light.visible = !studio && (all || choice === String(index));
    });
    if (!this.lamps) return;
    const { ambient, fill, gain } = this.lamps;
    const [red = 0, green = 0, blue = 0] = ambient.map((part) => gain * (part + fill * ADDED_AMBIENT));
    this.ambient.color.setRGB(red, green, blue);
    this.ambient.intensity = Math.PI;
    for (const { light, color } of this.added) {
      light.color.setRGB(color[0] ?? 0, color[1] ?? 0, color[2] ?? 0);
      light.intensity = Math.PI * fill * gain;
    }
  }

  /** Sets the lights of the file to a frame. Colours are not converted, as `authored` materials expect. */
  seek(frame: number): void {
    if (!this.lamps || !this.model) return;
    for (const lamp of this.lamps.lamps) {
      const light = this.model.lightOf(lamp.gltf);
      if (!light) continue;
      const [red, green, blue] = lamp.curves.color ? valueAt(lamp.curves.color, frame) : lamp.color;
      const multiplier = lamp.curves.multiplier ? valueAt(lamp.curves.multiplier, frame)[0] : lamp.multiplier;
      light.color.setRGB(red ?? 0, green ?? 0, blue ?? 0);
      light.intensity = lamp.on ? Math.PI * this.lamps.gain * (multiplier ?? 0) : 0;
      if (light instanceof PointLight || light instanceof SpotLight) {
        const [inner, outer] = lamp.ranges;
        const limited = typeof inner === "number" && typeof outer === "number" && outer > inner;
        light.distance = limited ? outer : 0; // see `authored`: the light fades from the distance `decay` to `distance`
        light.decay = limited ? inner : 0;
      }
    }
  }

  /** Moves the added lights with the camera. */
  face(camera: Camera): void {
    const rotation = camera.getWorldQuaternion(new Quaternion());
    for (const { light, from } of this.added) light.position.copy(from).applyQuaternion(rotation);
  }
}

/** The values at a frame, interpolated linearly; constant before the first and after the last time. */
export function valueAt({ times, values }: Line, frame: number): Column {
  let low = 0;
  let high = times.length - 1;
  if (frame <= (times[low] ?? 0)) return values.map((column) => column[low] ?? null);
  if (frame >= (times[high] ?? 0)) return values.map((column) => column[high] ?? null);
  while (high - low > 1) {
    const half = (low + high) >> 1;
    if ((times[half] ?? 0) <= frame) low = half;
    else high = half;
  }
  const begin = times[low] ?? 0;
  const share = (frame - begin) / ((times[high] ?? 0) - begin || 1);
  return values.map((column) => (column[low] ?? 0) * (1 - share) + (column[high] ?? 0) * share);
}
