import { open } from "node:fs/promises";
import { rotatedSegments } from "./audit-file.ts";
import type { AuditLine } from "./audit-line.ts";
import { readTail } from "./read-lines.ts";

export const DAY_MS = 86_400_000;

/** Limits of the closed segments of an audit log; none by default. */
export interface AuditRetention {
  /** Minimum age of a removed entry. */
  readonly days?: number;
  /** Maximum size of the log with all its segments. */
  readonly bytes?: number;
}

interface Segment {
  readonly path: string;
  readonly last: AuditLine;
  readonly bytes: number;
}

async function segmentOf(path: string): Promise<Segment | undefined> {
  await using handle = await open(path);
  const { size } = await handle.stat();
  const { last } = await readTail(handle, size);
  return last && { path, last, bytes: size };
}

/** Returns the closed segments of a log that exceed its retention, the oldest first. A damaged segment and those after it are kept. */
export async function segmentsBeyond(
  { days, bytes }: AuditRetention,
  file: { readonly path: string; readonly bytes: number },
  now: number,
): Promise<Segment[]> {
  if (days === undefined && bytes === undefined) return [];
  const segments: Segment[] = [];
  for (const path of await rotatedSegments(file.path)) {
    const segment = await segmentOf(path);
    if (!segment) break;
    segments.push(segment);
  }
  let total = segments.reduce((sum, segment) => sum + segment.bytes, file.bytes);
  const kept = segments.findIndex((segment) => {
    const isOld = days !== undefined && Date.parse(segment.last.time) <= now - days * DAY_MS;
    const isTooMuch = bytes !== undefined && total > bytes;
    if (isOld || isTooMuch) total -= segment.bytes;
    return !isOld && !isTooMuch;
  });
  return kept < 0 ? segments : segments.slice(0, kept);
}
