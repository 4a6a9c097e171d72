const units = ["kB", "MB", "GB", "TB"];
const figures = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** Formats a number of bytes with a unit, in powers of 1000. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  return `${figures.format(bytes / 1000 ** power)} ${units[power - 1] ?? ""}`;
}

/**
 * Formats a limit that is a whole number of mebibytes in the unit that users know it by: `64 MB`.
 */
export function limitText(bytes: number): string {
  return `${bytes / 1024 ** 2} MB`;
}
