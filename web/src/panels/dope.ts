// The dope sheet: rows for nodes and their tracks, with a mark for each key.
import { el } from "../dom";
import { Scale } from "../scale";
import { selectKey, selectTrack } from "../selecting";
import type { Store } from "../store";
import { keyCount, keysBetween, nearestKey } from "../times";
import type { SceneInfo } from "../types";
import { fitText, line, Picture, type Brush } from "./canvas";
import { dragToScroll, scrollbar } from "./scrollbar";
import { drawPlayhead, drawRuler, listenToTime, RULER } from "./ruler";

const ROW = 17;
const LABELS = 210;
const LABEL_SHARE = 0.36; // in a narrow window

export interface DopeRow { node: number | null; track: number | null; keys: number }

/** Indices of tracks by node (null for channels without a node); with `movingOnly`, only tracks whose values change. */
export function tracksByNode(info: SceneInfo, movingOnly = false): Map<number | null, number[]> {
  const tracks = new Map<number | null, number[]>();
  info.tracks.forEach((track, index) => {
    if (movingOnly && !track.moves) return;
    const list = tracks.get(track.node);
    if (list) list.push(index);
    else tracks.set(track.node, [index]);
  });
  return tracks;
}

/** A row for each node with tracks, followed by a row for each of its tracks. Channels without a node come last. */
export function dopeRows(info: SceneInfo, tracks = tracksByNode(info)): DopeRow[] {
  const rows: DopeRow[] = [];
  for (const node of [...tracks.keys()].sort((a, b) => (a ?? Infinity) - (b ?? Infinity))) {
    const nodeTracks = tracks.get(node) ?? [];
    const counts = nodeTracks.map((track) => keyCount(info.tracks[track] as SceneInfo["tracks"][number]));
    rows.push({ node, track: null, keys: counts.reduce((sum, count) => sum + count, 0) });
    nodeTracks.forEach((track, index) => rows.push({ node, track, keys: counts[index] ?? 0 }));
  }
  return rows;
}

export function dopeSheet(store: Store): { element: HTMLElement; draw: () => void } {
  let rows: DopeRow[] = [];
  let tracks = new Map<number | null, number[]>();
  let top = 0;
  const picture = new Picture("Dope sheet: arrows select tracks and keys", (brush) => paint(brush));
  const canvas = picture.canvas;
  canvas.id = "dope";
  const labelWidth = (): number => Math.min(LABELS, Math.round(LABEL_SHARE * canvas.clientWidth));
  const scale = (): Scale => new Scale(store.state.window, labelWidth(), canvas.clientWidth - 10);
  const maxScroll = (): number => Math.max(0, rows.length * ROW - (canvas.clientHeight - RULER));
  const scrollTo = (value: number): void => {
    top = Math.min(Math.max(value, 0), maxScroll());
    picture.draw();
  };
  const bar = scrollbar("dope", (value) => scrollTo(value));
  const rowAt = (y: number): number => Math.floor((y - RULER + top) / ROW);

  const paint = (brush: Brush): void => {
    const { context, width, height, color } = brush;
    const { state } = store;
    const info = state.info;
    const timeScale = scale();
    top = Math.min(top, maxScroll());
    bar.show(top, height - RULER, rows.length * ROW);
    drawRuler(brush, timeScale, store.state.info?.timing);
    if (!info) return;
    context.save();
    context.beginPath();
    context.rect(0, RULER, width, height - RULER);
    context.clip();
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (let index = Math.max(0, rowAt(RULER)); index < rows.length; index++) {
      const row = rows[index] as DopeRow;
      const y = RULER + index * ROW - top;
      if (y > height) break;
      drawRow(brush, info, row, y, timeScale);
    }
    context.restore();
    drawPlayhead(brush, timeScale, state.frame);
    context.strokeStyle = color("line");
    line(context, timeScale.left - 0.5, 0, timeScale.left - 0.5, height);
    if (!rows.length) {
      context.fillStyle = color("quiet");
      context.textAlign = "left";
      context.fillText(info.tracks.length ? "Nothing moves." : "There are no keys.", timeScale.left + 12, RULER + 16);
    }
  };
  const drawRow = (brush: Brush, info: SceneInfo, row: DopeRow, y: number, timeScale: Scale): void => {
    const { context, width, color } = brush;
    const { state } = store;
    const selected = row.track === null ? row.node !== null && row.node === state.node : row.track === state.track;
    if (selected) {
      context.fillStyle = color("chosen");
      context.fillRect(0, y, width, ROW);
    }
    context.fillStyle = color(row.track === null ? "text" : "quiet");
    const track = row.track === null ? null : info.tracks[row.track];
    const label = track ? track.kind : row.node === null ? "Unknown channels" : (info.nodes[row.node]?.name ?? "");
    const indent = track ? 22 : 8;
    context.fillText(fitText(context, label, timeScale.left - indent - 46), indent, y + ROW / 2 + 1);
    context.textAlign = "right";
    context.fillStyle = color("quiet");
    context.fillText(String(row.keys), timeScale.left - 8, y + ROW / 2 + 1);
    context.textAlign = "left";
    const shown = row.track === null ? (tracks.get(row.node) ?? []) : [row.track];
    const { from, to } = timeScale.window;
    context.save();
    context.beginPath();
    context.rect(timeScale.left, y, width - timeScale.left, ROW);
    context.clip();
    for (const number of shown) {
      const keyed = info.tracks[number];
      if (!keyed) continue;
      context.fillStyle = color(track && keyed.node !== null ? `kind-${keyed.kind}` : "quiet");
      let lastX = -9;
      for (const [key, time] of keysBetween(keyed, from - 10 * timeScale.perPixel, to + 10 * timeScale.perPixel)) {
        const x = timeScale.x(time);
        const chosen = number === state.track && key === state.key && track !== null;
        if (Math.abs(x - lastX) < 0.7 && !chosen) continue; // the mark would cover the previous one
        lastX = x;
        diamond(context, x, y + ROW / 2, track ? (chosen ? 6 : 4.2) : 2.4);
        if (chosen) {
          context.strokeStyle = color("playhead");
          context.lineWidth = 1.5;
          context.stroke();
          context.lineWidth = 1;
        }
      }
    }
    context.restore();
  };
  canvas.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.shiftKey || event.metaKey) return;
    scrollTo(top + event.deltaY);
    event.preventDefault();
  }, { passive: false });
  dragToScroll(canvas, RULER, (pixels) => scrollTo(top + pixels));
  canvas.addEventListener("click", (event) => {
    const row = rows[rowAt(event.offsetY)];
    const info = store.state.info;
    if (event.offsetY < RULER || !row || !info) return;
    const rowTracks = row.track !== null ? [row.track] : (tracks.get(row.node) ?? []);
    const timeScale = scale();
    if (event.offsetX > timeScale.left) {
      for (const track of rowTracks) {
        const clicked = info.tracks[track];
        const key = clicked && nearestKey(clicked, timeScale.frame(event.offsetX), 6 * timeScale.perPixel);
        if (key !== null && key !== undefined) return selectKey(store, track, key);
      }
    }
    if (rowTracks[0] !== undefined) selectTrack(store, row.track ?? rowTracks[0]);
  });
  canvas.addEventListener("keydown", (event) => {
    const info = store.state.info;
    if (!info) return;
    const shownTracks = rows.flatMap((row) => row.track ?? []);
    const at = shownTracks.indexOf(store.state.track ?? -1);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = shownTracks[Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), shownTracks.length - 1)];
      if (next !== undefined) selectTrack(store, next);
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      const page = canvas.clientHeight - RULER - ROW;
      scrollTo(top + (event.key === "PageDown" ? page : -page));
    } else if (!event.shiftKey && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      const track = store.state.track;
      const count = track === null ? 0 : keyCount(info.tracks[track] as SceneInfo["tracks"][number]);
      if (track === null || !count) return;
      const key = (store.state.key ?? (event.key === "ArrowRight" ? -1 : count)) + (event.key === "ArrowRight" ? 1 : -1);
      selectKey(store, track, Math.min(Math.max(key, 0), count - 1));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  listenToTime(canvas, store, scale);
  store.on(["info", "movingOnly"], (state) => {
    tracks = state.info ? tracksByNode(state.info, state.movingOnly) : new Map();
    rows = state.info ? dopeRows(state.info, tracks) : [];
    top = 0;
    picture.draw();
  });
  store.on(["track", "node"], (state) => {
    const index = rows.findIndex((row) => row.track === state.track && row.track !== null);
    const y = index * ROW;
    if (index >= 0 && (y < top || y + ROW > top + canvas.clientHeight - RULER)) {
      scrollTo(y - (canvas.clientHeight - RULER) / 2);
    }
  });
  store.on(["frame", "track", "key", "node", "window"], () => picture.draw());
  return { element: el("div", { class: "beside" }, canvas, bar.element), draw: () => picture.draw() };
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number, size: number): void {
  context.beginPath();
  context.moveTo(x, y - size);
  context.lineTo(x + size, y);
  context.lineTo(x, y + size);
  context.lineTo(x - size, y);
  context.closePath();
  context.fill();
}
