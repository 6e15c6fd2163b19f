import { Color, DoubleSide, FrontSide, MeshPhongMaterial, MeshStandardMaterial, type MeshStandardMaterialParameters } from "three";
import { describe, expect, it } from "vitest";
import { authored, greyIfDefault, shininess } from "../src/stage/authored";

function shown(values: MeshStandardMaterialParameters, keyframer: object = {}): MeshPhongMaterial {
  const material = new MeshStandardMaterial(values);
  material.userData = { keyframer };
  greyIfDefault(material);
  return authored(material) as MeshPhongMaterial;
}

describe("authored materials", () => {
  it("keep their sides", () => {
    expect(shown({ side: FrontSide }).side).toBe(FrontSide);
    expect(shown({ side: DoubleSide }).side).toBe(DoubleSide);
  });
  it("are white if the file says so, and grey without a material", () => {
    expect(shown({ color: 0xffffff }).color.getHex()).toBe(0xffffff);
    expect(shown({ color: 0xffffff }, { helper: "default" }).color.getHex()).toBe(0xb3b5bd);
  });
  it("are not black, unless they glow", () => {
    expect(shown({ color: 0x000000 }).color.getHex()).toBe(0x1f1f1f);
    expect(shown({ color: 0x000000, emissive: new Color(1, 0, 0) }).color.getHex()).toBe(0x000000);
  });
  it("have the shininess that their roughness was computed from", () => {
    const roughness = 1 - (1 - Math.sqrt(2 / (2 ** 5 + 2))) * 0.8; // shininess 0.5, strength 0.8
    expect(shininess(roughness, { shininess_strength: 0.8 })).toBeCloseTo(0.5);
    expect(shininess(1, { shininess_strength: 0, shininess: 0.7 })).toBe(0.7);
  });
});
