// What the page is doing: `data-state` on the root element, for tests and assistive technology, and the button Stop.
import { el } from "./dom";
import type { Engine } from "./engine";

export class Activity {
  readonly stop: HTMLButtonElement;
  private running = 0;
  private last = 0;
  private failed = false;
  private broken = false;

  /** `started` is false until Python runs in this page; `report` shows errors. */
  constructor(private started: boolean, engine: Engine | undefined, private readonly report: (error: unknown) => void) {
    this.stop = el("button", { type: "button", id: "stop", hidden: true, onclick: () => engine?.stop() }, "Stop");
    this.stop.disabled = engine === undefined;
    this.show();
  }

  /** Does something that the user asked for; false as its result means that it failed and that the reason is shown. */
  async run(work: () => Promise<boolean | void>): Promise<void> {
    const number = ++this.last; // what was begun last decides the state
    this.running++;
    this.failed = false;
    this.show();
    let failed = false;
    try {
      failed = await work() === false;
    } catch (error) {
      failed = true;
      this.report(error);
    }
    if (number === this.last) this.failed = failed;
    this.running--;
    this.show();
  }

  /** Python has started, starts again, or cannot be started. */
  setStarted(started: boolean, failure: string): void {
    this.started = started;
    this.broken = failure !== "";
    this.show();
  }

  private show(): void {
    const state = this.broken ? "error" : !this.started ? "starting" : this.running ? "busy" : this.failed ? "error" : "ready";
    document.documentElement.dataset.state = state;
    this.stop.hidden = this.stop.disabled || !this.running;
  }
}
