import { randomBytes } from "node:crypto";
import { Redacted } from "../../../lib/redacted.ts";
import type { Problem } from "../manifests/manifest.ts";
import type { LocalFlags } from "./local-plan.ts";
import { decideTargets, type LocalTarget, makeTargets } from "./local-targets.ts";
import { openLocal, type OpenedPlan } from "./open-local.ts";
import { printNotes } from "./report.ts";

/** The targets of manifests, and what they were read with. */
export interface ReadTargets extends OpenedPlan {
  readonly targets: readonly LocalTarget[];
}

/** Returns a key for the salts of templates. */
export const saltKey = (): Redacted<Uint8Array> => new Redacted(randomBytes(32));

/**
 * Returns the targets of manifests, or the problems that prevent one. Prints the notes.
 * @throws Error when a file or the vault cannot be read
 */
export async function readTargets(
  flags: LocalFlags,
): Promise<ReadTargets | { readonly problems: readonly Problem[] }> {
  const opened = await openLocal(flags);
  if ("problems" in opened) return opened;
  const decided = await decideTargets(opened.plan, opened.client);
  printNotes(decided.notes);
  if (decided.problems.length > 0) return decided;
  const made = await makeTargets(decided.targets, saltKey(), new AbortController().signal);
  return made.problems.length > 0
    ? { problems: made.problems }
    : { ...opened, targets: made.targets };
}
