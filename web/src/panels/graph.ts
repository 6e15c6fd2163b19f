// The graph: the curve of the selected track as Keyframer samples it, with its keys.
import { el, fillSelect, replace } from "../dom";
import { counted, short } from "../format";
import { Scale, ticks } from "../scale";
import { selectKey, selectTrack } from "../selecting";
import type { Data } from "../source";
import type { Store } from "../store";
import { keyCount } from "../times";
import type { Column, TrackData } from "../types";
import { line, Picture, type Brush } from "./canvas";
import { drawPlayhead, drawRuler, listenToTime, RULER } from "./ruler";

const AXIS = 56;
const SHAPES = ["tension", "continuity", "bias", "ease_to", "ease_from"] as const;

export interface Bounds { low: number; high: number }

/** The range of all values with a margin, even if all values are equal; -1 to 1 without values. */
export function boundsOf(columns: Column[]): Bounds {
  let low = Infinity;
  let high = -Infinity;
  for (const column of columns) {
    for (const value of column) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!(high >= low)) return { low: -1, high: 1 };
  const margin = (high - low) * 0.12 || Math.max(Math.abs(high) * 0.1, 0.5);
  return { low: low - margin, high: high + margin };
}

export function graphPanel(store: Store, data: Data): { element: HTMLElement; draw: () => void } {
  let loaded: TrackData | null = null;
  let loadedId: string | null = null;
  let failure = "";
  const chooser = el("select", { "aria-label": "Track", id: "track" });
  const legend = el("span", { class: "legend" });
  const table = el("div", { class: "keys", id: "key-details", "aria-live": "polite" });
  const picture = new Picture("Curve of the selected track: left and right move between its keys", (brush) => paint(brush));
  const canvas = picture.canvas;
  canvas.id = "graph";
  const scale = (): Scale => new Scale(store.state.window, AXIS, canvas.clientWidth - 10);

  const paint = (brush: Brush): void => {
    const { context, width, height, color } = brush;
    const { state } = store;
    const timeScale = scale();
    drawRuler(brush, timeScale, store.state.info?.timing);
    if (!loaded) {
      context.fillStyle = color("quiet");
      context.textAlign = "left";
      context.fillText(state.track === null ? "Select a node or a track." : failure || "Loading…", AXIS + 12, RULER + 18);
      return;
    }
    const bounds = boundsOf([...loaded.curve.values, ...loaded.keys.shown]);
    const y = (value: number): number => height - 8 - ((value - bounds.low) / (bounds.high - bounds.low)) * (height - RULER - 16);
    context.textAlign = "right";
    for (const tick of ticks(bounds.low, bounds.high, height / 40)) {
      context.strokeStyle = color("line");
      line(context, AXIS, y(tick), width, y(tick));
      context.fillStyle = color("quiet");
      context.fillText(short(tick), AXIS - 6, y(tick));
    }
    context.save();
    context.beginPath();
    context.rect(AXIS, RULER, width - AXIS, height - RULER);
    context.clip();
    loaded.curve.values.forEach((column, part) => drawCurve(brush, loaded as TrackData, column, part, timeScale, y));
    loaded.keys.shown.forEach((column, part) => drawKeys(brush, loaded as TrackData, column, part, timeScale, y));
    context.restore();
    drawPlayhead(brush, timeScale, state.frame);
  };
  const drawCurve = (
    { context, color }: Brush, track: TrackData, column: Column, part: number, timeScale: Scale, y: (value: number) => number,
  ): void => {
    context.strokeStyle = color(`part-${part % 4}`);
    context.lineWidth = 1.6;
    context.beginPath();
    let drawing = false;
    column.forEach((value, index) => {
      const time = track.curve.times[index];
      if (value === null || time === null || time === undefined) return void (drawing = false);
      if (drawing) context.lineTo(timeScale.x(time), y(value));
      else context.moveTo(timeScale.x(time), y(value));
      drawing = true;
    });
    context.stroke();
    context.lineWidth = 1;
  };
  const drawKeys = (
    { context, color }: Brush, track: TrackData, column: Column, part: number, timeScale: Scale, y: (value: number) => number,
  ): void => {
    const [plain, chosen] = [color(`part-${part % 4}`), color("playhead")];
    let lastX = -Infinity;
    column.forEach((value, key) => {
      const time = track.keys.times[key];
      if (value === null || time === null || time === undefined || time < timeScale.window.from || time > timeScale.window.to) return;
      const [x, selected] = [timeScale.x(time), key === store.state.key];
      if (Math.abs(x - lastX) < 0.7 && !selected) return; // the mark would cover the previous one
      lastX = x;
      context.fillStyle = selected ? chosen : plain;
      context.beginPath();
      context.arc(x, y(value), selected ? 5 : 3.2, 0, 7);
      context.fill();
    });
  };
  const details = (): void => {
    if (!loaded) return replace(table, failure ? el("p", { class: "quiet" }, failure) : null);
    const { keys } = loaded;
    const { info, track } = store.state;
    if (!keys.times.length) return replace(table, el("p", { class: "quiet" }, "This track has no keys."));
    const key = Math.min(store.state.key ?? 0, keys.times.length - 1);
    const cell = (name: string, value: string): HTMLElement =>
      el("div", { class: "pair" }, el("dt", {}, name), el("dd", {}, value));
    const shaped = info?.tracks[track ?? -1]?.interpolation === "tcb" || SHAPES.some((name) => keys[name]);
    const shape = (column: Column | undefined): string => short(column?.[key] ?? 0);
    replace(
      table,
      el(
        "dl", { class: "two" },
        cell("key", `${key + 1} of ${keys.times.length}`),
        cell("frame", short(keys.times[key] ?? null)),
        cell(loaded.form === "none" ? "value" : loaded.form.replaceAll("_", " "), keys.values.map((c) => short(c[key] ?? null)).join("  ")),
        ...(shaped ? SHAPES.map((name) => cell(name.replace("_", " "), shape(keys[name]))) : []),
        keys.flags ? cell("flags", `0x${(keys.flags[key] ?? 0).toString(16)}`) : null,
      ),
    );
  };
  const load = async (): Promise<void> => {
    const { info, file, track, node } = store.state;
    const nodeTracks = (info?.tracks ?? []).map((item, index) => ({ item, index })).filter(({ item }) => item.node === node);
    fillSelect(
      chooser,
      nodeTracks.map(({ item, index }) => ({
        value: String(index),
        label: `${item.kind} (${counted(keyCount(item), "key")}, ${item.interpolation}${item.wrap === "single" ? "" : `, ${item.wrap}`})`,
      })),
      String(track ?? ""),
    );
    const number = track === null ? undefined : info?.tracks[track]?.number;
    const id = number === undefined ? null : `${file}/${number}`;
    if (id !== loadedId) {
      loadedId = id;
      loaded = null;
      failure = "";
      if (number !== undefined) {
        const answer = await data.track(file, number).catch((error: unknown) => String(error instanceof Error ? error.message : error));
        if (loadedId !== id) return;
        if (typeof answer === "string") failure = answer;
        else loaded = answer;
      }
    }
    replace(legend, loaded?.note ? el("span", { class: "quiet" }, loaded.note) : null, ...(loaded?.components ?? []).flatMap((name, part) => [
      el("span", { class: `part part-${part % 4}` }, `${name}${loaded?.unit ? ` (${loaded.unit})` : ""}`),
    ]));
    details();
    picture.draw();
  };
  chooser.addEventListener("change", () => selectTrack(store, Number(chooser.value)));
  canvas.addEventListener("click", (event) => {
    if (!loaded || store.state.track === null || event.offsetY < RULER) return;
    const timeScale = scale();
    let best: number | null = null;
    loaded.keys.times.forEach((time, key) => {
      if (time === null || Math.abs(timeScale.x(time) - event.offsetX) > 8) return;
      const bestTime = best === null ? null : loaded?.keys.times[best];
      if (bestTime === null || bestTime === undefined || Math.abs(timeScale.x(time) - event.offsetX) < Math.abs(timeScale.x(bestTime) - event.offsetX)) best = key;
    });
    if (best !== null) selectKey(store, store.state.track, best);
  });
  canvas.addEventListener("keydown", (event) => {
    const { track, key } = store.state;
    if (track === null || !loaded || event.shiftKey || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
    const step = event.key === "ArrowRight" ? 1 : -1;
    const next = Math.min(Math.max((key ?? -1) + step, 0), loaded.keys.times.length - 1);
    selectKey(store, track, next);
    event.preventDefault();
    event.stopPropagation();
  });
  listenToTime(canvas, store, scale);
  store.on(["track", "file", "info", "node"], () => void load());
  store.on(["frame", "window"], () => picture.draw());
  store.on(["key"], () => {
    details();
    picture.draw();
  });
  const head = el("div", { class: "head" }, el("label", {}, "Track ", chooser), legend);
  return {
    element: el("div", { class: "graph" }, el("div", { class: "curve" }, head, canvas), table),
    draw: () => picture.draw(),
  };
}
