// The dialog Save as: the formats that the file can be saved in, and what each of them loses.
import { el, fillSelect, replace } from "../dom";
import { bytesText } from "../format";
import { download } from "../saving";
import type { Data } from "../source";
import type { Store } from "../store";
import { lossGroups } from "./issues";
import { isRecoverable, RECOVER } from "./notice";

export function saveDialog(store: Store, data: Data, run: (work: () => Promise<void>) => Promise<void>): { element: HTMLElement; open: () => void } {
  let file = 0; // for which the dialog was opened; another one may be shown meanwhile
  let reported: { choice: number; name: string } | null = null;
  const format = el("select", { id: "format", "aria-label": "Format" });
  const hint = el("p", { id: "save-hint" });
  const report = el("div", { class: "report", id: "save-report", role: "status" });
  const button = el("button", { type: "button", class: "main", id: "download" }, "Download");
  const dialog = el(
    "dialog", { class: "dialog", id: "save-dialog", "aria-label": "Save as" },
    el("h2", {}, "Save as"), hint, el("label", {}, "Format ", format), report,
    el("div", { class: "buttons" }, button, el("button", { type: "button", id: "save-close", onclick: () => dialog.close() }, "Close")),
  );
  const show = async (): Promise<void> => {
    const [asked, choice] = [file, Number(format.value)];
    const isAsked = (): boolean => file === asked && Number(format.value) === choice;
    reported = null;
    button.disabled = true;
    replace(report, el("p", { class: "quiet" }, "Converting…"));
    try {
      const { name, size, losses } = await data.report(asked, choice);
      if (!isAsked()) return;
      reported = { choice, name };
      button.disabled = false;
      replace(
        report, el("p", {}, `${name}, ${bytesText(size)}`),
        losses ? el("p", { id: "save-summary" }, losses.summary) : null, ...lossGroups(losses, store),
      );
    } catch (error) {
      if (isAsked()) replace(report, el("p", { class: "failure" }, error instanceof Error ? error.message : String(error)));
      throw error;
    }
  };
  format.addEventListener("change", () => void run(show));
  button.addEventListener("click", () => void run(async () => {
    if (reported) download(new Blob([await data.saved(file, reported.choice)]), reported.name);
  }));
  const open = (): void => {
    const { info } = store.state;
    const saves = info?.saves ?? [];
    file = store.state.file;
    hint.textContent = isRecoverable(info) ? `This file is damaged: “${RECOVER}” first opens the part that other formats can store.` : "";
    fillSelect(format, saves.map(({ number, title, ending }) => ({ value: String(number), label: `${title} (${ending})` })), format.value);
    if (!format.value) format.selectedIndex = 0;
    format.disabled = button.disabled = !saves.length;
    dialog.showModal();
    if (saves.length) void run(show);
    else replace(report, el("p", { class: "quiet" }, "Nothing of this file can be saved in another format."));
  };
  return { element: dialog, open };
}
