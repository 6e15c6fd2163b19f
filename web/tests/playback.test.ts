import { describe, expect, it } from "vitest";
import { advance, restart } from "../src/playback";

const range = { start: 0, end: 100, rate: 30 };
const clock = { frame: 0, playing: true, loop: true, speed: 1 };

describe("the clock", () => {
  it("counts frames", () => expect(advance(clock, range, 1).frame).toBe(30));
  it("keeps its frame while paused", () => expect(advance({ ...clock, playing: false }, range, 1).frame).toBe(0));
  it("continues from the start", () => expect(advance({ ...clock, frame: 95 }, range, 0.5).frame).toBe(10));
  it("runs backwards past the start", () => expect(advance({ ...clock, speed: -1 }, range, 1).frame).toBe(70));
  it("stops at the end without a loop", () => {
    expect(advance({ ...clock, frame: 95, loop: false }, range, 1)).toMatchObject({ frame: 100, playing: false });
  });
  it("reaches the last frame", () => expect(advance({ ...clock, frame: 70 }, range, 1).frame).toBe(100));
  it("does not play an empty range", () => {
    expect(advance(clock, { start: 5, end: 5, rate: 30 }, 1)).toMatchObject({ frame: 5, playing: false });
  });
  it("starts again from the end", () => {
    expect(restart({ ...clock, frame: 100, loop: false, playing: false }, range)).toMatchObject({ frame: 0, playing: true });
  });
});
