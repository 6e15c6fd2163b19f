import { Matrix4, Quaternion, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { hex, parseOffset, secondsText, short, vectorText, visible } from "../src/format";
import { filesBelow, packed, type Entry } from "../src/dropping";
import { stateAt, stripStates } from "../src/panels/bytes";
import { dopeRows, tracksByNode } from "../src/panels/dope";
import { boundsOf } from "../src/panels/graph";
import { matchingFiles } from "../src/panels/files";
import { movingNodes, rowsToMake, treeRows } from "../src/panels/tree";
import { contains, firstByte, placeOfKey, placeText, type Place } from "../src/place";
import { recordsAt } from "../src/records";
import { savedName } from "../src/saving";
import { isolate, showAll, subtree, toggleHidden } from "../src/selecting";
import { parseSizes } from "../src/panels/splitters";
import { clipLabels } from "../src/panels/transport";
import type { Data } from "../src/source";
import { asTriangles, edgePairs } from "../src/stage/edges";
import { decomposed } from "../src/stage/transform";
import { initialState, Store } from "../src/store";
import { keysBetween, keyTime, nearestKey, neighbourTime } from "../src/times";
import type { NodeInfo, SceneInfo, TrackInfo } from "../src/types";

const node = (name: string, parent: number | null): NodeInfo =>
  ({ name, kind: "object", parent, gltf: 0, mesh: false, camera: null, light: null, hidden: false, places: [], nowhere: "" });
const track = (owner: number | null, times: TrackInfo["times"]): TrackInfo =>
  ({ number: 0, moves: true, node: owner, kind: "position", interpolation: "tcb", wrap: "single", times, place: null, nowhere: "" });

describe("the map of a damaged file", () => {
  const map: SceneInfo["map"] = [[0, 40, "kept"], [40, 41, "dropped"], [41, 100, "moved"]];
  it("tells the state of each byte", () => {
    expect([0, 39, 40, 41, 99, 100].map((offset) => stateAt(map, offset))).toEqual(["kept", "kept", "dropped", "moved", "moved", null]);
    expect(stateAt([], 0)).toBe(null);
  });
  it("shows damage that is thinner than a column", () => {
    expect(stripStates(map, 100, 5)).toEqual(["kept", "kept", "dropped", "moved", "moved"]);
  });
});

describe("the tree", () => {
  const nodes = [node("Body", null), node("Arm", 0), node("Hand", 1), node("Leg", 0)];
  it("has parents before children", () => {
    expect(treeRows(nodes, "", new Set()).map((row) => [row.node, row.depth])).toEqual([[0, 0], [1, 1], [2, 2], [3, 1]]);
  });
  it("closes", () => expect(treeRows(nodes, "", new Set([1])).map((row) => row.node)).toEqual([0, 1, 3]));
  it("keeps the ancestors of search results", () => {
    expect(treeRows(nodes, "HAND", new Set([1])).map((row) => row.node)).toEqual([0, 1, 2]);
  });
  it("can show only moving nodes and their ancestors", () => {
    const moving = movingNodes([track(2, [0, 1]), { ...track(3, [0, 1]), moves: false }, track(null, [0])]);
    expect([...moving]).toEqual([2]);
    expect(treeRows(nodes, "", new Set(), moving).map((row) => [row.node, row.hasChildren])).toEqual([[0, true], [1, true], [2, false]]);
    expect(treeRows(nodes, "leg", new Set(), moving)).toEqual([]);
    expect(treeRows(nodes, "", new Set([1]), moving).map((row) => row.node)).toEqual([0, 1]);
  });
  it("makes only the visible rows and some around them", () => {
    expect(rowsToMake(0, 350, 12)).toEqual([0, 12]);
    expect(rowsToMake(0, 350, 0)).toEqual([0, 0]);
    expect(rowsToMake(22 * 5000, 352, 10_000)).toEqual([4900, 5116]);
    expect(rowsToMake(22 * 9990, 352, 10_000)).toEqual([9890, 10_000]);
    expect(rowsToMake(22 * 9990, 352, 3)).toEqual([3, 3]);
  });
  it("handles cycles, wide and deep trees", () => {
    expect(treeRows([node("a", 1), node("b", 0)], "", new Set())).toEqual([]);
    const wide = Array.from({ length: 300_000 }, (_, index) => node("x", index ? 0 : null));
    expect(treeRows(wide, "", new Set()).length).toBe(300_000);
    const deep = Array.from({ length: 20_000 }, (_, index) => node("x", index ? index - 1 : null));
    expect(treeRows(deep, "", new Set()).length).toBe(20_000);
  });
});

describe("keys", () => {
  const plain = track(0, [0, 10, null, 20, 20]);
  const sampled = track(0, { first: 5, step: 2, count: 100 });
  it("are found in a range", () => {
    expect([...keysBetween(plain, 5, 20)]).toEqual([[1, 10], [3, 20], [4, 20]]);
    expect([...keysBetween(sampled, 6, 10)]).toEqual([[1, 7], [2, 9]]);
    expect(keyTime(sampled, 10)).toBe(25);
  });
  it("are found near a time", () => {
    expect(nearestKey(plain, 9.5, 1)).toBe(1);
    expect(nearestKey(plain, 5, 1)).toBeNull();
  });
  it("follow each other", () => {
    expect(neighbourTime([plain, sampled], 0, 1)).toBe(5);
    expect(neighbourTime([plain], 20, -1)).toBe(10);
    expect(neighbourTime([plain], 20, 1)).toBeNull();
  });
  it("make the rows of the dope sheet", () => {
    const info = { tracks: [track(1, [0]), track(0, [0, 1]), track(1, [0, 1, 2])] } as unknown as SceneInfo;
    expect(dopeRows(info)).toEqual([
      { node: 0, track: null, keys: 2 }, { node: 0, track: 1, keys: 2 },
      { node: 1, track: null, keys: 4 }, { node: 1, track: 0, keys: 1 }, { node: 1, track: 2, keys: 3 },
    ]);
  });
});

describe("tracks that never change", () => {
  it("can be left out of the dope sheet", () => {
    const info = { tracks: [track(1, [0, 1]), { ...track(1, [0, 1]), moves: false }, { ...track(0, [0]), moves: false }] } as unknown as SceneInfo;
    expect(dopeRows(info, tracksByNode(info, true))).toEqual([{ node: 1, track: null, keys: 2 }, { node: 1, track: 0, keys: 2 }]);
  });
});

describe("stored sizes of panels", () => {
  it("are limited to a range, and ignored if invalid", () => {
    expect([...parseSizes("left:300,lower:5,right:99999,height:3,left")]).toEqual([["left", 300], ["lower", 120]]);
    expect([...parseSizes("right:9999")]).toEqual([["right", 700]]);
    expect(parseSizes("<script>").size).toBe(0);
  });
});

describe("clips", () => {
  it("without a unique name get a number", () => {
    expect(clipLabels(["walk", "", "walk"]).map(({ label }) => label)).toEqual(["walk", "2", "walk 3"]);
  });
});

describe("saved files", () => {
  it("have the name of their source", () => {
    expect(savedName("pack.zip!/a/box.old.3ds", "glb")).toBe("box.old.glb");
    expect(savedName("C:\\x\\.3ds", "png")).toBe("scene.png");
  });
});

describe("dropped files", () => {
  const file = (name: string, text: string): Entry => ({ isFile: true, fullPath: `/${name}`, file: (found) => found(new File([text], name)) });
  const folder = (name: string, ...batches: Entry[][]): Entry => {
    const left = [...batches, []];
    return { isFile: false, fullPath: `/${name}`, createReader: () => ({ readEntries: (found) => found(left.shift() ?? []) }) };
  };
  it("are found in folders, which browsers list in batches", async () => {
    const found = await filesBelow([file("a.3ds", "A"), folder("maps", [file("maps/b.png", "B")], [folder("maps/c", [file("maps/c/d.png", "D")])])]);
    expect(found.map(({ name }) => name)).toEqual(["a.3ds", "maps/b.png", "maps/c/d.png"]);
  });
  it("are limited in number and size", async () => {
    await expect(filesBelow([folder("x", [file("1", ""), file("2", ""), file("3", "")])], 2)).rejects.toThrow("More than 2");
    expect(() => packed([{ name: "a", content: new Blob(["12345"]) }], 4)).toThrow("The files have 5 bytes; the limit is 4 bytes.");
  });
  it("are packed as the server expects", async () => {
    const bytes = new Uint8Array(await packed([{ name: "ä", content: new Blob(["xyz"]) }, { name: "b", content: new Blob(["!"]) }], 99).arrayBuffer());
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const text = new TextDecoder();
    expect(JSON.parse(text.decode(bytes.slice(4, 4 + length)))).toEqual([["ä", 3], ["b", 1]]);
    expect(text.decode(bytes.slice(4 + length))).toBe("xyz!");
  });
});

describe("channels without a node", () => {
  it("come last on the dope sheet", () => {
    const info = { tracks: [track(3, [0]), track(null, { first: 0, step: 1, count: 9 }), track(1, [0])] } as unknown as SceneInfo;
    expect(dopeRows(info).slice(-2)).toEqual([{ node: null, track: null, keys: 9 }, { node: null, track: 1, keys: 9 }]);
  });
});

describe("places", () => {
  const pieces = { start: 100, size: 12, step: 40, count: 3 };
  it("contain exactly their bytes", () => {
    const inside = (place: Place): number[] => Array.from({ length: 250 }, (_, at) => at).filter((at) => contains(place, at));
    const run = (from: number): number[] => Array.from({ length: 12 }, (_, at) => from + at);
    expect(inside(pieces)).toEqual([...run(100), ...run(140), ...run(180)]);
    expect(inside([7, 9])).toEqual([7, 8]);
  });
  it("of single keys are found", () => {
    expect([-1, 0, 2, 3].map((key) => placeOfKey(pieces, key))).toEqual([null, [100, 112], [180, 192], null]);
    expect([0, 1, 2].map((key) => placeOfKey([null, [4, 8]], key))).toEqual([null, [4, 8], null]);
  });
  it("are described in words", () => {
    expect(placeText(pieces)).toBe("12 bytes at 0x0064; repeats every 40 bytes, 3 times in all");
    expect(placeText([16, 32])).toBe("0x0010 – 0x0020, 16 bytes");
  });
  it("begin at their first byte", () => {
    expect([pieces, [16, 32] as Place].map(firstByte)).toEqual([100, 16]);
  });
});

describe("bytes", () => {
  const table = { starts: [0, 10, 20, 40], ends: [100, 30, 30, 50], parents: [-1, 0, 1, 0], names: ["a", "b", "c", "d"] };
  const cut = (page: number, number: number): object => Object.fromEntries(
    Object.entries(table).map(([name, column]) => [name, column.slice(page * number, page * (number + 1))]),
  );
  it.each([1, 2, 3, 4, 50])("are found in their records, with %i records on a page", async (page) => {
    const firsts = table.starts.filter((_, number) => number % page === 0);
    const data = {
      records: async () => ({ total: 4, page, firsts }), recordPage: async (_: number, number: number) => cut(page, number),
    } as unknown as Data;
    const names = async (offset: number): Promise<string> => (await recordsAt(data, 0, offset)).map(({ name }) => name).join("");
    expect(await Promise.all([25, 35, 45, 100, -1].map(names))).toEqual(["abc", "a", "ad", "", ""]);
  });
  it("are in no record if the file has none", async () => {
    const none = { records: async () => ({ total: 0, page: 9, firsts: [] }) } as unknown as Data;
    expect(await recordsAt(none, 0, 5)).toEqual([]);
  });
  it("are found by decimal and hexadecimal offsets", () => {
    expect(["0x1F4", "1f4h", " 500 ", "zz", "-1", ""].map(parseOffset)).toEqual([500, 500, 500, null, null, null]);
  });
  it("are shown", () => {
    expect(hex(10)).toBe("0a");
    expect([0x41, 0x1b, 0x7f, 0xe9].map(visible).join("")).toBe("A···");
  });
});

describe("files", () => {
  it("are found by all words of a search", () => {
    const files = ["Models/Old/tower.3ds", "models/new/Tower.3ds", "tower.ase"].map((name, id) => ({ id, name }));
    const found = (search: string): number[] => matchingFiles(files, search).map(({ id }) => id);
    expect(found("")).toEqual([0, 1, 2]);
    expect(found("  TOWER ")).toEqual([0, 1, 2]);
    expect(found("3ds models")).toEqual([0, 1]);
    expect(found("tower old")).toEqual([0]);
    expect(found("[")).toEqual([]);
  });
});

describe("nodes", () => {
  const nodes = [node("Body", null), node("Arm", 0), node("Hand", 1), node("Leg", 0), node("a", 5), node("b", 4)];
  const shownWith = (chosen: number | null): Store => new Store({ ...initialState, node: chosen, info: { nodes } as unknown as SceneInfo });
  const hidden = (store: Store): number[] => [...store.state.hidden].sort();
  it("have descendants, also in a cycle", () => {
    expect([...subtree(nodes, 1)]).toEqual([1, 2]);
    expect([...subtree(nodes, 0)].sort()).toEqual([0, 1, 2, 3]);
    expect([...subtree(nodes, 4)].sort()).toEqual([4, 5]);
  });
  it("are hidden and shown with their descendants", () => {
    const store = shownWith(null);
    toggleHidden(store, 1);
    expect(hidden(store)).toEqual([1, 2]);
    toggleHidden(store, 0); // some are hidden already
    expect(hidden(store)).toEqual([0, 1, 2, 3]);
    toggleHidden(store, 2);
    expect(hidden(store)).toEqual([0, 1, 3]);
    toggleHidden(store, 0);
    expect(hidden(store)).toEqual([]);
    toggleHidden(store, null);
    expect(hidden(store)).toEqual([]);
  });
  it("are isolated with their descendants", () => {
    const store = shownWith(1);
    isolate(store);
    expect(hidden(store)).toEqual([0, 3, 4, 5]);
    showAll(store);
    expect(hidden(store)).toEqual([]);
    const nothing = shownWith(null);
    isolate(nothing);
    expect(hidden(nothing)).toEqual([]);
  });
});

describe("world transforms", () => {
  it("are decomposed with shear, mirrors and zero scales", () => {
    const turned = new Matrix4().compose(new Vector3(1, 2, 3), new Quaternion(0, 0, Math.SQRT1_2, -Math.SQRT1_2), new Vector3(-2, 3, 4));
    const { position, xyzw, degrees, scale } = decomposed(turned);
    expect(position).toEqual([1, 2, 3]);
    xyzw.forEach((part, index) => expect(part).toBeCloseTo([0, 0, -Math.SQRT1_2, Math.SQRT1_2][index] ?? 0));
    degrees.forEach((part, index) => expect(part).toBeCloseTo([0, 0, -90][index] ?? 0));
    scale.forEach((part, index) => expect(part).toBeCloseTo([-2, 3, 4][index] ?? 0));
    expect(decomposed(new Matrix4().makeShear(1, 0, 0, 0, 0, 0)).scale.every(Number.isFinite)).toBe(true);
    const flat = decomposed(new Matrix4().makeScale(0, 0, 0));
    expect(flat.scale).toEqual([0, 0, 0]);
    expect(Math.hypot(...flat.xyzw)).toBeCloseTo(1);
  });
  it("are written without rounding errors", () => {
    expect(vectorText([1.23456789, -2e-9, 0])).toBe("1.23457, 0, 0");
    expect(vectorText([0, 0, 0])).toBe("0, 0, 0");
    expect(vectorText([90.00000001, 1e-5], "°")).toBe("90°, 0°");
    expect(vectorText([1.8e-6, 0.5], "°", 1e-4)).toBe("0°, 0.5°");
    expect(vectorText([NaN, 1])).toBe("not a number, 1");
  });
});

describe("numbers", () => {
  it("are short", () => expect([0, 1.23456, 1e9, null, -0.00001].map(short)).toEqual(["0", "1.235", "1.00e+9", "not a number", "-1.00e-5"]));
  it("are times", () => expect([0, 61.5, -1, 59.999].map(secondsText)).toEqual(["0:00.00", "1:01.50", "-0:01.00", "1:00.00"]));
  it("have bounds with room", () => {
    expect(boundsOf([[0, 10], [null]])).toEqual({ low: -1.2, high: 11.2 });
    expect(boundsOf([[5, 5]])).toEqual({ low: 4.5, high: 5.5 });
    expect(boundsOf([])).toEqual({ low: -1, high: 1 });
  });
});

describe("edges", () => {
  it("are those that the file marks", () => {
    expect(edgePairs([0, 1, 2, 2, 1, 3], [5, 2], 0)).toEqual([0, 1, 2, 0, 1, 3]);
    expect(edgePairs([0, 1, 2], [0, 3], 1)).toEqual([0, 1, 1, 2]);
  });
  it("are all edges if the file marks none", () => expect(edgePairs([0, 1, 2], null, 0)).toEqual([0, 1, 1, 2, 2, 0]));
  it("become triangles without an area", () => expect([...asTriangles([4, 5])]).toEqual([4, 5, 5]));
});
