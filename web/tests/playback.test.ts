import { describe, expect, it } from "vitest";
import { advance, restart } from "../src/playback";

const range = { start: 0, end: 100, rate: 30 };
const clock = { frame: 0, playing: true, loop: true, speed: 1 };

describe("the clock", () => {
  it("counts frames", () => expect(advance(clock, range, 1).frame).toBe(30));
  it("stands when it does not play", () => expect(advance({ ...clock, playing: false }, range, 1).frame).toBe(0));
  it("goes on at the start", () => expect(advance({ ...clock, frame: 95 }, range, 0.5).frame).toBe(10));
  it("goes backwards through the start", () => expect(advance({ ...clock, speed: -1 }, range, 1).frame).toBe(70));
  it("stops at the end without a loop", () => {
    expect(advance({ ...clock, frame: 95, loop: false }, range, 1)).toMatchObject({ frame: 100, playing: false });
  });
  it("shows the last frame itself", () => expect(advance({ ...clock, frame: 70 }, range, 1).frame).toBe(100));
  it("does not play what has no length", () => {
    expect(advance(clock, { start: 5, end: 5, rate: 30 }, 1)).toMatchObject({ frame: 5, playing: false });
  });
  it("begins anew from the end", () => {
    expect(restart({ ...clock, frame: 100, loop: false, playing: false }, range)).toMatchObject({ frame: 0, playing: true });
  });
});
