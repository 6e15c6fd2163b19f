// The byte view: a hex dump of the file in which the selection is highlighted, and the records around the selection.
import { el, replace } from "../dom";
import { bytesText, hex, offsetText, parseOffset, visible } from "../format";
import { contains, firstByte, placeText, type Place } from "../place";
import { dragToScroll, scrollbar } from "./scrollbar";
import { recordsAt, type FoundRecord } from "../records";
import type { Data } from "../source";
import type { Store } from "../store";

const WIDTH = 16;
const LINE = 16;

export function bytesPanel(store: Store, data: Data, block: number): { element: HTMLElement; draw: () => void } {
  const dump = el("div", { class: "dump", tabindex: 0, role: "application", id: "dump", "aria-label": "Bytes: arrows and page keys scroll" });
  const chain = el("div", { class: "chain", id: "chain" });
  const where = el("output", { class: "quiet", id: "where" });
  const offsetInput = el("input", { type: "text", class: "go", placeholder: "Go to 0x…", "aria-label": "Go to offset", id: "goto" });
  let top = 0;
  let drawRequest = 0;
  let chainRequest = 0;

  const size = (): number => store.state.info?.size ?? 0;
  const lines = (): number => Math.max(1, Math.floor(dump.clientHeight / LINE));
  const lastTop = (): number => Math.max(0, Math.ceil(size() / WIDTH) - lines());
  const scrollTo = (row: number): void => {
    top = Math.min(Math.max(Math.floor(row), 0), lastTop());
    void draw();
  };

  const bar = scrollbar("dump", (row) => scrollTo(row));
  const draw = async (): Promise<void> => {
    const request = ++drawRequest;
    const { info, file, span, nowhere } = store.state;
    if (!info || !dump.clientHeight) return;
    top = Math.min(top, lastTop());
    bar.show(top, lines(), Math.ceil(info.size / WIDTH));
    const begin = top * WIDTH;
    const end = Math.min(begin + lines() * WIDTH, info.size);
    const bytes = await read(file, begin, end).catch((error: unknown) => String(error instanceof Error ? error.message : error));
    if (request !== drawRequest) return;
    if (typeof bytes === "string") {
      where.textContent = bytes;
      return replace(dump);
    }
    const rows: HTMLElement[] = [];
    for (let at = begin; at < end; at += WIDTH) rows.push(row(bytes, begin, at, Math.min(at + WIDTH, end), span));
    replace(dump, ...rows);
    where.textContent = [nowhere, span ? placeText(span) : nowhere ? "" : bytesText(info.size)].filter(Boolean).join(" ");
  };
  const read = async (file: number, begin: number, end: number): Promise<Uint8Array> => {
    const bytes = new Uint8Array(end - begin);
    for (let number = Math.floor(begin / block); number * block < end; number++) {
      const part = new Uint8Array(await data.block(file, number));
      const from = Math.max(begin, number * block);
      bytes.set(part.subarray(from - number * block, end - number * block), from - begin);
    }
    return bytes;
  };
  const row = (bytes: Uint8Array, begin: number, from: number, to: number, span: Place | null): HTMLElement => {
    const codes = el("span", { class: "codes" });
    const texts = el("span", { class: "texts" });
    for (let at = from; at < to;) {
      const inside = span !== null && contains(span, at);
      let next = at + 1;
      while (next < to && (span !== null && contains(span, next)) === inside) next++;
      const part = [...bytes.subarray(at - begin, next - begin)];
      const marked = inside ? "marked" : "";
      codes.append(el("span", { class: marked }, part.map((byte) => `${hex(byte)} `).join("")));
      texts.append(el("span", { class: marked }, part.map(visible).join("")));
      at = next;
    }
    codes.addEventListener("click", (event) => {
      const column = Math.floor((event.clientX - codes.getBoundingClientRect().left) / (codes.clientWidth / WIDTH || 1));
      void pick(Math.min(from + Math.max(column, 0), to - 1));
    });
    return el("div", { class: "bytes" }, el("span", { class: "offset" }, hex(from, 8)), codes, texts);
  };
  /** Highlights the innermost record around a byte, or the byte itself if no record contains it. */
  const pick = async (offset: number): Promise<void> => {
    const { file } = store.state;
    const records = await recordsAt(data, file, offset).catch(() => []);
    if (store.state.file !== file) return;
    store.set({ span: records.at(-1)?.span ?? [offset, offset + 1], nowhere: "" });
  };
  const jumpButton = (text: string, detail: string, span: Place, depth: number): HTMLElement => {
    const button = el(
      "button", { type: "button", class: "link", onclick: () => store.set({ span, nowhere: "" }) },
      el("span", {}, text), el("span", { class: "quiet" }, detail),
    );
    button.style.paddingInlineStart = `${4 + 10 * depth}px`;
    return button;
  };
  const showChain = (offset: number, records: FoundRecord[]): void => {
    replace(
      chain,
      el("div", { class: "quiet" }, `Records at ${offsetText(offset)}`),
      ...records.map(({ name, span: bytes }, depth) => jumpButton(name, ` ${offsetText(bytes[0])}, ${bytesText(bytes[1] - bytes[0])}`, bytes, depth)),
    );
  };
  /** Lists the records around a byte. Only the answer to the latest request is shown. */
  const findChain = async (offset: number): Promise<void> => {
    const request = ++chainRequest;
    const records = await recordsAt(data, store.state.file, offset).catch(() => []);
    if (request === chainRequest) showChain(offset, records);
  };
  dump.addEventListener("wheel", (event) => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return; // sideways, to the text in a narrow window
    scrollTo(top + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / LINE / 2)));
    event.preventDefault();
  }, { passive: false });
  let dragged = 0; // pixels that do not make a line yet
  dragToScroll(dump, 0, (pixels) => {
    const moved = Math.trunc((dragged + pixels) / LINE);
    dragged += pixels - moved * LINE;
    if (moved) scrollTo(top + moved);
  });
  dump.addEventListener("keydown", (event) => {
    const step = {
      ArrowDown: 1, ArrowUp: -1, PageDown: lines() - 1, PageUp: 1 - lines(), Home: -1e12, End: 1e12,
    }[event.key];
    if (step === undefined) return;
    scrollTo(top + step);
    event.preventDefault();
    event.stopPropagation();
  });
  offsetInput.addEventListener("change", () => {
    const offset = parseOffset(offsetInput.value);
    if (offset !== null && offset < size()) void pick(offset);
  });
  const follow = (): void => {
    const { span } = store.state;
    if (span && dump.clientHeight) {
      const offset = firstByte(span);
      const first = Math.floor(offset / WIDTH);
      if (first < top || first >= top + lines() - 1) top = Math.min(Math.max(first - 2, 0), lastTop());
      void findChain(offset);
    }
    void draw();
  };
  store.on(["info"], () => {
    top = 0;
    chainRequest++;
    replace(chain);
    follow();
  });
  store.on(["span", "nowhere", "lower"], () => requestAnimationFrame(follow));
  new ResizeObserver(() => requestAnimationFrame(() => void draw())).observe(dump);
  const head = el("div", { class: "head" }, offsetInput, where);
  return { element: el("div", { class: "hexes" }, el("div", { class: "hexdump" }, head, el("div", { class: "beside" }, dump, bar.element)), chain), draw: () => follow() };
}
