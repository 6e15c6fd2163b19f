// Selecting a node, a track, a key or an issue: what else follows from it.
import { placeOfKey } from "./place";
import type { Data } from "./source";
import type { Store } from "./store";
import type { IssueInfo } from "./types";
import { keyCount, keyTime } from "./times";

export function selectNode(store: Store, node: number | null): void {
  const info = store.state.info;
  if (!info) return;
  const chosen = node === null ? undefined : info.nodes[node];
  const tracks = info.tracks.map((track, index) => ({ track, index })).filter(({ track }) => chosen && track.node === node);
  const moving = tracks.find(({ track }) => keyCount(track) > 1) ?? tracks[0];
  const own = chosen?.places[0]?.span ?? null;
  const instead = !own && moving?.track.place ? ` This is its ${moving.track.kind} track.` : "";
  store.set({
    node, track: moving?.index ?? null, key: null, span: own ?? moving?.track.place ?? null,
    nowhere: chosen && !own ? chosen.nowhere + instead : "",
  });
}

export function selectTrack(store: Store, track: number | null): void {
  const found = track === null ? undefined : store.state.info?.tracks[track];
  const node = found ? found.node : store.state.node;
  store.set({ node, track, key: null, span: found?.place ?? null, nowhere: found?.nowhere ?? "" });
}

/** A key; the clock goes there if asked to. */
export function selectKey(store: Store, track: number, key: number, seek: boolean): void {
  const found = store.state.info?.tracks[track];
  if (!found) return;
  const time = keyTime(found, key);
  const frame = seek && time !== null ? { frame: time, playing: false } : {};
  store.set({ node: found.node, track, key, span: found.place, nowhere: found.nowhere, ...frame });
}

/** Mark the bytes of the selected key, once it is known where they are. */
export async function markKey(store: Store, data: Data): Promise<void> {
  const { file, track, key } = store.state;
  if (track === null || key === null) return;
  const number = store.state.info?.tracks[track]?.number;
  const found = number === undefined ? null : await data.track(file, number).catch(() => null);
  const now = store.state;
  if (!found || now.file !== file || now.track !== track || now.key !== key) return;
  const span = found.places && placeOfKey(found.places, key);
  store.set(span ? { span, nowhere: "" } : { nowhere: found.missing });
}

export function selectIssue(store: Store, issue: IssueInfo): void {
  if (issue.node !== null) selectNode(store, issue.node);
  selectOffset(store, issue.offset);
}

/** Show a byte. */
export function selectOffset(store: Store, offset: number): void {
  store.set({ span: [offset, offset + 1], nowhere: "", lower: "bytes" });
}
