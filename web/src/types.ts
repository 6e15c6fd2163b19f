// What the server says about a file, as src/keyframer/viewer/file_description.py and track_curves.py write it.

import type { KeyPlaces, Place, Span } from "./place";

export interface FileEntry { id: number; name: string }
export interface FileList { block: number; files: FileEntry[] }

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
  /** null: numbers of which nobody knows what they move */
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

export interface SceneInfo {
  name: string;
  size: number;
  format: string | null;
  verdict: string;
  failure: Failure | null;
  issues: IssueInfo[];
  unlisted: Record<string, number>;
  nodes: NodeInfo[];
  tracks: TrackInfo[];
  timing: Timing | null;
  /** how many there are; the first is the one that plays */
  clips: number;
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
  curve: { times: Column; values: Column[] };
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
