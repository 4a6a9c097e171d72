import { createHash } from "node:crypto";
import { z } from "zod";
import { defined } from "../lib/defined.ts";

/** The last restart of a workload. */
export interface Restart {
  /** Time of the restart in milliseconds since the epoch. */
  readonly at: number;
  /** {@link contentOf} the sources at that time. */
  readonly content: string;
  /** Result of the rollout; `undefined` while it is observed. */
  readonly result?: "RolledOut" | "Failed" | "TimedOut" | undefined;
  readonly message?: string | undefined;
}

/**
 * The state of the restarts of a workload, stored in an annotation of its metadata; see
 * docs/design/restarts.md#state.
 */
export interface RestartState {
  /**
   * Digest of the content that the pods of the workload have, by source: `<kind>/<name>` of a
   * resource.
   */
  readonly sources: ReadonlyMap<string, string>;
  readonly restart: Restart | undefined;
}

const schema = z.object({
  sources: z.record(z.string(), z.string()),
  restart: z
    .object({
      at: z.iso.datetime().transform((text) => Date.parse(text)),
      content: z.string(),
      result: z.enum(["RolledOut", "Failed", "TimedOut"]).optional(),
      message: z.string().optional(),
    })
    .optional(),
});

/**
 * Parses the annotation of a workload. An absent or malformed one stands for a workload without any
 * content.
 */
export function parseRestartState(text: string | undefined): RestartState {
  try {
    const { sources, restart } = schema.parse(JSON.parse(text ?? ""));
    return { sources: new Map(Object.entries(sources)), restart };
  } catch {
    return { sources: new Map(), restart: undefined };
  }
}

const sorted = (sources: ReadonlyMap<string, string>): [string, string][] =>
  [...sources].sort(([a], [b]) => (a < b ? -1 : 1));

/** Formats the state for the annotation; the same state has the same text. */
export function formatRestartState({ sources, restart }: RestartState): string {
  const last = restart && defined({ ...restart, at: new Date(restart.at).toISOString() });
  return JSON.stringify(defined({ sources: Object.fromEntries(sorted(sources)), restart: last }));
}

/**
 * Returns the digest of the content of all sources: the value of the annotation in the pod
 * template.
 */
export function contentOf(sources: ReadonlyMap<string, string>): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(sources)))
    .digest("base64url")
    .slice(0, 22);
}
