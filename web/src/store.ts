// The state of the page, and listeners to its changes.
import type { Clock } from "./playback";
import type { Place } from "./place";
import type { Window } from "./scale";
import type { Losses, SceneInfo } from "./types";

export interface State extends Clock {
  file: number;
  info: SceneInfo | null;
  node: number | null;
  track: number | null;
  key: number | null;
  /** the highlighted bytes */
  span: Place | null;
  /** why the bytes of the selection are not highlighted */
  nowhere: string;
  /** the frames that dope sheet and graph show */
  window: Window;
  /** the tab that is shown below the 3D view */
  lower: "dope" | "graph" | "bytes";
  /** whether the timeline is closed: as the user chose, or null to close it for files without keys */
  folded: boolean | null;
  /** whether opened files with motion are played at once */
  autoplay: boolean;
  clip: number;
  /** whether tree and dope sheet hide nodes that are not animated */
  movingOnly: boolean;
  losses: Losses | null;
  /** nodes that the user has hidden in the 3D view */
  hidden: ReadonlySet<number>;
}

type Listener = (state: State, changed: Set<keyof State>) => void;

export class Store {
  private readonly listeners: Listener[] = [];

  constructor(public state: State) {}

  set(change: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const name of Object.keys(change) as (keyof State)[]) {
      if (this.state[name] !== change[name]) changed.add(name);
    }
    if (!changed.size) return;
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state, changed);
  }

  /** Calls a listener after every change of one of these fields. */
  on(names: (keyof State)[], listener: (state: State) => void): void {
    this.listeners.push((state, changed) => {
      if (names.some((name) => changed.has(name))) listener(state);
    });
  }
}

export const initialState: State = {
  file: 0, info: null, node: null, track: null, key: null, span: null, nowhere: "",
  frame: 0, playing: false, loop: true, speed: 1, window: { from: 0, to: 100 }, lower: "dope", folded: null, autoplay: true, clip: 0, movingOnly: false, losses: null,
  hidden: new Set(),
};
