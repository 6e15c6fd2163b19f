// The byte view: a hex dump of the file in which the selection is highlighted, and the records around the selection.
import { el, replace } from "../dom";
import { bytesText, hex, offsetText, parseOffset, visible } from "../format";
import { contains, firstByte, placeText, type Place } from "../place";
import { dragToScroll, scrollbar } from "./scrollbar";
import { recordsAt, type FoundRecord } from "../records";
import type { Data } from "../source";
import type { Store } from "../store";
import type { ByteState, SceneInfo } from "../types";

const WIDTH = 16;
const LINE = 16;
/** Colours of what salvage makes of bytes, as on the page of `keyframer salvage`; a later one covers an earlier one. */
const COLOURS: Record<ByteState, string> = { kept: "#4caf6d", moved: "#4a90d9", repaired: "#e0a030", unknown: "#9a9a9a", dropped: "#d64545" };
const STATES = Object.keys(COLOURS) as ByteState[];
const COLUMNS = 1000;

/** The state of each column of the strip; damage that is thinner than a column is shown as wide as one. */
export function stripStates(map: SceneInfo["map"], size: number, columns = COLUMNS): ByteState[] {
  const states: number[] = new Array<number>(columns).fill(0);
  for (const [start, end, state] of map) {
    const first = Math.floor((start * columns) / size);
    const last = Math.max(first + 1, Math.floor((end * columns) / size));
    for (let column = first; column < Math.min(last, columns); column++) states[column] = Math.max(states[column]!, STATES.indexOf(state));
  }
  return states.map((state) => STATES[state]!);
}

/** The state of a byte; null if the map does not contain it. */
export function stateAt(map: SceneInfo["map"], offset: number): ByteState | null {
  let low = 0;
  let high = map.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (map[middle]![1] <= offset) low = middle + 1;
    else high = middle;
  }
  const part = map[low];
  return part && part[0] <= offset ? part[2] : null;
}

export function bytesPanel(store: Store, data: Data, block: number): { element: HTMLElement; draw: () => void } {
  const dump = el("div", { class: "dump", tabindex: 0, role: "application", id: "dump", "aria-label": "Bytes: arrows and page keys scroll" });
  const chain = el("div", { class: "chain", id: "chain" });
  const where = el("output", { class: "quiet", id: "where" });
  const offsetInput = el("input", { type: "text", class: "go", placeholder: "Go to 0x…", "aria-label": "Go to offset", id: "goto" });
  const strip = el("canvas", { width: COLUMNS, height: 1, id: "byte-map", role: "img", "aria-label": "Map: what salvage makes of the bytes" });
  const legend = el("div", { class: "legend quiet", id: "byte-map-legend" });
  const mapped = el("div", { hidden: true }, strip, legend);
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
    for (let at = begin; at < end; at += WIDTH) rows.push(row(bytes, begin, at, Math.min(at + WIDTH, end), span, info.map));
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
  /** Draws the map of a damaged file as a strip; without damage there is none. */
  const showMap = (info: SceneInfo | null): void => {
    const map = info?.map ?? [];
    mapped.hidden = !map.length;
    if (!info || !map.length) return;
    const picture = strip.getContext("2d");
    stripStates(map, info.size).forEach((state, column) => {
      if (!picture) return;
      picture.fillStyle = COLOURS[state];
      picture.fillRect(column, 0, 1, 1);
    });
    replace(legend, ...STATES.map((state) => {
      const count = map.reduce((sum, [start, end, each]) => (each === state ? sum + end - start : sum), 0);
      const sign = el("span", { class: "sign" });
      sign.style.background = COLOURS[state];
      return count ? el("span", {}, sign, ` ${state}: ${bytesText(count)}`) : null;
    }));
  };
  const row = (bytes: Uint8Array, begin: number, from: number, to: number, span: Place | null, map: SceneInfo["map"]): HTMLElement => {
    const codes = el("span", { class: "codes" });
    const texts = el("span", { class: "texts" });
    for (let at = from; at < to;) {
      const inside = span !== null && contains(span, at);
      const state = stateAt(map, at);
      let next = at + 1;
      while (next < to && (span !== null && contains(span, next)) === inside && stateAt(map, next) === state) next++;
      const part = [...bytes.subarray(at - begin, next - begin)];
      const marked = inside ? "marked" : "";
      for (const [texted, text] of [[codes, part.map((byte) => `${hex(byte)} `).join("")], [texts, part.map(visible).join("")]] as const) {
        const shown = el("span", { class: marked, title: state ?? undefined }, text);
        if (state) shown.style.boxShadow = `inset 0 -2px ${COLOURS[state]}`;
        texted.append(shown);
      }
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
  strip.style.cssText = "display: block; width: 100%; height: 12px; cursor: pointer";
  strip.addEventListener("click", (event) => void pick(Math.min(Math.floor((event.offsetX / strip.clientWidth) * size()), size() - 1)));
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
    showMap(store.state.info);
    top = 0;
    chainRequest++;
    replace(chain);
    follow();
  });
  store.on(["span", "nowhere", "lower"], () => requestAnimationFrame(follow));
  new ResizeObserver(() => requestAnimationFrame(() => void draw())).observe(dump);
  const head = el("div", { class: "head" }, offsetInput, where);
  return { element: el("div", { class: "hexes" }, el("div", { class: "hexdump" }, head, mapped, el("div", { class: "beside" }, dump, bar.element)), chain), draw: () => follow() };
}
