// World transforms as `keyframer sample` lists them: position, rotation and scale in the axes and units of the file.
import { Euler, MathUtils, Matrix4, Quaternion, Vector3 } from "three";
import type { AxesInfo } from "../types";

export interface Transform {
  position: number[];
  /** rotations about the fixed axes X, then Y, then Z, in degrees: "XYZ Euler" of Blender */
  degrees: number[];
  /** quaternion with w >= 0 */
  xyzw: number[];
  scale: number[];
}

const matrixOf = (rows: number[][]): Matrix4 => new Matrix4().fromArray(rows.flat()).transpose();

/** The transform in the file of a node with this world matrix in the model. */
export function transformInFile(world: Matrix4, { to_file, mirror }: AxesInfo): Transform {
  return decomposed(matrixOf(to_file).multiply(world).multiply(matrixOf(mirror)));
}

/** Like `decompose` in maths/affine.py: the axes are made orthogonal in the order x, y, z; a mirrored matrix gets a negative
 * x scale; an axis without length gets scale 0 and a direction that completes the frame. */
export function decomposed(matrix: Matrix4): Transform {
  const column = (index: number): Vector3 => new Vector3().setFromMatrixColumn(matrix, index);
  const [a, b, c] = [column(0), column(1), column(2)];
  const x = firstDirection(a, b.clone().cross(c), perpendicular(b), perpendicular(c), new Vector3(1, 0, 0));
  const acrossX = b.clone().addScaledVector(x, -b.dot(x));
  if (acrossX.length() <= 1e-12 * b.length()) acrossX.setScalar(0); // parallel to x: only rounding errors are left
  const y = firstDirection(acrossX, c.clone().cross(x), perpendicular(x));
  const z = x.clone().cross(y);
  const depth = c.dot(z);
  const sign = depth < 0 ? -1 : 1;
  const rotation = new Matrix4().makeBasis(x.multiplyScalar(sign), y, z.multiplyScalar(sign));
  const quaternion = new Quaternion().setFromRotationMatrix(rotation);
  const { x: turnX, y: turnY, z: turnZ } = new Euler().setFromRotationMatrix(rotation, "ZYX");
  return {
    position: new Vector3().setFromMatrixPosition(matrix).toArray(),
    degrees: [turnX, turnY, turnZ].map((angle) => MathUtils.radToDeg(angle)),
    xyzw: quaternion.toArray().map((part) => (quaternion.w < 0 ? -part : part)),
    scale: [a.length() * sign, acrossX.length(), Math.abs(depth)],
  };
}

/** A unit vector along the first vector that is not zero. */
function firstDirection(...candidates: Vector3[]): Vector3 {
  return (candidates.find((candidate) => candidate.length() > 0) ?? new Vector3(1, 0, 0)).clone().normalize();
}

/** A vector perpendicular to `vector` and to the coordinate axis that it is farthest from. */
function perpendicular(vector: Vector3): Vector3 {
  const sizes = vector.toArray().map(Math.abs);
  const axis = new Vector3().setComponent(sizes.indexOf(Math.min(...sizes)), 1);
  return vector.clone().cross(axis);
}
