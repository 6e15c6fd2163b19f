// What the server says about a file, as src/keyframer/viewer/file_description.py and track_curves.py write it.

import type { KeyPlaces, Place, Span } from "./place";

export interface FileEntry { id: number; name: string }
export interface FileList {
  /** bytes of a file that are sent at once */
  block: number;
  /** bytes that can be opened by dropping files on the page */
  limit: number;
  files: FileEntry[];
}
export interface Opened { opened: number[]; files: FileEntry[] }

export interface NodeInfo {
  name: string;
  kind: string;
  parent: number | null;
  gltf: number;
  mesh: boolean;
  camera: number | null;
  light: number | null;
  hidden: boolean;
  places: { span: Span; what: string }[];
  /** why there is no place */
  nowhere: string;
}

export interface SampledTimes { first: number; step: number; count: number }

export interface TrackInfo {
  /** among the tracks of all clips */
  number: number;
  /** whether it ever changes anything */
  moves: boolean;
  /** null: numbers with unknown meaning */
  node: number | null;
  kind: string;
  interpolation: string;
  wrap: string;
  times: (number | null)[] | SampledTimes;
  place: Place | null;
  nowhere: string;
}

export interface Timing {
  name: string;
  first: number;
  last: number;
  start: number;
  end: number;
  rate: number;
  current: number | null;
}

export interface IssueInfo {
  severity: "error" | "warning" | "info";
  code: string;
  offset: number;
  path: string;
  message: string;
  node: number | null;
}

export interface Failure {
  code: string;
  offset: number;
  path: string;
  message: string;
  /** what could be done about it */
  hint: string;
}

export interface Loss {
  path: string;
  detail: string;
  /** in the file, where that is known */
  offset: number | null;
}

/** What the model does not hold as the file has it. */
export interface Losses {
  summary: string;
  losses: { outcome: string; count: number; listed: Loss[] }[];
  images: { name: string; status: string; note: string; users: string[]; more_users: number }[];
}

/** Times in frames, and columns of values. */
export interface Line { times: Column; values: Column[] }

export interface Lamp {
  gltf: number;
  on: boolean;
  color: Column;
  multiplier: number | null;
  /** full light within the first, none beyond the second */
  ranges: Column;
  curves: { color?: Line; multiplier?: Line };
}

/** The lights of a file as our pictures take them. */
export interface Lamps {
  lamps: Lamp[];
  ambient: number[];
  /** how much of a studio is added, and by what all light is multiplied */
  fill: number;
  gain: number;
}

export interface ClipInfo {
  tracks: TrackInfo[];
  timing: Timing | null;
}

/** What the server says of a file, with the clip that is chosen. */
export interface SceneInfo extends SceneDescription, ClipInfo {}

export interface SceneDescription {
  name: string;
  size: number;
  format: string | null;
  verdict: string;
  failure: Failure | null;
  issues: IssueInfo[];
  unlisted: Record<string, number>;
  nodes: NodeInfo[];
  /** their names; some have none */
  clips: string[];
  model: boolean;
  has_mesh: boolean;
  counts?: { vertices: number; faces: number; materials: number };
  space?: string;
}

export type Column = (number | null)[];

export interface TrackData {
  components: string[];
  unit: string;
  /** what is not drawn */
  note?: string;
  form: string;
  keys: {
    times: Column;
    values: Column[];
    shown: Column[];
    tension?: Column;
    continuity?: Column;
    bias?: Column;
    ease_to?: Column;
    ease_from?: Column;
    flags?: number[];
  };
  curve: Line;
  /** one for each key */
  places: KeyPlaces | null;
  /** why a key has none */
  missing: string;
}

export interface RecordOverview {
  total: number;
  /** how many there are on a page */
  page: number;
  /** the first byte of each page */
  firsts: number[];
}

export interface RecordPage {
  starts: number[];
  ends: number[];
  /** numbers among all records */
  parents: number[];
  names: string[];
}
