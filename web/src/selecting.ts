// Selects a node, a track, a key or an issue, and highlights its bytes. Hides and shows nodes.
import { placeOfKey } from "./place";
import type { Data } from "./source";
import type { Store } from "./store";
import type { IssueInfo, NodeInfo } from "./types";
import { keyCount, keyTime } from "./times";

export function selectNode(store: Store, node: number | null): void {
  const info = store.state.info;
  if (!info) return;
  const chosen = node === null ? undefined : info.nodes[node];
  const tracks = info.tracks.map((track, index) => ({ track, index })).filter(({ track }) => chosen && track.node === node);
  const mainTrack = tracks.find(({ track }) => keyCount(track) > 1) ?? tracks[0];
  const nodeSpan = chosen?.places[0]?.span ?? null;
  const note = !nodeSpan && mainTrack?.track.place ? ` The bytes of its ${mainTrack.track.kind} track are shown.` : "";
  store.set({
    node, track: mainTrack?.index ?? null, key: null, span: nodeSpan ?? mainTrack?.track.place ?? null,
    nowhere: chosen && !nodeSpan ? chosen.nowhere + note : "",
  });
}

export function selectTrack(store: Store, track: number | null): void {
  const selected = track === null ? undefined : store.state.info?.tracks[track];
  const node = selected ? selected.node : store.state.node;
  store.set({ node, track, key: null, span: selected?.place ?? null, nowhere: selected?.nowhere ?? "" });
}

/** Selects a key, moves the clock to its time, and stops playback. */
export function selectKey(store: Store, track: number, key: number): void {
  const selected = store.state.info?.tracks[track];
  if (!selected) return;
  const time = keyTime(selected, key);
  const frame = time !== null ? { frame: time, playing: false } : {};
  store.set({ node: selected.node, track, key, span: selected.place, nowhere: selected.nowhere, ...frame });
}

/** Finds the bytes of the selected key and highlights them, or says why the key has none. */
export async function markKey(store: Store, data: Data): Promise<void> {
  const { file, track, key } = store.state;
  if (track === null || key === null) return;
  const number = store.state.info?.tracks[track]?.number;
  const trackData = number === undefined ? null : await data.track(file, number).catch(() => null);
  const now = store.state;
  if (!trackData || now.file !== file || now.track !== track || now.key !== key) return;
  const span = trackData.places && placeOfKey(trackData.places, key);
  store.set(span ? { span, nowhere: "" } : { nowhere: trackData.missing });
}

export function selectIssue(store: Store, issue: IssueInfo): void {
  if (issue.node !== null) selectNode(store, issue.node);
  if (issue.offset !== null) selectOffset(store, issue.offset);
}

/** Shows and highlights a byte. */
export function selectOffset(store: Store, offset: number): void {
  store.set({ span: [offset, offset + 1], nowhere: "", lower: "bytes", folded: false });
}

/** A node and all its descendants. */
export function subtree(nodes: NodeInfo[], root: number): Set<number> {
  const children = new Map<number, number[]>();
  nodes.forEach(({ parent }, index) => {
    const siblings = parent === null ? [] : children.get(parent);
    if (siblings) siblings.push(index);
    else if (parent !== null) children.set(parent, [index]);
  });
  const found = new Set<number>();
  const waiting = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (found.has(node)) continue; // parents in damaged files may form a cycle
    found.add(node);
    for (const child of children.get(node) ?? []) waiting.push(child);
  }
  return found;
}

/** Hides a node with its descendants, or shows them again if the node is hidden. */
export function toggleHidden(store: Store, node: number | null): void {
  const { info, hidden } = store.state;
  if (!info || node === null) return;
  const family = subtree(info.nodes, node);
  store.set({ hidden: new Set(hidden.has(node) ? [...hidden].filter((other) => !family.has(other)) : [...hidden, ...family]) });
}

/** Hides everything except the selected node and its descendants. */
export function isolate(store: Store): void {
  const { info, node } = store.state;
  if (!info || node === null) return;
  const family = subtree(info.nodes, node);
  store.set({ hidden: new Set(info.nodes.flatMap((_, index) => (family.has(index) ? [] : index))) });
}

export function showAll(store: Store): void {
  store.set({ hidden: new Set() });
}
