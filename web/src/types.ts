// Data from the server: the JSON that src/keyframer/viewer writes.

import type { KeyPlaces, Place, Span } from "./place";

export interface FileEntry { id: number; name: string }
export interface FileList {
  /** size of the blocks in which files are read, in bytes */
  block: number;
  /** maximum size of all files that are opened together, in bytes */
  limit: number;
  files: FileEntry[];
}
/** `joined`: the files that dropped images joined. */
export interface Opened { opened: number[]; joined: number[]; files: FileEntry[] }

export interface NodeInfo {
  name: string;
  kind: string;
  parent: number | null;
  /** index of the node in the model */
  gltf: number;
  mesh: boolean;
  camera: number | null;
  light: number | null;
  hidden: boolean;
  places: { span: Span; what: string }[];
  /** why `places` is empty, if known */
  nowhere: string;
}

/** `to_file` · world · `mirror` is the world matrix of a node in the axes of the file; `world` is that in the model. */
export interface AxesInfo { to_file: number[][]; mirror: number[][] }

export interface SampledTimes { first: number; step: number; count: number }

export interface TrackInfo {
  /** index among the tracks of all clips */
  number: number;
  /** whether its values change */
  moves: boolean;
  /** null for numbers of unknown meaning */
  node: number | null;
  kind: string;
  interpolation: string;
  wrap: string;
  times: (number | null)[] | SampledTimes;
  place: Place | null;
  /** why `place` is null, if known */
  nowhere: string;
}

export interface Timing {
  name: string;
  /** first and last frame of the animation in the model */
  first: number;
  last: number;
  /** the frames that are played */
  start: number;
  end: number;
  rate: number;
  current: number | null;
}

export interface IssueInfo {
  severity: "error" | "warning" | "info";
  code: string;
  /** null if the problem is not in the content of the file */
  offset: number | null;
  path: string;
  message: string;
  node: number | null;
}

export interface Failure {
  code: string;
  /** null if the problem is not in the content of the file */
  offset: number | null;
  path: string;
  message: string;
}

export interface Loss {
  /** type of the loss: LIGHT_CHANGED:dimming … */
  code: string;
  path: string;
  detail: string;
  /** byte offset in the file, if known */
  offset: number | null;
}

/** The loss report of the model, and images that are missing, guessed or unusable. */
export interface Losses {
  summary: string;
  /** by outcome, with the words that people read for it */
  losses: { outcome: string; words: string; count: number; listed: Loss[] }[];
  images: { name: string; status: string; note: string; users: string[]; more_users: number }[];
}

/** A kind of file that can be saved. */
export interface SaveChoice { number: number; title: string; ending: string }
export interface SavedInfo {
  name: string;
  size: number;
  /** null for text, which is not a scene */
  losses: Losses | null;
}

/** Times in frames, and columns of values. */
export interface Line { times: Column; values: Column[] }

export interface Lamp {
  /** index of the node in the model */
  gltf: number;
  on: boolean;
  color: Column;
  multiplier: number | null;
  /** distances: full light up to the first, none beyond the second; null without attenuation */
  ranges: Column;
  curves: { color?: Line; multiplier?: Line };
}

/** The lights of a file, as thumbnails use them. */
export interface Lamps {
  lamps: Lamp[];
  ambient: number[];
  /** strength of the added studio lights */
  fill: number;
  /** factor for all lights */
  gain: number;
}

export interface ClipInfo {
  tracks: TrackInfo[];
  timing: Timing | null;
}

export type ByteState = "kept" | "moved" | "repaired" | "unknown" | "dropped";

/** The description of a file with the chosen clip. */
export interface SceneInfo extends SceneDescription, ClipInfo {}

/** The verdicts of `keyframer check`. */
export type Verdict = "clean" | "readable with problems" | "damaged" | "not readable";

export interface SceneDescription {
  name: string;
  size: number;
  format: string | null;
  verdict: Verdict;
  failure: Failure | null;
  issues: IssueInfo[];
  /** number of issues that are not listed, by code */
  unlisted: Record<string, number>;
  /** what salvage makes of the bytes of a damaged file: start, end and state of each part; empty without damage */
  map: [number, number, ByteState][];
  nodes: NodeInfo[];
  /** names of the clips; may be empty */
  clips: string[];
  model: boolean;
  has_mesh: boolean;
  saves: SaveChoice[];
  counts?: { vertices: number; faces: number; materials: number };
  space?: string;
  axes?: AxesInfo;
}

export type Column = (number | null)[];

export interface TrackData {
  components: string[];
  unit: string;
  /** number of columns of a raw channel, and of those that are drawn */
  note?: string;
  form: string;
  keys: {
    times: Column;
    values: Column[];
    /** values of the curve at the keys */
    shown: Column[];
    tension?: Column;
    continuity?: Column;
    bias?: Column;
    ease_to?: Column;
    ease_from?: Column;
    flags?: number[];
  };
  curve: Line;
  /** locations of the keys */
  places: KeyPlaces | null;
  /** why a key has no location */
  missing: string;
}

export interface RecordOverview {
  total: number;
  /** number of records on a page */
  page: number;
  /** offset of the first record of each page */
  firsts: number[];
}

export interface RecordPage {
  starts: number[];
  ends: number[];
  /** indices of the parents among all records; -1 for none */
  parents: number[];
  names: string[];
}
