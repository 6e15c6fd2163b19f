// Finds the records around a byte. Records are fetched one page at a time, when they are needed.
import type { Data } from "./source";
import type { RecordPage } from "./types";
import type { Span } from "./place";

export interface FoundRecord { name: string; span: Span }

/** How many numbers of a sorted array are at most `limit`. */
export function countUpTo(numbers: number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const half = (low + high) >> 1;
    if ((numbers[half] ?? 0) <= limit) low = half + 1;
    else high = half;
  }
  return low;
}

/** The records that contain a byte, outermost first. */
export async function recordsAt(data: Data, file: number, offset: number): Promise<FoundRecord[]> {
  const { page, firsts } = await data.records(file);
  const first = countUpTo(firsts, offset) - 1;
  if (first < 0) return [];
  let content: RecordPage = await data.recordPage(file, first);
  let number = first * page + countUpTo(content.starts, offset) - 1;
  let at = first;
  const records: FoundRecord[] = [];
  while (number >= 0) {
    if (Math.floor(number / page) !== at) {
      at = Math.floor(number / page);
      content = await data.recordPage(file, at);
    }
    const row = number - at * page;
    const span: Span = [content.starts[row] ?? 0, content.ends[row] ?? 0];
    if (span[0] <= offset && offset < span[1]) records.unshift({ name: content.names[row] ?? "", span });
    number = content.parents[row] ?? -1;
  }
  return records;
}
