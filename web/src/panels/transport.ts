// Playback controls: play, loop, speed, clip, frame, scrubbing and time.
import { el, fillSelect, setPressed, toggle, type Choice } from "../dom";
import { secondsText, short } from "../format";
import { restart } from "../playback";
import { readSetting, writeSetting } from "../settings";
import type { State, Store } from "../store";
import { neighbourTime } from "../times";
import type { SceneInfo, Timing } from "../types";

export const rangeOf = (timing: Timing | null | undefined): { start: number; end: number; rate: number } =>
  timing ? { start: timing.start, end: timing.end, rate: timing.rate } : { start: 0, end: 0, rate: 30 };

const AUTOPLAY = "keyframer_autoplay";

/** Whether opened files are played at once: as the user has chosen, or else unless the system asks for less motion. */
export function autoplay(): boolean {
  const chosen = readSetting(AUTOPLAY);
  return chosen ? chosen === "yes" : !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Whether playing a file changes the picture. */
export const hasMotion = ({ timing, tracks }: SceneInfo): boolean =>
  timing !== null && timing.end > timing.start && tracks.some((track) => track.moves);

export function play(store: Store): void {
  const { state } = store;
  if (state.playing) store.set({ playing: false });
  else store.set(restart(state, rangeOf(state.info?.timing)));
}

export function stepKey(store: Store, direction: 1 | -1): void {
  const { info, node, frame } = store.state;
  const tracks = (info?.tracks ?? []).filter((track) => node === null || track.node === node);
  const next = neighbourTime(tracks, frame, direction) ?? neighbourTime(info?.tracks ?? [], frame, direction);
  if (next !== null) store.set({ frame: next, playing: false });
}

export function stepFrame(store: Store, frames: number): void {
  const { info, frame } = store.state;
  const { start, end } = rangeOf(info?.timing);
  store.set({ frame: Math.min(Math.max(Math.round(frame + frames), start), end), playing: false });
}

/** Labels of clips. A clip without a name, or with the name of an earlier clip, gets its number. */
export const clipLabels = (clips: string[]): Choice[] =>
  clips.map((name, number) => ({ value: String(number), label: !name || clips.indexOf(name) !== number ? `${name} ${number + 1}`.trim() : name }));

export function transport(store: Store, choose: (clip: number) => void): HTMLElement {
  const button = (label: string, title: string, act: () => void, id = ""): HTMLButtonElement =>
    el("button", { type: "button", title, "aria-label": title, onclick: act, id: id || undefined }, label);
  const edge = (which: "start" | "end"): void =>
    store.set({ frame: rangeOf(store.state.info?.timing)[which], playing: false });
  const playing = button("▶", "Play or pause (Space)", () => play(store), "play");
  const loop = toggle("Loop", "Loop (L)", true, (on) => store.set({ loop: on }));
  loop.id = "loop";
  const auto = toggle("Auto", "Play files when they are opened; the choice is remembered", store.state.autoplay, (on) => {
    store.set({ autoplay: on });
    writeSetting(AUTOPLAY, on ? "yes" : "no");
  });
  auto.id = "autoplay";
  const scrub = el("input", { type: "range", class: "scrub", "aria-label": "Frame", step: "any", id: "scrub" });
  const frame = el("input", { type: "number", class: "frame", "aria-label": "Frame number", step: "1", id: "frame" });
  const clock = el("span");
  const rate = el("span", { class: "rate" });
  const time = el("output", { class: "time", id: "time" }, clock, rate);
  const clip = el("select", { "aria-label": "Clip", id: "clip", hidden: true });
  clip.addEventListener("change", () => choose(Number(clip.value)));
  const speed = el("select", { "aria-label": "Speed", id: "speed" });
  for (const value of ["0.1", "0.25", "0.5", "1", "2", "4", "-1"]) {
    speed.append(el("option", { value, ...(value === "1" ? { selected: true } : {}) }, `${value}×`));
  }
  speed.addEventListener("change", () => store.set({ speed: Number(speed.value) }));
  scrub.addEventListener("input", () => store.set({ frame: Number(scrub.value), playing: false }));
  frame.addEventListener("change", () => {
    const wanted = frame.value.trim() === "" ? NaN : Number(frame.value);
    const timing = store.state.info?.timing;
    if (Number.isFinite(wanted) && timing) {
      store.set({ frame: Math.min(Math.max(wanted, timing.first), timing.last), playing: false });
    }
    frame.value = String(Number(store.state.frame.toFixed(2))); // the actual frame, whatever was typed
  });

  let shownInfo: State["info"] = null; // another file or clip resets the frame box, even while the user types
  const show = (state: State): void => {
    const timing = state.info?.timing;
    scrub.value = String(state.frame);
    if (document.activeElement !== frame || state.playing || state.info !== shownInfo) {
      frame.value = String(Number(state.frame.toFixed(2)));
    }
    shownInfo = state.info;
    const range = rangeOf(timing);
    const elapsed = (state.frame - (timing?.first ?? 0)) / range.rate;
    const total = (range.end - (timing?.first ?? 0)) / range.rate;
    clock.textContent = `${secondsText(elapsed)} / ${secondsText(total)}`;
    rate.textContent = ` · ${short(range.rate)} frames/s`;
    playing.textContent = state.playing ? "❚❚" : "▶";
    setPressed(playing, state.playing);
    setPressed(loop, state.loop);
  };
  store.on(["info", "clip"], ({ info, clip: chosen }) => {
    clip.hidden = (info?.clips.length ?? 0) < 2;
    fillSelect(clip, clipLabels(info?.clips ?? []), String(chosen));
  });
  store.on(["info"], (state) => {
    const timing = state.info?.timing;
    const { start, end } = rangeOf(timing);
    scrub.min = String(timing?.first ?? 0); // also the frames that are not played
    scrub.max = String(timing?.last ?? 0);
    scrub.disabled = !(end > start);
    frame.min = String(timing?.first ?? 0);
    frame.max = String(timing?.last ?? 0);
    show(state);
  });
  store.on(["frame", "playing", "loop", "info"], show);
  return el(
    "div", { class: "transport", role: "group", "aria-label": "Playback" },
    button("|◂", "To the start (Home)", () => edge("start")),
    button("◆◂", "Previous key (,)", () => stepKey(store, -1)),
    playing,
    button("▸◆", "Next key (.)", () => stepKey(store, 1)),
    button("▸|", "To the end (End)", () => edge("end")),
    clip, loop, auto, speed, frame, scrub, time,
  );
}
