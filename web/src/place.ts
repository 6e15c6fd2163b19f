// Where something lies: one run of bytes, pieces of one size at equal distances, or several of those.
import { bytesText, offsetText } from "./format";

export type Span = [start: number, end: number];
export interface Pieces { start: number; size: number; step: number; count: number }
export interface Part {
  what: string;
  place: Span | Pieces;
  /** the other file that contains it */
  file?: string;
}
export interface Several { parts: Part[] }
export type Place = Span | Pieces | Several;

export type Rows = (Span | null)[] | Pieces;
export type KeyPlaces = Rows | { parts: { what: string; places: Rows; file?: string }[] };

/** What lies in the file that is shown. */
const here = (place: Place): (Span | Pieces)[] =>
  "parts" in place ? place.parts.filter((part) => part.file === undefined).map((part) => part.place) : [place];

/** The first byte to look at; null where all of it is in other files. */
export function firstByte(place: Place): number | null {
  const first = here(place)[0];
  return first === undefined ? null : Array.isArray(first) ? first[0] : first.start;
}

export const contains = (place: Place, offset: number): boolean => here(place).some((part) => holds(part, offset));

function holds(place: Span | Pieces, offset: number): boolean {
  if (Array.isArray(place)) return offset >= place[0] && offset < place[1];
  const from = offset - place.start;
  if (from < 0 || from >= (place.count - 1) * place.step + place.size) return false;
  return from % place.step < place.size;
}

/** The place of one key; null where the file does not hold it. */
export function placeOfKey(places: KeyPlaces, key: number): Span | Several | null {
  if (!("parts" in places)) return rowOf(places, key);
  const parts = places.parts.flatMap(({ places: rows, ...more }): Part[] => {
    const place = rowOf(rows, key);
    return place ? [{ ...more, place }] : [];
  });
  return parts.some((part) => part.what !== "time") ? { parts } : null;
}

function rowOf(rows: Rows, key: number): Span | null {
  if (Array.isArray(rows)) return rows[key] ?? null;
  if (key < 0 || key >= rows.count) return null;
  const start = rows.start + key * rows.step;
  return [start, start + rows.size];
}

export function placeText(place: Place): string {
  if ("parts" in place) {
    const more = place.parts.length > 2 ? ` · ${place.parts.length - 2} more in the list` : "";
    return place.parts.slice(0, 2).map(partText).join(" · ") + more;
  }
  if (Array.isArray(place)) return `${offsetText(place[0])} – ${offsetText(place[1])}, ${bytesText(place[1] - place[0])}`;
  return `${bytesText(place.size)} at ${offsetText(place.start)}; repeats every ${place.step} bytes, ${place.count} times in all`;
}

export const partText = ({ what, place, file }: Part): string =>
  `${what}${file === undefined ? "" : ` in ${file}`}: ${placeText(place)}`;
