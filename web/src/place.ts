// Locations in a file: a range of bytes, pieces of equal size at equal distances, or several of these.
import { bytesText, offsetText } from "./format";

export type Span = [start: number, end: number];
export interface Pieces { start: number; size: number; step: number; count: number }
export interface Part {
  what: string;
  place: Span | Pieces;
  /** the name of the other file that contains this part */
  file?: string;
}
export interface Parts { parts: Part[] }
export type Place = Span | Pieces | Parts;

export type Rows = (Span | null)[] | Pieces;
export type KeyPlaces = Rows | { parts: { what: string; places: Rows; file?: string }[] };

/** The parts that are in the displayed file. */
const partsInFile = (place: Place): (Span | Pieces)[] =>
  "parts" in place ? place.parts.filter((part) => part.file === undefined).map((part) => part.place) : [place];

/** The offset of the first part that is in the displayed file; null if all parts are in other files. */
export function firstByte(place: Place): number | null {
  const first = partsInFile(place)[0];
  return first === undefined ? null : Array.isArray(first) ? first[0] : first.start;
}

export const contains = (place: Place, offset: number): boolean => partsInFile(place).some((part) => covers(part, offset));

function covers(place: Span | Pieces, offset: number): boolean {
  if (Array.isArray(place)) return offset >= place[0] && offset < place[1];
  const from = offset - place.start;
  if (from < 0 || from >= (place.count - 1) * place.step + place.size) return false;
  return from % place.step < place.size;
}

/** The location of one key; null if the key is not stored, or only its time. */
export function placeOfKey(places: KeyPlaces, key: number): Span | Parts | null {
  if (!("parts" in places)) return rowOf(places, key);
  const parts = places.parts.flatMap(({ places: rows, ...part }): Part[] => {
    const place = rowOf(rows, key);
    return place ? [{ ...part, place }] : [];
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
