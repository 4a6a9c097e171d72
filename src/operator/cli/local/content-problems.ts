import { problemAt } from "../manifests/manifest.ts";
import type { ContentCheck, ContentChecks } from "../plan/plan.ts";
import { entryReader } from "./entry-reader.ts";
import { decideTarget, makeTargets, textOf } from "./local-targets.ts";
import { saltKey } from "./read-targets.ts";
import { messageOf } from "../../../lib/errors.ts";

/**
 * Reads the values that the operator would serve of a resource, and returns why it would not write
 * what they make: a rule of `validate`, a template, a size. A value that cannot be read is a note.
 */
const contentProblems: ContentCheck = async (planned, access, resolved) => {
  const decided = decideTarget(planned, access, resolved);
  // What prevents a target is reported without its values.
  if (!("target" in decided) || decided.target === undefined) return { problems: [], notes: [] };
  const { signal } = new AbortController();
  try {
    const { problems } = await makeTargets([decided.target], saltKey(), signal);
    return { problems, notes: [] };
  } catch (error) {
    const why = messageOf(error);
    const note = problemAt(planned.manifest, ["spec"], `the values are not checked: ${why}`);
    return { problems: [], notes: [textOf(note)] };
  }
};

/** The check of values of `vaultsync plan --validate`. */
export const contentChecks: ContentChecks = { problemsOf: contentProblems, readerOf: entryReader };
