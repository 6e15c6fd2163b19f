// The text over the picture: what the page is doing, why a file is not shown, or an error, which can be dismissed.
import { el } from "../dom";
import type { SceneInfo } from "../types";

export const RECOVER = "Show what can be recovered";

/** Whether a file is damaged, but of a known format. */
export const isRecoverable = (info: SceneInfo | null): boolean => Boolean(info?.failure && info.format !== null);

export class Notice {
  private readonly message = el("p", { class: "message", role: "status", id: "message" });
  private readonly dismiss = el("button", {
    type: "button", class: "close", id: "dismiss", "aria-label": "Dismiss", title: "Dismiss", hidden: true, onclick: () => this.showFile(),
  }, "×");
  readonly element: HTMLElement;
  private fileText = "";
  private canRecover = false;

  /** `recover` is shown only beside the text about the damaged file. */
  constructor(private readonly recover: HTMLButtonElement, stop: HTMLButtonElement) {
    recover.hidden = true;
    this.element = el("div", { class: "notice" }, el("div", { class: "line" }, this.message, this.dismiss), recover, stop);
  }

  /** Says what the page is doing. */
  say(text: string): void {
    this.show(text, false, false);
  }

  /** Shows an error until the user dismisses it, or another text follows. */
  fail(text: string): void {
    this.show(text, true, false);
  }

  /** Sets and shows the text about the file; it is empty if the picture says enough. */
  setFile(text: string, canRecover: boolean): void {
    this.fileText = text;
    this.canRecover = canRecover;
    this.showFile();
  }

  private showFile(): void {
    this.show(this.fileText, false, this.canRecover);
  }

  private show(text: string, isError: boolean, canRecover: boolean): void {
    this.message.textContent = text;
    this.dismiss.hidden = !isError;
    this.recover.hidden = !canRecover;
  }
}
