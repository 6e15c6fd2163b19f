// Numbers, byte counts, offsets and paths as text.

export function short(value: number | null): string {
  if (value === null) return "not a number";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return String(Number(value.toFixed(size >= 100 ? 1 : size >= 1 ? 3 : 4)));
}

/** The numbers of a vector with six digits. Numbers up to `noise`, and those that are only rounding errors of the largest, become 0. */
export function vectorText(values: number[], unit = "", noise = 0): string {
  const rounding = Math.max(noise, 1e-6 * Math.max(...values.map(Math.abs)));
  const text = (value: number): string => (Number.isFinite(value) ? String(Math.abs(value) <= rounding ? 0 : Number(value.toPrecision(6))) : short(null));
  return values.map((value) => text(value) + unit).join(", ");
}

export const hex = (value: number, digits = 2): string => value.toString(16).padStart(digits, "0");

export const offsetText = (value: number): string => `0x${hex(value, 4)}`;

/** A byte as a printable ASCII character, or else a dot. */
export const visible = (byte: number): string => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·");

export function bytesText(size: number): string {
  if (size < 1024) return counted(size, "byte");
  return size < 1 << 20 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / (1 << 20)).toFixed(1)} MiB`;
}

/** A count with its noun: 1 key, 2 keys. */
export const counted = (count: number, one: string, several = `${one}s`): string => `${count} ${count === 1 ? one : several}`;

/** The last part of a path. */
export const baseName = (path: string): string => path.split(/[\\/]/).pop() || path;

export function secondsText(seconds: number): string {
  const sign = seconds < 0 ? "-" : "";
  const hundredths = Math.round(100 * Math.abs(seconds));
  const minutes = Math.floor(hundredths / 6000);
  return `${sign}${minutes}:${(hundredths / 100 - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}

/** Parses an offset such as 0x1f4, 1f4h or 500; null for other text. */
export function parseOffset(text: string): number | null {
  const plain = text.trim().toLowerCase();
  if (/^0x[0-9a-f]+$/.test(plain)) return parseInt(plain.slice(2), 16);
  if (/^[0-9a-f]+h$/.test(plain)) return parseInt(plain, 16);
  return /^[0-9]+$/.test(plain) ? parseInt(plain, 10) : null;
}
