// Locations in a file: a range of bytes, or pieces of equal size at equal distances.
import { bytesText, offsetText } from "./format";

export type Span = [start: number, end: number];
export interface Pieces { start: number; size: number; step: number; count: number }
export type Place = Span | Pieces;

export type KeyPlaces = (Span | null)[] | Pieces;

export const firstByte = (place: Place): number => Array.isArray(place) ? place[0] : place.start;

export function contains(place: Place, offset: number): boolean {
  if (Array.isArray(place)) return offset >= place[0] && offset < place[1];
  const from = offset - place.start;
  if (from < 0 || from >= (place.count - 1) * place.step + place.size) return false;
  return from % place.step < place.size;
}

/** The location of one key; null if the key is not stored. */
export function placeOfKey(rows: KeyPlaces, key: number): Span | null {
  if (Array.isArray(rows)) return rows[key] ?? null;
  if (key < 0 || key >= rows.count) return null;
  const start = rows.start + key * rows.step;
  return [start, start + rows.size];
}

export function placeText(place: Place): string {
  if (Array.isArray(place)) return `${offsetText(place[0])} – ${offsetText(place[1])}, ${bytesText(place[1] - place[0])}`;
  return `${bytesText(place.size)} at ${offsetText(place.start)}; repeats every ${place.step} bytes, ${place.count} times in all`;
}
