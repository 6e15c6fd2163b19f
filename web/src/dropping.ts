// Collects files that the user drops on the page (with all files in folders), pastes or chooses in a dialog, and packs them
// for the server.
import { el } from "./dom";
import { bytesText } from "./format";

export interface NamedFile { name: string; content: Blob }

const MOST_FILES = 10_000;

/** A dropped file or folder, as browsers describe it. */
export interface Entry {
  isFile: boolean;
  fullPath: string;
  file?: (done: (file: File) => void, failed: (error: unknown) => void) => void;
  createReader?: () => { readEntries: (done: (entries: Entry[]) => void, failed: (error: unknown) => void) => void };
}

/** All dropped files, including those in folders. Throws an error if there are more than `most` files and folders. */
export async function filesBelow(entries: Entry[], most = MOST_FILES): Promise<NamedFile[]> {
  const files: NamedFile[] = [];
  const waiting = [...entries];
  for (let entry = waiting.shift(); entry; entry = waiting.shift()) {
    const { file, createReader, fullPath } = entry;
    if (files.length + waiting.length > most) throw new Error(`More than ${most} files and folders: drop fewer.`);
    if (entry.isFile && file) {
      const content = await new Promise<File>((done, failed) => file.call(entry, done, failed));
      files.push({ name: fullPath.replace(/^\//, ""), content });
    } else if (createReader) {
      const reader = createReader.call(entry);
      for (;;) { // a reader returns some entries at a time, and none at the end
        const batch = await new Promise<Entry[]>((done, failed) => reader.readEntries(done, failed));
        if (!batch.length) break;
        waiting.push(...batch);
        if (files.length + waiting.length > most) throw new Error(`More than ${most} files and folders: drop fewer.`);
      }
    }
  }
  return files;
}

/** The body of the request: the length of the index, the index (names and sizes as JSON), then the contents.
 * Throws an error if the contents are larger than `limit`. */
export function packed(files: NamedFile[], limit: number): Blob {
  const size = files.reduce((sum, { content }) => sum + content.size, 0);
  if (size > limit) throw new Error(`The files have ${bytesText(size)}; the limit is ${bytesText(limit)}.`);
  const index = new TextEncoder().encode(JSON.stringify(files.map(({ name, content }) => [name, content.size])));
  const length = new DataView(new ArrayBuffer(4));
  length.setUint32(0, index.length, true);
  return new Blob([length.buffer, index, ...files.map(({ content }) => content)]);
}

const droppedFiles = (transfer: DataTransfer): Promise<NamedFile[]> => {
  const items = [...transfer.items].filter((item) => item.kind === "file"); // must be read now: browsers clear the list after the event
  const entries = items.flatMap((item) => (item.webkitGetAsEntry() as Entry | null) ?? []);
  if (entries.length === items.length) return filesBelow(entries);
  return Promise.resolve([...transfer.files].map((file) => ({ name: file.name, content: file })));
};

/** Listens for files that are dropped or pasted anywhere on the page. With `refusal`, the overlay only says why they cannot be opened. */
export function listenToDrops(refusal: string, open: (files: Promise<NamedFile[]>) => void): HTMLElement {
  const text = refusal || "Drop scenes with their images. They are read on this machine and kept in memory only.";
  const overlay = el("div", { class: "drop", id: "drop", role: "status", hidden: true }, el("p", {}, text));
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer) event.dataTransfer.dropEffect = refusal ? "none" : "copy";
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) overlay.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    overlay.hidden = true;
    if (!refusal && event.dataTransfer) open(droppedFiles(event.dataTransfer));
  });
  document.addEventListener("paste", (event) => {
    if (refusal || !event.clipboardData?.types.includes("Files")) return;
    event.preventDefault();
    open(droppedFiles(event.clipboardData));
  });
  return overlay;
}

/** A file dialog; with `folder` it takes all files of a folder. */
export function fileInput(id: string, open: (files: Promise<NamedFile[]>) => void, folder = false): HTMLInputElement {
  const chooser = el("input", { type: "file", multiple: true, hidden: true, id, webkitdirectory: folder, "aria-label": folder ? "Folder to open" : "Files to open" });
  chooser.addEventListener("change", () => {
    const files = [...(chooser.files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, content: file }));
    chooser.value = "";
    if (files.length > MOST_FILES) open(Promise.reject(new Error(`More than ${MOST_FILES} files: choose fewer.`)));
    else if (files.length) open(Promise.resolve(files));
  });
  return chooser;
}

/** Buttons that open files or a folder from a dialog, as dropping them does. */
export function openButtons(open: (files: Promise<NamedFile[]>) => void): HTMLElement {
  const [files, folder] = [fileInput("open-files", open), fileInput("open-folder", open, true)];
  return el(
    "span", { class: "holder" }, files, folder,
    el("button", { type: "button", id: "open", title: "Open files, with their images (O); or drop them anywhere", onclick: () => files.click() }, "Open…"),
    el("button", { type: "button", id: "folder", title: "Open all files of a folder", onclick: () => folder.click() }, "Folder…"),
  );
}
