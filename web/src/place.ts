// Where something lies in the file: one run of bytes, or pieces of one size at equal distances.
import { bytesText, offsetText } from "./format";

export type Span = [start: number, end: number];
export interface Pieces { start: number; size: number; step: number; count: number }
export type Place = Span | Pieces;

export const firstByte = (place: Place): number => Array.isArray(place) ? place[0] : place.start;

export function contains(place: Place, offset: number): boolean {
  if (Array.isArray(place)) return offset >= place[0] && offset < place[1];
  const from = offset - place.start;
  if (from < 0 || from >= (place.count - 1) * place.step + place.size) return false;
  return from % place.step < place.size;
}

/** The place of one key. */
export function placeOfKey(places: (Span | null)[] | Pieces, key: number): Span | null {
  if (Array.isArray(places)) return places[key] ?? null;
  if (key < 0 || key >= places.count) return null;
  const start = places.start + key * places.step;
  return [start, start + places.size];
}

export function placeText(place: Place): string {
  if (Array.isArray(place)) return `${offsetText(place[0])} – ${offsetText(place[1])}, ${bytesText(place[1] - place[0])}`;
  return `${bytesText(place.size)} at ${offsetText(place.start)} and every ${place.step} bytes on, ${place.count} times`;
}
