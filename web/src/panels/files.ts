// The shown file: its name, which opens a list with a search, and buttons for the previous and the next file.
import { el, replace } from "../dom";
import { baseName, counted } from "../format";
import type { FileEntry } from "../types";

export interface FilePicker {
  element: HTMLElement;
  /** Sets the files to choose from. */
  list: (files: FileEntry[]) => void;
  /** Marks the file that is shown; `flaw` is a word for a file with damage, else empty. */
  show: (file: number, flaw: string) => void;
}

/** The files whose paths contain all words of a search, in any case. */
export function matchingFiles(files: FileEntry[], search: string): FileEntry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return files.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
}

const folderOf = (path: string): string => path.slice(0, -baseName(path).length);

export function filePicker(choose: (file: number) => void, step: (direction: 1 | -1) => void): FilePicker {
  let files: FileEntry[] = [];
  let shown = 0;
  let active = -1; // the option that Enter chooses
  const beside = (id: string, label: string, title: string, direction: 1 | -1): HTMLButtonElement =>
    el("button", { type: "button", id, title, "aria-label": title, onclick: () => step(direction) }, label);
  const previous = beside("previous-file", "◂", "Previous file (P)", -1);
  const next = beside("next-file", "▸", "Next file (N)", 1);
  const name = el("span", { class: "name" });
  const mark = el("span", { class: "flaw", role: "img", id: "flaw" }, "⚠");
  const place = el("span", { class: "quiet" });
  const button = el("button", {
    type: "button", id: "file", class: "file", title: "Choose a file (J)", "aria-haspopup": "listbox", "aria-expanded": "false",
    onclick: () => (popup.hidden ? open() : close(true)),
  }, mark, name, place);
  const search = el("input", {
    type: "search", id: "file-search", placeholder: "Search files", "aria-label": "Search files", role: "combobox", autocomplete: "off",
    "aria-controls": "file-list", "aria-expanded": "true",
  });
  const list = el("div", { class: "file-list", id: "file-list", role: "listbox", "aria-label": "Files" });
  const count = el("div", { class: "quiet", "aria-live": "polite", id: "file-count" });
  const popup = el("div", { class: "files menu", hidden: true }, search, list, count);
  const holder = el("span", { class: "holder" }, previous, button, next, popup);

  const activate = (index: number): void => {
    list.children[active]?.classList.remove("active");
    active = Math.min(Math.max(index, 0), list.children.length - 1);
    const row = list.children[active];
    row?.classList.add("active");
    row?.scrollIntoView({ block: "nearest" });
    search.setAttribute("aria-activedescendant", row?.id ?? "");
  };
  const fill = (): void => {
    const found = matchingFiles(files, search.value);
    replace(list, ...found.map(({ id, name: path }) => el(
      "div", { class: "option", role: "option", id: `file-${id}`, "aria-selected": String(id === shown), title: path },
      `${baseName(path)} `, el("span", { class: "quiet" }, folderOf(path)),
    )));
    const all = counted(files.length, "file");
    count.textContent = found.length === files.length ? all : `${found.length} of ${all}`;
    active = -1;
    activate(search.value ? 0 : found.findIndex(({ id }) => id === shown));
  };
  const open = (): void => {
    popup.hidden = false;
    button.setAttribute("aria-expanded", "true");
    search.value = "";
    fill();
    search.focus();
  };
  const close = (returnFocus: boolean): void => {
    popup.hidden = true;
    button.setAttribute("aria-expanded", "false");
    list.replaceChildren();
    if (returnFocus) button.focus();
  };
  const pick = (option: Element | undefined): void => {
    if (!option) return;
    const file = Number(option.id.slice("file-".length));
    close(true);
    choose(file);
  };
  const update = (): void => {
    const at = files.findIndex(({ id }) => id === shown);
    const path = files[at]?.name ?? "";
    name.textContent = baseName(path);
    name.title = path;
    place.textContent = files.length > 1 ? `${at + 1}/${files.length}` : "";
    previous.hidden = next.hidden = files.length < 2;
    previous.disabled = at <= 0;
    next.disabled = at >= files.length - 1;
  };
  search.addEventListener("input", fill);
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the search keeps the focus
  list.addEventListener("click", (event) => pick((event.target as Element).closest(".option") ?? undefined));
  holder.addEventListener("focusout", (event) => {
    if (!popup.hidden && !holder.contains(event.relatedTarget as Node | null)) close(false);
  });
  popup.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ((list.firstElementChild as HTMLElement | null)?.offsetHeight || 1)) - 1);
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[event.key];
    if (move !== undefined) activate(active + move);
    else if (event.key === "Enter") pick(list.children[active]);
    else if (event.key === "Escape") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element: holder,
    list: (all) => {
      files = all;
      update();
      if (!popup.hidden) fill();
    },
    show: (file, flaw) => {
      shown = file;
      mark.hidden = !flaw;
      mark.title = mark.ariaLabel = flaw;
      update();
    },
  };
}
