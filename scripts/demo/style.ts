import { styleText } from "node:util";

/** Colours for a terminal, nothing elsewhere; NO_COLOR is honoured by `styleText`. */
const style =
  (format: Parameters<typeof styleText>[0]) =>
  (text: string): string =>
    styleText(format, text, { stream: process.stdout });

export const bold = style("bold");
export const dim = style("dim");
export const good = style("green");
export const bad = style("red");

/** `8 ms`, `1.42 s`: how long one thing took. */
export const took = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : seconds(ms));

/** `0.42 s`, `1 min 2 s`. */
export function seconds(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
