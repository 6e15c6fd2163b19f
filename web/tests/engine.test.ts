import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Engine, type Progress } from "../src/engine";

/** A worker that answers when a test says so. */
class FakeWorker {
  static all: FakeWorker[] = [];
  received: { id: number; path: string; body?: ArrayBuffer }[] = [];
  ended = false;
  onmessage: (event: { data: object }) => void = () => undefined;
  onerror: (event: { message: string }) => void = () => undefined;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(message: { id: number; path: string }): void {
    this.received.push(message);
  }

  terminate(): void {
    this.ended = true;
  }

  say(data: object): void {
    this.onmessage({ data });
  }

  answer(text: string, at = -1): void {
    this.say({ id: this.received.at(at)?.id, content: new TextEncoder().encode(text).buffer, error: "" });
  }
}

const READY = { step: "Ready", part: 1 };
const settled = (): Promise<void> => vi.advanceTimersByTimeAsync(0).then(() => undefined);
const make = (): Worker => new FakeWorker() as unknown as Worker;
const text = (content: ArrayBuffer | null): string => new TextDecoder().decode(content ?? new ArrayBuffer(0));

describe("Python in a worker", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    FakeWorker.all = [];
  });
  afterEach(() => vi.useRealTimers());

  const started = async (): Promise<Engine> => {
    const engine = new Engine(make, 10);
    engine.start();
    FakeWorker.all[0]?.say(READY);
    await settled();
    return engine;
  };

  it("goes on after an error of a worker that has started", async () => {
    const engine = await started();
    const told: unknown[] = [];
    engine.listener = (progress) => told.push(progress);
    const [worker] = FakeWorker.all;
    worker?.onerror({ message: "a finalizer failed" });
    const answer = engine.get("/a");
    await settled();
    worker?.answer("still here");
    expect(text(await answer)).toBe("still here");
    expect(told).toEqual([]);
  });

  it("gets requests only when it is ready, and answers them by number", async () => {
    const engine = new Engine(make);
    const first = engine.get("/a");
    const second = engine.get("/b");
    engine.start();
    await settled();
    const [worker] = FakeWorker.all;
    expect(worker?.received).toEqual([]);
    worker?.say(READY);
    await settled();
    expect(worker?.received.map(({ path }) => path)).toEqual(["/a", "/b"]);
    worker?.answer("for b", 1);
    worker?.answer("for a", 0);
    expect([text(await first), text(await second)]).toEqual(["for a", "for b"]);
  });

  it("reports errors of single requests and goes on", async () => {
    const engine = await started();
    const [worker] = FakeWorker.all;
    const refused = engine.get("/a");
    await settled();
    worker?.say({ id: worker.received[0]?.id, content: null, error: "too large" });
    await expect(refused).rejects.toThrow(/^too large$/);
    expect(worker?.ended).toBe(false);
  });

  it("is replaced when it is stopped, and the new worker opens the files again", async () => {
    const engine = await started();
    const [worker] = FakeWorker.all;
    const opened = engine.post("/open", new Blob(["one"]));
    await settled();
    worker?.answer("{}");
    await opened;
    const hanging = engine.get("/data/1/scene");
    await settled();
    engine.stop();
    await expect(hanging).rejects.toThrow("Stopped.");
    expect(worker?.ended).toBe(true);
    const later = engine.get("/data/0/scene");
    const next = FakeWorker.all[1];
    const steps: (Progress | { failed: string })[] = [];
    engine.listener = (progress) => steps.push(progress);
    next?.say(READY);
    await settled();
    expect(next?.received.map(({ path, body }) => [path, text(body ?? null)])).toEqual([["/open", "one"]]);
    expect(steps).toEqual([]); // not ready before the files are open
    next?.answer("{}");
    await settled();
    expect(steps).toEqual([READY]);
    next?.answer("scene");
    expect(text(await later)).toBe("scene");
  });

  it("ends what waits for its files or for the start, too, and the new worker gets none of it", async () => {
    const engine = await started();
    const reading = expect(engine.post("/open", new Blob(["one"]))).rejects.toThrow("Stopped.");
    await Promise.resolve(); // the request is made, its files are not read yet
    engine.stop();
    await reading;
    const waiting = expect(engine.get("/a")).rejects.toThrow("Stopped.");
    engine.stop();
    await waiting;
    FakeWorker.all[2]?.say(READY);
    await settled();
    expect(FakeWorker.all.map(({ received }) => received)).toEqual([[], [], []]);
  });

  it("is replaced when it does not answer in time", async () => {
    const engine = await started();
    const hanging = expect(engine.get("/a")).rejects.toThrow("Stopped after 10 seconds without an answer.");
    await settled();
    await vi.advanceTimersByTimeAsync(10_000);
    await hanging;
    expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([true, false]);
  });

  it("is replaced when Python ends, for example without memory", async () => {
    const engine = await started();
    const [worker] = FakeWorker.all;
    const fatal = engine.get("/a");
    await settled();
    worker?.say({ id: worker.received[0]?.id, content: null, error: "RangeError: out of memory", broken: true });
    await expect(fatal).rejects.toThrow("Python ended, probably without memory: RangeError: out of memory");
    expect(FakeWorker.all.map(({ ended }) => ended)).toEqual([true, false]);
  });

  it("closes the file that had not enough memory in the next worker", async () => {
    const engine = await started();
    const opening = engine.post("/open", new Blob(["one"]));
    await settled();
    FakeWorker.all[0]?.answer("opened");
    await opening;
    const fatal = engine.get("/data/1/model");
    await settled();
    FakeWorker.all[0]?.say({ id: FakeWorker.all[0].received.at(-1)?.id, content: null, error: "no memory", broken: true });
    await expect(fatal).rejects.toThrow("no memory");
    FakeWorker.all[1]?.say(READY);
    for (let step = 0; step < 2; step++) {
      await settled();
      FakeWorker.all[1]?.answer("done");
    }
    await settled();
    expect(FakeWorker.all[1]?.received.map(({ path }) => path)).toEqual(["/open", "/close/1"]);
  });

  it("says why it cannot be started", async () => {
    const engine = new Engine(make);
    const steps: object[] = [];
    engine.listener = (progress) => steps.push(progress);
    engine.start();
    FakeWorker.all[0]?.say({ failed: "library.zip: 404" });
    expect(steps).toEqual([{ failed: "library.zip: 404" }]);
    await expect(engine.get("/a")).rejects.toThrow("Python could not be started: library.zip: 404");
  });
});
