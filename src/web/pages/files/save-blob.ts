import { browserClock } from "../../browser-clock.ts";

/** Hands bytes to the browser's own saving, under that name. */
export function saveBlob(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The browser has begun to read it by then.
  browserClock.after(10_000, () => URL.revokeObjectURL(url));
}
