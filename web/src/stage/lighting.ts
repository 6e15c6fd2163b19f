// Whose lights: those of the file, one of them alone, or a studio that shows everything.
import { AmbientLight, DirectionalLight, Group, HemisphereLight, Object3D } from "three";
import type { Model } from "./model";

export class Lighting {
  readonly studio = new Group();
  private readonly fill = new AmbientLight(0xffffff, 0.35);

  constructor() {
    const key = new DirectionalLight(0xffffff, 2.2);
    key.position.set(3, 5, 4);
    const back = new DirectionalLight(0xffffff, 0.7);
    back.position.set(-4, 2, -5);
    this.studio.add(new HemisphereLight(0xffffff, 0x667788, 1.4), key, back);
  }

  addTo(scene: Object3D): void {
    scene.add(this.studio, this.fill);
  }

  /** `studio`, `file`, or the number of a light of the model. */
  choose(model: Model | null, choice: string): void {
    this.studio.visible = choice === "studio";
    this.fill.visible = choice !== "studio";
    model?.lights.forEach(({ light }, index) => {
      light.visible = choice === "file" || choice === String(index);
    });
  }
}
