import { z } from "zod";
import type { Clock } from "../lib/clock.ts";
import { codeOf, messageOf } from "../lib/errors.ts";
import type { Logger } from "../lib/logger.ts";

const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** The name of a namespace, as the API server accepts it (RFC 1123). */
export const namespaceName = z.string().regex(NAME, "expected the name of a namespace");

/** The names of the namespaces that the operator serves. */
export const namespaceNames = z
  .array(z.string().regex(NAME, "expected names of namespaces"))
  .min(1);

/**
 * Reads the file with the names. @throws Error when it cannot be read, or names no namespace, or
 * another name is in it
 */
export async function readNamespaces(read: () => Promise<string>): Promise<readonly string[]> {
  const text = await read().catch((error: unknown) => {
    throw new Error(
      `the file of --namespaces-file cannot be read (${codeOf(error) ?? "unreadable"}): check its path`,
      {
        cause: error,
      },
    );
  });
  const names = [...new Set(text.split(/[\s,]+/u).filter((name) => name !== ""))];
  const wrong = names.find((name) => !namespaceName.safeParse(name).success);
  if (wrong !== undefined)
    throw new Error(
      `the file of --namespaces-file contains ${JSON.stringify(wrong)}: expected names of namespaces`,
    );
  if (names.length === 0)
    throw new Error(
      "the file of --namespaces-file is empty: expected names of namespaces, separated by commas or spaces",
    );
  return names;
}

/**
 * Interval in milliseconds in which the file is read: the kubelet takes up to a minute to update
 * it.
 */
const READ_MS = 10_000;

export interface FollowNamespacesOptions {
  readonly read: () => Promise<string>;
  /** The names that were read at the start. */
  readonly initial: readonly string[];
  readonly onChange: (namespaces: readonly string[]) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reads the file repeatedly and passes changed lists, until the signal is aborted. An unusable file
 * changes nothing. An empty file counts as unusable: it is more likely a mistake than the wish to
 * serve no namespace. Never rejects.
 */
export async function followNamespaces(
  options: FollowNamespacesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { read, initial, onChange, clock, logger } = options;
  let [current, problem] = [initial, ""];
  for (;;) {
    await clock.sleep(READ_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      const next = await readNamespaces(read);
      const added = next.filter((namespace) => !current.includes(namespace));
      const removed = current.filter((namespace) => !next.includes(namespace));
      for (const namespace of added) logger.info({ namespace }, "namespace is served from now on");
      for (const namespace of removed)
        logger.info({ namespace }, "namespace is not served any more");
      [current, problem] = [next, ""];
      if (added.length + removed.length > 0) onChange(next);
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== problem)
        logger.error(
          { count: current.length, reason },
          "list of namespaces cannot be used, keeping the last one",
        );
      problem = reason;
    }
  }
}
