// The page: panels around the 3D view, and the clock of the playback.
import { Activity } from "./activity";
import { el, replace } from "./dom";
import { bytesPanel } from "./panels/bytes";
import { detailsPanel } from "./panels/details";
import { dopeSheet } from "./panels/dope";
import { foldButton } from "./panels/fold";
import { graphPanel } from "./panels/graph";
import { issueCount, issuesPanel } from "./panels/issues";
import { isRecoverable, Notice, RECOVER } from "./panels/notice";
import { narrowWindow, sheets } from "./panels/sheets";
import { splitters } from "./panels/splitters";
import { tabs } from "./panels/tabs";
import { toolbar } from "./panels/toolbar";
import { saveDialog } from "./panels/save";
import { autoplay, hasMotion, rangeOf, transport } from "./panels/transport";
import { treePanel } from "./panels/tree";
import { welcome } from "./panels/welcome";
import { listenToDrops, packed, type NamedFile } from "./dropping";
import { baseName } from "./format";
import { listenToKeys } from "./keys";
import { advance } from "./playback";
import { fitted } from "./scale";
import { save } from "./saving";
import { markKey, selectNode } from "./selecting";
import type { Data } from "./source";
import { Stage } from "./stage/stage";
import { initialState, Store, type State } from "./store";
import { flipTheme, followSystemTheme, stageColors } from "./theme";
import type { Failure, FileEntry, Opened, SceneInfo } from "./types";

export interface App { store: Store; stage: Stage | null; data: Data; activity: Activity; open: (file: number) => Promise<void>; first: number }

const NO_SERVER = "This page cannot open files, because it has no server. Use 'keyframer view FILE'.";

export async function start(container: HTMLElement, data: Data): Promise<App> {
  const { files, block, limit } = await data.files();
  let fileCount = files.length;
  const store = new Store({ ...initialState, autoplay: autoplay() });
  const canvas = el("canvas", { class: "stage", tabindex: 0, "aria-label": "3D view: drag or Shift and arrows to rotate, wheel or plus and minus to zoom", id: "stage" });
  const stage = makeStage(canvas);
  store.on(["node"], ({ node }) => stage?.select(node));
  store.on(["frame", "info"], (state) => seek(stage, state)); // before panels that show where nodes are
  store.on(["hidden"], ({ hidden }) => stage?.setHidden(hidden));
  let opening = Promise.resolve();
  let requested = 0;
  let chosenSide = "details"; // the tab that the user has chosen; a file may show another one
  const open = (file: number): Promise<void> => { // one file at a time; a waiting request is skipped after a request for another file
    requested = file;
    opening = opening.then(async () => {
      if (requested !== file) return;
      await activity.run(async () => {
        const isShown = await openFile(store, data, stage, file, notice, bar.refresh);
        side.show(!isShown ? "issues" : store.state.info?.verdict === "clean" ? "details" : chosenSide);
        return isShown;
      });
      if (requested === file) requested = store.state.file; // still the old file if the new one could not be loaded
    });
    return opening;
  };
  const step = (direction: 1 | -1): void => {
    const file = requested + direction;
    if (file >= 0 && file < fileCount) void open(file);
  };
  const chooseClip = (clip: number): Promise<void> => {
    opening = opening.then(() => activity.run(() => showClip(store, data, stage, clip)));
    return opening;
  };
  const showError = (error: unknown): void => notice.fail(error instanceof Error ? error.message : String(error));
  const activity = new Activity(data.engine === undefined, data.engine, showError);
  const openNew = (request: () => Promise<Opened>): void => void activity.run(async () => {
    notice.say("Reading…");
    const { opened, joined, files: allFiles } = await request();
    list(allFiles);
    const next = joined.includes(store.state.file) ? store.state.file : [...opened, ...joined][0];
    if (next !== undefined) await open(next);
  });
  const openFiles = (chosen: Promise<NamedFile[]>): void => openNew(async () => data.open(packed(await chosen, limit)));
  const recover = el("button", { type: "button", class: "main", id: "recover", onclick: () => openNew(() => data.recover(store.state.file)) }, RECOVER);
  const notice = new Notice(recover, activity.stop);
  const saving = saveDialog(store, data, (work) => activity.run(work));
  const bar = toolbar(store, stage, {
    show: (file) => void open(file),
    step,
    open: data.live ? openFiles : null,
    save: (what) => void activity.run(() => save(what, store, stage, data)),
    saveAs: saving.open,
    readLamps: (file, clip) => data.lamps(file, clip).catch((error: unknown) => (showError(error), null)),
  });
  const list = (all: FileEntry[]): void => {
    fileCount = all.length;
    bar.list(all);
  };
  list(files);
  const dope = dopeSheet(store);
  const graph = graphPanel(store, data);
  const bytes = bytesPanel(store, data, block);
  const lower = tabs("Timeline", [
    { id: "dope", label: "Dope sheet", element: dope.element, shown: dope.draw },
    { id: "graph", label: "Graph", element: graph.element, shown: graph.draw },
    { id: "bytes", label: "Bytes", element: bytes.element, shown: bytes.draw },
  ], (id) => store.set({ lower: id as State["lower"], folded: false }), foldButton(store, container));
  const side = tabs("Inspector", [
    { id: "details", label: "Selection", element: detailsPanel(store, (node) => stage?.transformOf(node) ?? null) },
    { id: "issues", label: "Issues", element: issuesPanel(store) },
  ], (id) => {
    chosenSide = id;
    side.show(id);
  });
  const drawers = sheets(container);
  replace(
    container, bar.element, treePanel(store),
    el("main", { class: "view" }, canvas, notice.element),
    el("aside", { class: "panel right" }, side.element),
    el("section", { class: "panel lower", "aria-label": "Timeline" }, transport(store, (clip) => void chooseClip(clip)), lower.element),
    drawers.element, ...splitters(container),
    listenToDrops(data.live ? "" : NO_SERVER, openFiles), saving.element,
  );
  if (data.engine) {
    const card = welcome(data.engine, notice.element, (started, failure) => activity.setStarted(started, failure));
    bar.element.after(card.element);
    store.on(["file"], card.close);
  }
  side.show("details");
  lower.show("dope");
  store.on(["lower"], ({ lower: chosen }) => {
    lower.show(chosen);
    drawers.close(); // it covers the timeline
  });
  store.on(["info", "losses"], ({ info, losses }) => {
    const tab = document.getElementById("tab-issues");
    const count = issueCount(info, losses);
    if (tab) tab.textContent = count ? `Issues (${count})` : "Issues";
    drawers.count(count);
  });
  store.on(["key", "track"], () => void markKey(store, data));
  if (stage) stage.picked = (node) => selectNode(store, node);
  const recolor = (): void => {
    stage?.setColors(stageColors());
    dope.draw();
    graph.draw();
  };
  bar.theme.addEventListener("click", () => {
    flipTheme();
    recolor();
  });
  followSystemTheme(recolor);
  listenToKeys(store);
  runClock(store);
  return { store, stage, data, activity, open, first: Math.min(fileInAddress(), files.length - 1) };
}

const NO_STAGE = "There is no 3D view, because this browser has no WebGL.";

function makeStage(canvas: HTMLCanvasElement): Stage | null {
  try {
    return new Stage(canvas);
  } catch {
    return null;
  }
}

function seek(stage: Stage | null, state: State): void {
  const timing = state.info?.timing;
  stage?.seek(timing && timing.rate > 0 ? (state.frame - timing.first) / timing.rate : 0, state.frame);
}

async function openFile(
  store: Store, data: Data, stage: Stage | null, file: number, notice: Notice, refresh: () => void,
): Promise<boolean> {
  store.set({ playing: false });
  notice.say("Loading…");
  try {
    const info = await data.scene(file);
    await stage?.show(info, info.model ? await data.model(file) : null);
    const losses = info.model ? await data.losses(file) : null;
    store.set({ file, info, losses, clip: 0, node: null, track: null, key: null, span: null, nowhere: "", hidden: new Set(), playing: store.state.autoplay && hasMotion(info), ...startOf(info) });
    refresh();
    noteInAddress(file);
    document.documentElement.dataset.file = String(file);
    document.title = `${baseName(info.name)} – Keyframer`;
    const text = info.model ? emptyMessage(info) : failureMessage(info.failure);
    notice.setFile(stage ? text : [NO_STAGE, text].filter(Boolean).join(" "), data.live && isRecoverable(info));
    return info.failure === null;
  } catch (error) {
    refresh();
    throw error;
  }
}

/** The number of the file in the address of the page, where reloading finds it. */
const fileInAddress = (): number => Number(/^#file=(\d{1,9})$/.exec(location.hash)?.[1] ?? 0);

function noteInAddress(file: number): void {
  try {
    history.replaceState(null, "", file ? `#file=${file}` : location.pathname);
  } catch {
    // a frame in a notebook has no address of its own
  }
}

/** The frame at the start of the clip, and a timeline that shows the whole clip. */
function startOf({ timing }: SceneInfo): Partial<State> {
  const first = timing?.first ?? 0;
  return { frame: timing?.start ?? 0, window: fitted(first, Math.max(timing?.last ?? 0, first + 1)) };
}

async function showClip(store: Store, data: Data, stage: Stage | null, clip: number): Promise<void> {
  const { file, playing } = store.state;
  store.set({ playing: false });
  const info = await data.scene(file, clip);
  await stage?.chooseClip(clip);
  store.set({ info, clip, track: null, key: null, span: null, nowhere: "", playing: playing && hasMotion(info), ...startOf(info) });
}

const failureMessage = (failure: Failure | null): string =>
  `This file cannot be shown: ${failure?.message ?? "see the issues"}`;

/** Why the 3D view is empty; an empty text if something may be visible. */
function emptyMessage(info: SceneInfo): string {
  if (!info.nodes.length) return "This file has nothing to show.";
  const shown = info.nodes.some((node) => node.mesh && !node.hidden) || info.tracks.some((track) => track.kind === "visible");
  const button = narrowWindow().matches ? "Bones, under Display," : "the button Bones";
  return info.has_mesh && !shown ? `All objects of this file are hidden; ${button} shows the nodes.` : "";
}

function runClock(store: Store): void {
  let last = performance.now();
  const tick = (now: number): void => {
    const seconds = Math.min((now - last) / 1000, 0.25);
    last = now;
    if (store.state.playing) {
      const { frame, playing } = advance(store.state, rangeOf(store.state.info?.timing), seconds);
      store.set({ frame, playing });
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
