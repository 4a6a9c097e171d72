import type { IncomingHttpHeaders } from "node:http";
import { MAX_WAIT_SECONDS } from "../../../protocol/preferences.ts";

/**
 * Returns the time that a client is willing to wait, in milliseconds, at most 55 s; 0 without the
 * preference `wait` (RFC 7240, section 4.3). A malformed one is ignored, as every preference that a
 * server does not understand.
 */
export function preferredWaitMs({ prefer }: IncomingHttpHeaders): number {
  const [header = ""] = [prefer].flat();
  for (const preference of header.split(",")) {
    const [name = "", value = ""] = preference.split(";", 1).join("").split("=", 2);
    if (name.trim().toLowerCase() !== "wait") continue;
    const seconds = /^"?([0-9]{1,9})"?$/u.exec(value.trim())?.[1] ?? "0";
    return Math.min(Number(seconds), MAX_WAIT_SECONDS) * 1000;
  }
  return 0;
}
