import { describe, expect, it } from "vitest";
import { Data, unpacked } from "../src/source";

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

describe("an archive", () => {
  const source = unpacked(archive({ "/data/files": '{"files":[]}', "/data/0/model": "glTF" }));
  it("answers by path", async () => {
    expect(new TextDecoder().decode((await source.get("/data/0/model")) ?? new ArrayBuffer())).toBe("glTF");
    expect(await source.get("/data/1/model")).toBeNull();
    expect(await source.get("__proto__")).toBeNull();
  });
  it("is asked once for each thing", async () => {
    let asked = 0;
    const data = new Data({ get: (path) => { asked++; return source.get(path); } });
    expect(await data.files()).toEqual({ files: [] });
    await data.files();
    expect(asked).toBe(1);
    await expect(data.scene(3)).rejects.toThrow("not there");
  });
});
