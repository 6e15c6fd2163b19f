// The byte view: the file as it is, with what is selected marked, and the records that each byte lies in.
import { el, replace } from "../dom";
import { bytesText, hex, offsetText, parseOffset, visible } from "../format";
import { contains, firstByte, placeText, type Place, type Span } from "../place";
import type { Data } from "../source";
import type { Store } from "../store";
import type { RecordTable } from "../types";

const WIDTH = 16;
const LINE = 16;

/** The records that a byte lies in, outermost first. */
export function recordsAt(table: RecordTable, offset: number): number[] {
  let low = 0;
  let high = table.starts.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if ((table.starts[half] ?? 0) <= offset) low = half + 1;
    else high = half;
  }
  const found: number[] = [];
  for (let at = low - 1; at >= 0; at = table.parents[at] ?? -1) {
    if ((table.starts[at] ?? 0) <= offset && offset < (table.ends[at] ?? 0)) found.unshift(at);
  }
  return found;
}

export function bytesPanel(store: Store, data: Data, block: number): { element: HTMLElement; draw: () => void } {
  const dump = el("div", { class: "dump", tabindex: 0, role: "application", id: "dump", "aria-label": "Bytes: arrows and page keys move" });
  const chain = el("div", { class: "chain", id: "chain" });
  const where = el("output", { class: "quiet", id: "where" });
  const go = el("input", { type: "text", class: "go", placeholder: "Go to 0x…", "aria-label": "Go to offset", id: "goto" });
  let top = 0;
  let table: RecordTable | null = null;
  let drawn = 0;

  const size = (): number => store.state.info?.size ?? 0;
  const lines = (): number => Math.max(1, Math.floor(dump.clientHeight / LINE));
  const lastTop = (): number => Math.max(0, Math.ceil(size() / WIDTH) - lines());
  const scrollTo = (row: number): void => {
    top = Math.min(Math.max(Math.floor(row), 0), lastTop());
    void draw();
  };

  const draw = async (): Promise<void> => {
    const turn = ++drawn;
    const { info, file, span, nowhere } = store.state;
    if (!info || !dump.clientHeight) return;
    const begin = top * WIDTH;
    const end = Math.min(begin + lines() * WIDTH, info.size);
    const bytes = await read(file, begin, end);
    if (turn !== drawn) return;
    const rows: HTMLElement[] = [];
    for (let at = begin; at < end; at += WIDTH) rows.push(row(bytes, begin, at, Math.min(at + WIDTH, end), span));
    replace(dump, ...rows);
    where.textContent = [nowhere, span ? placeText(span) : nowhere ? "" : bytesText(info.size)].filter(Boolean).join(" ");
  };
  const read = async (file: number, begin: number, end: number): Promise<Uint8Array> => {
    const made = new Uint8Array(end - begin);
    for (let number = Math.floor(begin / block); number * block < end; number++) {
      const part = new Uint8Array(await data.block(file, number));
      const from = Math.max(begin, number * block);
      made.set(part.subarray(from - number * block, end - number * block), from - begin);
    }
    return made;
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
      pick(Math.min(from + Math.max(column, 0), to - 1));
    });
    return el("div", { class: "bytes" }, el("span", { class: "offset" }, hex(from, 8)), codes, texts);
  };
  const pick = (offset: number): void => {
    const records = table ? recordsAt(table, offset) : [];
    const inner = records.at(-1);
    const span: Span = inner === undefined || !table ? [offset, offset + 1] : [table.starts[inner] ?? 0, table.ends[inner] ?? 0];
    store.set({ span, nowhere: "" });
    showChain(offset);
  };
  const showChain = (offset: number): void => {
    if (!table) return replace(chain);
    const known = table;
    const found = recordsAt(known, offset);
    const cut = known.total > known.starts.length
      ? el("p", { class: "notice", id: "cut" }, `Only the first ${known.starts.length.toLocaleString("en")} of ${known.total.toLocaleString("en")} records are listed here.`)
      : null;
    replace(chain, cut, el("div", { class: "quiet" }, `Records at ${offsetText(offset)}`), ...found.map((record, depth) => {
      const span: Span = [known.starts[record] ?? 0, known.ends[record] ?? 0];
      const made = el(
        "button", { type: "button", class: "link", onclick: () => store.set({ span, nowhere: "" }) },
        el("span", {}, known.names[record] ?? ""),
        el("span", { class: "quiet" }, ` ${offsetText(span[0])}, ${bytesText(span[1] - span[0])}`),
      );
      made.style.paddingInlineStart = `${4 + 10 * depth}px`;
      return made;
    }));
  };
  dump.addEventListener("wheel", (event) => {
    scrollTo(top + Math.sign(event.deltaY) * Math.max(1, Math.round(Math.abs(event.deltaY) / LINE / 2)));
    event.preventDefault();
  }, { passive: false });
  dump.addEventListener("keydown", (event) => {
    const step = {
      ArrowDown: 1, ArrowUp: -1, PageDown: lines() - 1, PageUp: 1 - lines(), Home: -1e12, End: 1e12,
    }[event.key];
    if (step === undefined) return;
    scrollTo(top + step);
    event.preventDefault();
    event.stopPropagation();
  });
  go.addEventListener("change", () => {
    const offset = parseOffset(go.value);
    if (offset !== null && offset < size()) pick(offset);
  });
  const follow = (): void => {
    const { span } = store.state;
    if (span) {
      const first = Math.floor(firstByte(span) / WIDTH);
      if (first < top || first >= top + lines() - 1) top = Math.min(Math.max(first - 2, 0), lastTop());
      showChain(firstByte(span));
    }
    void draw();
  };
  store.on(["info"], (state) => {
    table = null;
    top = 0;
    replace(chain);
    if (state.info?.size) {
      void data.records(state.file).then((found) => {
        table = found;
        follow();
      }, () => undefined);
    }
    follow();
  });
  store.on(["span", "nowhere", "lower"], () => requestAnimationFrame(follow));
  new ResizeObserver(() => void draw()).observe(dump);
  const head = el("div", { class: "head" }, go, where);
  return { element: el("div", { class: "hexes" }, el("div", { class: "hexdump" }, head, dump), chain), draw: () => follow() };
}
