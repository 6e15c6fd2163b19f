// Draws nodes as sticks: a point at each node and a line to its parent. The stage first shows them only for scenes without
// meshes.
import {
  BufferAttribute, BufferGeometry, Color, Group, LineBasicMaterial, LineSegments, Points, PointsMaterial, Vector3,
} from "three";
import type { NodeInfo } from "../types";
import type { Model } from "./model";

export class Skeleton {
  readonly group = new Group();
  private readonly lines: LineSegments<BufferGeometry, LineBasicMaterial>;
  private readonly points: Points<BufferGeometry, PointsMaterial>;

  constructor(private readonly nodes: NodeInfo[], private readonly model: Model) {
    const linked = nodes.filter((node) => node.parent !== null).length;
    this.lines = new LineSegments(positions(2 * linked), new LineBasicMaterial({ depthTest: false, toneMapped: false }));
    this.points = new Points(
      positions(nodes.length),
      new PointsMaterial({ size: 5, sizeAttenuation: false, depthTest: false, toneMapped: false }),
    );
    for (const object of [this.lines, this.points]) {
      object.frustumCulled = false;
      object.renderOrder = 1;
      this.group.add(object);
    }
  }

  setColor(color: Color): void {
    this.lines.material.color.copy(color);
    this.points.material.color.copy(color);
  }

  /** Moves points and lines to the nodes, without the hidden ones. */
  update(hidden: ReadonlySet<number>): void {
    if (!this.group.visible) return;
    const lines = this.lines.geometry.getAttribute("position") as BufferAttribute;
    const points = this.points.geometry.getAttribute("position") as BufferAttribute;
    const places = this.nodes.map((node) => this.model.worldPosition(node.gltf) ?? new Vector3());
    let line = 0;
    let point = 0;
    this.nodes.forEach((node, index) => {
      const place = places[index] as Vector3;
      if (hidden.has(index)) return;
      points.setXYZ(point++, place.x, place.y, place.z);
      if (node.parent === null) return;
      const parent = places[node.parent] as Vector3;
      lines.setXYZ(line++, parent.x, parent.y, parent.z);
      lines.setXYZ(line++, place.x, place.y, place.z);
    });
    this.lines.geometry.setDrawRange(0, line);
    this.points.geometry.setDrawRange(0, point);
    lines.needsUpdate = true;
    points.needsUpdate = true;
  }
}

function positions(count: number): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * count), 3));
  return geometry;
}
