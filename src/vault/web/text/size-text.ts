const units = ["KiB", "MiB", "GiB", "TiB"];
/** Rounded up: a file above a limit is not shown as the limit. */
const figures = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, roundingMode: "ceil" });

/** Formats a number of bytes with a unit, in powers of 1024 as the limits of the vault. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${figures.format(bytes / 1024 ** power)} ${units[power - 1] ?? ""}`;
}
