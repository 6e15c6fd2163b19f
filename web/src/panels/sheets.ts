// In a narrow window, tree, inspector and display options are sheets: one at a time is shown over the timeline.
import { el, replace } from "../dom";
import { counted } from "../format";

const SHEETS = [
  { name: "left", label: "Nodes" },
  { name: "right", label: "Selection" },
  { name: "display", label: "Display" },
];

/** Whether the window has sheets, as in style.css. */
export const narrowWindow = (): MediaQueryList => matchMedia("(max-width: 639px)");

/** The buttons that show and hide sheets. Style sheets read the name of the open sheet from `data-sheet` of the container. */
export function sheets(container: HTMLElement): { element: HTMLElement; close: () => void; count: (issues: number) => void } {
  const open = (name: string): void => {
    container.dataset.sheet = name;
    SHEETS.forEach((sheet, index) => buttons[index]?.setAttribute("aria-expanded", String(sheet.name === name)));
  };
  const buttons = SHEETS.map(({ name, label }) => el("button", {
    type: "button", id: `sheet-${name}`, "aria-expanded": "false", onclick: () => open(container.dataset.sheet === name ? "" : name),
  }, label));
  document.addEventListener("keydown", (event) => {
    const { sheet } = container.dataset;
    if (event.key !== "Escape" || !sheet) return;
    open("");
    document.getElementById(`sheet-${sheet}`)?.focus();
  });
  /** Shows the number of issues, which are in the sheet Selection. */
  const count = (issues: number): void => {
    const button = buttons[SHEETS.findIndex(({ name }) => name === "right")];
    if (button) replace(button, "Selection", issues ? el("span", { class: "count" }, `, ${counted(issues, "issue")}`) : null);
  };
  return { element: el("nav", { class: "sheets", "aria-label": "Panels" }, ...buttons), close: () => open(""), count };
}
