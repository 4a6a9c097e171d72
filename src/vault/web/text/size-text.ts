import { formats } from "./formats.ts";

const units = ["KiB", "MiB", "GiB", "TiB"];

/** Formats a number of bytes with a unit, in powers of 1024 as the limits of the vault. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${formats.size().format(bytes / 1024 ** power)} ${units[power - 1] ?? ""}`;
}
