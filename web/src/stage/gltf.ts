// The parts of the JSON of a glTF file that this page reads itself.

export interface GltfJson {
  scene?: number;
  scenes?: { nodes?: number[]; extras?: { keyframer?: { clips?: { animation?: string }[] } } }[];
  nodes?: {
    name?: string;
    camera?: number;
    children?: number[];
    /** `of` is the name of the node that a helper node belongs to */
    extras?: { keyframer?: { of?: string } };
    extensions?: { KHR_node_visibility?: { visible?: boolean }; KHR_lights_punctual?: { light: number } };
  }[];
  meshes?: { primitives: { indices?: number }[]; extras?: { keyframer?: { edges?: Packed | number[] } } }[];
  cameras?: { name?: string; perspective?: { yfov: number } }[];
  animations?: GltfAnimation[];
}

export interface GltfAnimation {
  name?: string;
  samplers: { input: number; output: number; interpolation?: string }[];
  channels: {
    sampler: number;
    target: { path: string; extensions?: { KHR_animation_pointer?: { pointer: string } } };
  }[];
  extras?: { keyframer?: { settings_of?: string } };
}

export interface Placed { node: number; parent: number | null }

/** Makes all nodes of the scene roots, and returns them with their parents, parents first. three.js walks trees by
 * recursion, which a chain of 3,000 joints ends with an overflow of the stack. */
export function flatten(json: GltfJson): Placed[] {
  const scene = json.scenes?.[json.scene ?? 0];
  const order: Placed[] = (scene?.nodes ?? []).map((node) => ({ node, parent: null }));
  for (let at = 0; at < order.length; at++) {
    const { node } = order[at] as Placed;
    for (const child of json.nodes?.[node]?.children ?? []) order.push({ node: child, parent: node });
    delete json.nodes?.[node]?.children;
  }
  if (scene) scene.nodes = order.map(({ node }) => node);
  return order;
}

/** An array that our exporter packed: base64 of a zlib stream. */
export interface Packed { dtype: string; shape: number[]; zlib: string }

export async function unpackedNumbers(value: Packed | number[]): Promise<ArrayLike<number>> {
  if (Array.isArray(value)) return value;
  const packed = Uint8Array.from(atob(value.zlib), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  switch (value.dtype) {
    case "|u1": return new Uint8Array(bytes);
    case "|i1": return new Int8Array(bytes);
    case "<u2": return new Uint16Array(bytes);
    case "<i2": return new Int16Array(bytes);
    case "<u4": return new Uint32Array(bytes);
    case "<i4": return new Int32Array(bytes);
    case "<i8": return Array.from(new BigInt64Array(bytes), Number);
    case "<u8": return Array.from(new BigUint64Array(bytes), Number);
    default: throw new Error(`unknown number type ${value.dtype}`);
  }
}
