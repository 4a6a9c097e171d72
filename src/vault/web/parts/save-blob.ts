import { browserClock } from "../service/browser-clock.ts";

/** Saves a blob as a download of the browser. */
export function saveBlob(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The browser has started to read the blob by then.
  browserClock.after(10_000, () => URL.revokeObjectURL(url));
}

/** Browsers save no file with a leading dot, so `.env` becomes `env`. */
export function savedText(what: string, filename: string): string {
  return filename.startsWith(".")
    ? `Downloaded ${what}. The browser may save it without the leading dot: rename it.`
    : `Downloaded ${what}.`;
}
