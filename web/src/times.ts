// Finds keys of tracks by their times.
import type { TrackInfo } from "./types";

export const keyCount = (track: TrackInfo): number =>
  Array.isArray(track.times) ? track.times.length : track.times.count;

/** Whether there is something to see on a timeline: a track with more than one key. */
export const hasKeys = (tracks: TrackInfo[]): boolean => tracks.some((track) => keyCount(track) > 1);

export function keyTime(track: TrackInfo, key: number): number | null {
  if (Array.isArray(track.times)) return track.times[key] ?? null;
  return track.times.first + key * track.times.step;
}

/** The keys with times in a range, as [key, time]. */
export function* keysBetween(track: TrackInfo, from: number, to: number): Generator<[number, number]> {
  if (!Array.isArray(track.times)) {
    const { first, step, count } = track.times;
    const start = step > 0 ? Math.max(0, Math.ceil((from - first) / step)) : 0;
    for (let key = start; key < count; key++) {
      const time = first + key * step;
      if (time > to && step > 0) return;
      if (time >= from && time <= to) yield [key, time];
    }
    return;
  }
  for (let key = 0; key < track.times.length; key++) {
    const time = track.times[key];
    if (time !== null && time !== undefined && time >= from && time <= to) yield [key, time];
  }
}

/** The key nearest to a time, at most `reach` away; null if there is none. */
export function nearestKey(track: TrackInfo, time: number, reach: number): number | null {
  let best: number | null = null;
  let distance = reach;
  for (const [key, at] of keysBetween(track, time - reach, time + reach)) {
    if (Math.abs(at - time) <= distance) {
      best = key;
      distance = Math.abs(at - time);
    }
  }
  return best;
}

/** The time of the next key after `time`, or of the previous key before it if `direction` is -1; null if there is none. */
export function neighbourTime(tracks: TrackInfo[], time: number, direction: 1 | -1): number | null {
  let best: number | null = null;
  for (const track of tracks) {
    for (let key = 0; key < keyCount(track); key++) {
      const at = keyTime(track, key);
      if (at === null || (at - time) * direction <= 1e-6) continue;
      if (best === null || (best - at) * direction > 0) best = at;
    }
  }
  return best;
}
