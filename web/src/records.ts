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
  const { page: pageSize, firsts } = await data.records(file);
  let pageNumber = countUpTo(firsts, offset) - 1;
  if (pageNumber < 0) return [];
  let page: RecordPage = await data.recordPage(file, pageNumber);
  let record = pageNumber * pageSize + countUpTo(page.starts, offset) - 1;
  const records: FoundRecord[] = [];
  while (record >= 0) {
    if (Math.floor(record / pageSize) !== pageNumber) {
      pageNumber = Math.floor(record / pageSize);
      page = await data.recordPage(file, pageNumber);
    }
    const row = record - pageNumber * pageSize;
    const span: Span = [page.starts[row] ?? 0, page.ends[row] ?? 0];
    if (span[0] <= offset && offset < span[1]) records.unshift({ name: page.names[row] ?? "", span });
    record = page.parents[row] ?? -1;
  }
  return records;
}
