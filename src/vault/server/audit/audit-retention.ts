import { open, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { rotatedSegments } from "./audit-file.ts";
import type { AuditLine } from "./audit-line.ts";
import { readTail } from "./read-lines.ts";

export const DAY_MS = 86_400_000;

/** Limits of the closed segments of an audit log; none by default. */
export interface AuditRetention {
  /** Minimum age of a removed entry. */
  readonly days?: number;
  /** Maximum size of the log with all its segments; `Infinity` for none. */
  readonly bytes?: number;
}

/** Minimum number of segments of the retained bytes: removing one keeps most of the log. */
const SEGMENTS = 4;
const SMALLEST_SEGMENT_BYTES = 65_536;

/** Returns the size of the file system of a file in bytes. */
export async function volumeBytesOf(file: string): Promise<number> {
  const { blocks, bsize } = await statfs(dirname(file));
  return blocks * bsize;
}

/**
 * Limits a log to half of its volume, unless another number of bytes is given, and its segments to
 * a quarter of that.
 */
export function boundedByVolume(
  {
    retention = {},
    maxBytes = Infinity,
  }: { readonly retention?: AuditRetention; readonly maxBytes?: number },
  volumeBytes: number,
): { readonly retention: AuditRetention; readonly maxBytes: number } {
  const { bytes = Math.floor(volumeBytes / 2) } = retention;
  const segment = Math.max(SMALLEST_SEGMENT_BYTES, Math.floor(bytes / SEGMENTS));
  return { retention: { ...retention, bytes }, maxBytes: Math.min(maxBytes, segment) };
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

/**
 * Returns the closed segments of a log that exceed its retention, the oldest first. A damaged
 * segment and those after it are kept.
 */
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
