import { afterEach, describe, expect, it, vi } from "vitest";
import { Data, fetchTwice, unpacked } from "../src/source";

function archive(parts: Record<string, string>): ArrayBuffer {
  const encoder = new TextEncoder();
  const bodies = Object.values(parts).map((text) => encoder.encode(text));
  const index = encoder.encode(JSON.stringify(Object.keys(parts).map((path, at) => [path, bodies[at]?.length])));
  const whole = new Uint8Array(4 + index.length + bodies.reduce((sum, body) => sum + body.length, 0));
  new DataView(whole.buffer).setUint32(0, index.length, true);
  whole.set(index, 4);
  let at = 4 + index.length;
  for (const body of bodies) {
    whole.set(body, at);
    at += body.length;
  }
  return whole.buffer;
}

describe("a server", () => {
  afterEach(() => vi.unstubAllGlobals());
  const failing = (times: number) => vi.fn(async () => {
    if (times-- > 0) throw new TypeError("Failed to fetch");
    return new Response("fine");
  });
  it("that closed a connection is asked again", async () => {
    const fetched = failing(1);
    vi.stubGlobal("fetch", fetched);
    expect(await (await fetchTwice("/data/files", 0)).text()).toBe("fine");
    expect(fetched).toHaveBeenCalledTimes(2);
  });
  it("that does not answer is reported", async () => {
    vi.stubGlobal("fetch", failing(9));
    await expect(fetchTwice("/data/files", 0)).rejects.toThrow("still running?");
  });
});

describe("an archive", () => {
  const source = unpacked(archive({ "/data/files": '{"files":[]}', "/data/0/model": "glTF" }));
  it("answers by path", async () => {
    expect(new TextDecoder().decode((await source.get("/data/0/model")) ?? new ArrayBuffer())).toBe("glTF");
    expect(await source.get("/data/1/model")).toBeNull();
    expect(await source.get("__proto__")).toBeNull();
  });
  it("is asked once for each path", async () => {
    let asked = 0;
    const data = new Data({ post: null, get: (path) => { asked++; return source.get(path); } });
    expect(await data.files()).toEqual({ files: [] });
    await data.files();
    expect(asked).toBe(1);
    await expect(data.scene(3)).rejects.toThrow("was not found");
  });
  it("is asked again for a model, which is too large to keep", async () => {
    const asked: string[] = [];
    const data = new Data({ post: null, get: (path) => { asked.push(path); return source.get(path); } });
    await data.model(0);
    await data.model(0);
    expect(asked).toEqual(["/data/0/model", "/data/0/model"]);
  });
  it("is asked once for simultaneous requests, and again after a failure", async () => {
    let asked = 0;
    const data = new Data({ post: null, get: (path) => asked++ ? source.get(path) : Promise.reject(new Error("gone")) });
    await expect(Promise.all([data.files(), data.files()])).rejects.toThrow("gone");
    expect(asked).toBe(1);
    expect(await data.files()).toEqual({ files: [] });
  });
});
