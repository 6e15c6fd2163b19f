// The dialog Save as: the formats that the file can be saved in, and what each of them loses.
import { el, fillSelect, replace } from "../dom";
import { bytesText } from "../format";
import { download } from "../saving";
import type { Data } from "../source";
import type { Store } from "../store";
import { lossGroups } from "./issues";

export function saveDialog(store: Store, data: Data, run: (work: () => Promise<void>) => Promise<void>): { element: HTMLElement; open: () => void } {
  const format = el("select", { id: "format", "aria-label": "Format" });
  const report = el("div", { class: "report", id: "save-report", role: "status" });
  const button = el("button", { type: "button", class: "main", id: "download" }, "Download");
  const dialog = el(
    "dialog", { class: "dialog", id: "save-dialog", "aria-label": "Save as" },
    el("h2", {}, "Save as"), el("label", {}, "Format ", format), report,
    el("div", { class: "buttons" }, button, el("button", { type: "button", id: "save-close", onclick: () => dialog.close() }, "Close")),
  );
  const show = async (): Promise<void> => {
    const { file } = store.state;
    const choice = format.value;
    button.disabled = true;
    replace(report, el("p", { class: "quiet" }, "Converting…"));
    try {
      const { name, size, losses } = await data.report(file, Number(choice));
      if (store.state.file !== file || format.value !== choice) return;
      button.disabled = false;
      replace(
        report, el("p", {}, `${name}, ${bytesText(size)}`),
        losses ? el("p", { id: "save-summary" }, losses.summary) : null, ...lossGroups(losses, store),
      );
    } catch (error) {
      replace(report, el("p", { class: "failure" }, error instanceof Error ? error.message : String(error)));
      throw error;
    }
  };
  format.addEventListener("change", () => void run(show));
  button.addEventListener("click", () => void run(async () => {
    const { file } = store.state;
    const choice = Number(format.value);
    const { name } = await data.report(file, choice);
    download(new Blob([await data.saved(file, choice)]), name);
  }));
  const open = (): void => {
    dialog.showModal();
    const saves = store.state.info?.saves ?? [];
    fillSelect(format, saves.map(({ number, title, ending }) => ({ value: String(number), label: `${title} (${ending})` })), format.value);
    if (!format.value) format.selectedIndex = 0;
    void run(show);
  };
  return { element: dialog, open };
}
