// Python in a web worker of this page: a source of data without a server. The files that were opened are kept, so that a
// worker that was stopped can be replaced by a new one.
import { gunzipped, unpacked, type Source } from "./source";

/** What the worker is doing while it starts: a step, and how much is done, from 0 to 1. */
export interface Progress { step: string; part: number }

interface Message extends Partial<Progress> { id?: number; content?: ArrayBuffer | null; error?: string; broken?: boolean; failed?: string }
interface Waiting { path: string; done: (content: ArrayBuffer | null) => void; fail: (error: Error) => void; timer: number }

const MOST_SECONDS = 300;

/** A worker that is replaced when it is stopped, breaks, or does not answer for `seconds`. */
export class Engine {
  /** told of every step, also when a new worker starts; `failed` if Python cannot be started */
  listener: (progress: Progress | { failed: string }) => void = () => undefined;
  private worker: Worker | null = null;
  private started!: Promise<void>;
  private begin!: () => void;
  private fail!: (error: Error) => void;
  private readonly waiting = new Map<number, Waiting>();
  private readonly opened: [string, Blob][] = [];
  private last = 0;

  constructor(private readonly make: () => Worker, private readonly seconds = MOST_SECONDS) {
    this.expect();
  }

  /** Starts a worker; requests wait until it is ready. */
  start(): void {
    const worker = this.worker = this.make();
    const failed = (reason: string): void => {
      this.listener({ failed: reason });
      this.fail(new Error(`Python could not be started: ${reason}`));
    };
    let isReady = false;
    // Later errors are those of requests, which are answered, or of nothing that somebody waits for.
    worker.onerror = (event) => { if (!isReady) failed(event.message || "its files could not be loaded"); };
    worker.onmessage = async ({ data }: MessageEvent<Message>) => {
      if (data.failed !== undefined) failed(data.failed);
      else if (data.id !== undefined) this.receive(data);
      else if (data.step !== undefined && data.part !== undefined) {
        isReady = data.part === 1;
        if (isReady) for (const [path, body] of [...this.opened]) {
          await this.request(path, body).catch(() => null);
          if (worker !== this.worker) return; // stopped meanwhile
        }
        this.listener({ step: data.step, part: data.part });
        if (isReady) this.begin();
      }
    };
  }

  private expect(): void {
    this.started = new Promise((done, fail) => {
      this.begin = done;
      this.fail = fail;
    });
    this.started.catch(() => undefined); // told to the listener, and by every request
  }

  get = async (path: string): Promise<ArrayBuffer | null> => {
    await this.started;
    return this.request(path);
  };

  /** Opens files. They are opened again, in the same order, when a new worker starts. */
  post = async (path: string, body: Blob): Promise<ArrayBuffer> => {
    await this.started;
    const content = await this.request(path, body);
    this.opened.push([path, body]);
    return content ?? new ArrayBuffer(0);
  };

  /** Ends the current work, which fails with this message. */
  stop = (message = "Stopped."): void => {
    this.worker?.terminate();
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    this.fail(new Error(message)); // also what waits for the start
    this.expect();
    this.start();
    for (const { fail, timer } of waiting) {
      clearTimeout(timer);
      fail(new Error(message));
    }
  };

  private request(path: string, body?: Blob): Promise<ArrayBuffer | null> {
    const id = ++this.last;
    return new Promise((done, fail) => {
      const timer = setTimeout(() => this.stop(`Stopped after ${this.seconds} seconds without an answer.`), 1000 * this.seconds) as unknown as number;
      this.waiting.set(id, { path, done, fail, timer });
      if (body) body.arrayBuffer().then(
        (content) => this.send(id, { path, body: content }, [content]),
        (error: unknown) => this.receive({ id, error: `The files could not be read: ${String(error)}` }),
      );
      else this.send(id, { path });
    });
  }

  /** Sends a request, unless it was stopped while its files were read. */
  private send(id: number, message: object, transferred: Transferable[] = []): void {
    if (this.waiting.has(id)) this.worker?.postMessage({ id, ...message }, transferred);
  }

  private receive({ id, content, error, broken }: Message): void {
    const waiting = this.waiting.get(id ?? 0);
    if (!waiting) return;
    this.waiting.delete(id ?? 0);
    clearTimeout(waiting.timer);
    const [, file] = /^\/data\/(\d+)\//.exec(waiting.path) ?? [];
    if (broken && file) this.opened.push([`/close/${file}`, new Blob([])]); // the new worker has the memory that it took
    if (broken) this.stop("Stopped: Python had to be started again.");
    if (error) waiting.fail(new Error(broken ? `Python ended, probably without memory: ${error}` : error));
    else waiting.done(content ?? null);
  }
}

/** Starts Python from the folder `python` of this page. Until it is ready, the example is shown from data that was made when
 * the page was built. */
export async function engineSource(): Promise<Source> {
  const url = (name: string): string => new URL(name, document.baseURI).href;
  // A worker made from a blob has the security policy of this page; one made from a file would have that of its server.
  const script = URL.createObjectURL(new Blob([`import ${JSON.stringify(url("python/worker.js"))};`], { type: "text/javascript" }));
  const trusted = scriptPolicy([url("service-worker.js"), script]);
  const engine = new Engine(() => new Worker(trusted(script), { type: "module" }));
  void keepOffline(trusted(url("service-worker.js"))).finally(() => engine.start());
  const example = await fetch(url("windmill.bin"));
  if (!example.ok) throw new Error(`The example could not be loaded: ${example.status}`);
  const baked = unpacked(await gunzipped(await example.blob()));
  return { get: async (path) => await baked.get(path) ?? engine.get(path), post: engine.post, engine };
}

/** Allows these scripts and no others, in browsers that ask for it (Trusted Types). */
function scriptPolicy(allowed: string[]): (address: string) => string {
  interface Policies { createPolicy: (name: string, rules: object) => { createScriptURL: (address: string) => string } }
  const { trustedTypes } = globalThis as { trustedTypes?: Policies };
  const createScriptURL = (address: string): string => {
    if (!allowed.includes(address)) throw new TypeError(`not a script of this page: ${address}`);
    return address;
  };
  const policy = trustedTypes?.createPolicy("keyframer", { createScriptURL });
  return (address) => policy ? policy.createScriptURL(address) : address;
}

/** Waits until the service worker keeps the files that are requested from now on. Without one the page works, but not
 * offline. */
async function keepOffline(script: string): Promise<void> {
  const { serviceWorker } = navigator as Partial<Navigator>;
  const registration = await serviceWorker?.register(script).catch(() => null);
  const installing = registration?.installing ?? registration?.waiting;
  if (!installing || serviceWorker?.controller) return;
  await new Promise<void>((done) => installing.addEventListener("statechange", () => {
    if (installing.state === "activated" || installing.state === "redundant") done();
  }));
}
