import { HOLD_ANNOTATION } from "../api/names.ts";
import type { Reason } from "../api/reasons.ts";
import { formatTimestamp } from "./timestamp.ts";
import type { Resolution } from "./resolution.ts";
import type { SyncItem } from "./sync-resource.ts";
import { firstOf } from "../lib/first-of.ts";

/** The Ready condition of a resource. */
export interface ReadyCondition {
  readonly ready: boolean;
  readonly reason: Reason;
  readonly message: string;
}

export const notReady = (reason: Reason, message: string): ReadyCondition => ({
  ready: false,
  reason,
  message,
});

/** The condition of a resource with `spec.suspend`. */
export const SUSPENDED: ReadyCondition = notReady(
  "Suspended",
  "spec.suspend is true: the target is left unchanged",
);

type Problem = Exclude<Resolution, { state: "found" | "withheld" }>;

const reasonOf = {
  ambiguous: "AmbiguousName",
  "other-owner": "AmbiguousName",
  "no-version": "VersionNotFound",
  regressed: "VersionRegressed",
  unusable: "InvalidKey",
  untrusted: "SourceMissing",
  unmatched: "SourceMissing",
  missing: "SourceMissing",
  removed: "SourceRemoved",
} as const satisfies Record<Problem["state"], Reason>;

/** States from the one that most requires action to the one that is intended. */
const severity = Object.keys(reasonOf);

/** Explains why removals are held. */
const HOLD =
  "because too many names disappeared together: see the condition RemovalsHeld of the connection";

/** Explains what happens to the key of an entry that is gone. */
const deletions = {
  due: "its key is removed",
  awaited: "its key is removed when three lists over two refresh intervals have confirmed that",
  held: `its key is kept, ${HOLD}`,
} as const;

/**
 * Returns what the target has of a source that the vault removed at its deadline, if it has
 * anything.
 */
function leftover(
  { deletion, isAbsent = false }: Extract<Problem, { state: "removed" }>,
  absent: string | undefined,
): string {
  if (isAbsent || absent !== undefined || deletion === "due" || deletion === "awaited") return "";
  return deletion === "held"
    ? `; ${deletions.held}`
    : "; its value is still in the target (whenRemoved: Retain)";
}

/**
 * Returns the condition for a target that does not exist, because nothing valid can be made without
 * the sources of `problems`.
 */
export const withoutRest = ({ reason, message }: ReadyCondition, why: string): ReadyCondition =>
  notReady(reason, `${message}; no target can be made of the rest: ${why}`);

/** Returns the condition of a target that does not exist, because no optional source does. */
export const withoutSources = (absent: string): ReadyCondition => ({
  ready: true,
  reason: "Synced",
  message: `${absent} does not exist, as intended: all its sources are optional, and the vault lists none`,
});

/**
 * Returns the condition of content that was made of some of the sources only: what lacks keys may
 * be missing. `known` is the condition of the sources.
 */
export const lackingSources = (
  condition: ReadyCondition,
  known: ReadyCondition | undefined,
): ReadyCondition =>
  condition.reason === "InvalidKey" && known?.ready === false
    ? notReady(known.reason, `${known.message}; ${condition.message}`)
    : condition;

/** Returns what a resource has of a missing source: the existing content, or no target. */
export const keptText = (absent: string | undefined): string =>
  absent === undefined ? "existing content is kept" : `${absent} is not created without it`;

/** Returns the field that names the owner of the source of an item. */
const ownerField = ({ isExtracted = false }: SyncItem): string =>
  isExtracted ? "extract.owner" : "remoteRef.owner";

/** Says how to use the secret of one of several owners. */
const chooseOwner = (item: SyncItem, why: string): string =>
  item.foundBy === undefined
    ? `set ${ownerField(item)} ${why}`
    : `exclude it from ${item.foundBy.id}, and name it and its owner in spec.data`;

/** Returns the fields that could name the owner of a shared secret, and do not. */
function namedBy({
  owner,
  item,
}: Pick<Extract<Problem, { state: "untrusted" }>, "owner" | "item">): string {
  const trusted = "spec.trustedOwners of the connection";
  if (owner === undefined) return "and used only with spec.receive: Anyone of the connection";
  if (item.foundBy !== undefined)
    return `whom ${trusted} does not name, as ${item.foundBy.id} requires: add that owner there`;
  return `whom neither ${ownerField(item)} nor ${trusted} names: to use it, set one of them`;
}

/** Says who shares a secret that is not used, and how to use it. */
const sharedBy = (shared: Parameters<typeof namedBy>[0]): string =>
  `shared by ${shared.owner ?? "an owner whom the vault does not name"}, ${namedBy(shared)}`;

function explainDeletion(
  { isOptional }: SyncItem,
  deletion: keyof typeof deletions,
  isAbsent: boolean,
  absent: string | undefined,
): string {
  if (deletion === "held" && absent !== undefined) return `${keptText(absent)}, ${HOLD}`;
  if (deletion === "held" && !isAbsent) return deletions.held;
  // A restart ends the proof of a deletion. The message of a completed deletion must not change
  // with it.
  const policy = isOptional === true ? "optional: true" : "whenMissing: Delete";
  return `${deletions[isAbsent ? "due" : deletion]} (${policy})`;
}

function explainMissing(
  {
    item,
    deletion,
    isAbsent,
    isListed,
    ofOwner,
    list,
    near,
    namesake,
  }: Extract<Problem, { state: "missing" }>,
  absent: string | undefined,
): string {
  const of = ofOwner === undefined ? "" : `of ${ofOwner} `;
  const isnt =
    isListed === true
      ? `no longer has the metadata that ${item.foundBy?.id} requests`
      : `${of}is not in ${list ?? "the vault's list"}`;
  if (deletion !== undefined)
    return `${isnt}; ${explainDeletion(item, deletion, isAbsent === true, absent)}`;
  if (namesake !== undefined)
    return `${isnt}; another one is ${sharedBy({ item, owner: namesake.owner })}; ${keptText(absent)}`;
  const name = near === undefined ? "its name" : `its name (did you mean ${near}?)`;
  return `${isnt}: check ${name}, its shares and the scope of the connection; ${keptText(absent)}`;
}

/** Says when another name gets the key of one that is gone. */
function explainSuccessor({
  item: { id },
  deletion,
  successor,
}: Extract<Problem, { successor?: unknown }>): string {
  if (successor === undefined) return "";
  return deletion === undefined
    ? `; ${successor} does not get its key ${id}: set rewrite`
    : `; then ${successor} gets its key ${id}`;
}

function explainVersion({
  item,
  version,
  candidate: { latest },
  held,
}: Extract<Problem, { state: "no-version" }>): string {
  if (held === "with-latest")
    return "has no version before the bytes of another vault or owner in the target: it will have one when the condition UpdateAvailable ends";
  if (item.version === "previous")
    return `has no version before ${version}: it will have one when the secret changes. Set optional: true to go without it until then`;
  if (held === undefined)
    return `has no version ${version}, the latest is ${latest}: set version to an existing version or to latest`;
  const kept = `existing content is kept. Name an existing version in the annotation ${HOLD_ANNOTATION}, or remove it`;
  return held === "named"
    ? `is held in version ${version}; the vault does not have it, the latest is ${latest}; ${kept}`
    : `is held, and the target has bytes of another vault; ${kept}`;
}

/** @param absent the target, if it does not exist */
function explain(problem: Problem, absent: string | undefined): string {
  const { source } = problem.item;
  switch (problem.state) {
    case "ambiguous":
      return `${source} is shared by several owners (${problem.owners.join(", ")}): ${chooseOwner(problem.item, "to one of them")}`;
    case "other-owner":
      return `${source} now belongs to ${problem.candidate.owner ?? "another owner"}, not to the owner of the stored version: ${chooseOwner(problem.item, "to follow it")}`;
    case "no-version":
      return `${source} ${explainVersion(problem)}`;
    case "regressed":
      return (
        `${source} went back from version ${problem.syncedVersion} to ${problem.candidate.latest}; the lower version is not written. ` +
        `To accept version ${problem.candidate.latest}, set the annotation vaultsync.dev/accept=${source}@${problem.candidate.latest}`
      );
    case "untrusted":
      return `${source} is ${sharedBy(problem)}; ${keptText(absent)}`;
    case "unusable":
      return `${problem.why}; it is skipped`;
    case "unmatched": {
      const { strangers = [] } = problem;
      const check =
        strangers.length === 0
          ? "check find, the shares and the scope of the connection"
          : `what ${strangers.join(", ")} shares needs spec.trustedOwners of the connection`;
      return `${problem.item.id} finds no entry in the vault's list: ${check}; ${keptText(absent)}`;
    }
    case "missing":
      return `${source} ${explainMissing(problem, absent)}${explainSuccessor(problem)}`;
    case "removed":
      return `${source} was removed by the vault at its delete_time (${formatTimestamp(problem.deleteAt) ?? "long ago"})${leftover(problem, absent)}${explainSuccessor(problem)}`;
  }
}

/**
 * Reports whether the absence of an optional source is no problem: nothing prevents the removal of
 * its key, and until then the target has its bytes.
 */
const isExpected = (resolution: Resolution): boolean =>
  resolution.item.isOptional === true &&
  (resolution.state === "missing" || resolution.state === "removed") &&
  resolution.deletion !== "held" &&
  !("isOfOtherVault" in resolution && resolution.isOfOtherVault === true) &&
  !("isInFormer" in resolution && resolution.isInFormer === true);

const isProblem = (one: Resolution): one is Problem =>
  one.state !== "found" && one.state !== "withheld" && !isExpected(one);

/**
 * Returns the problems of the items of a resource, each with its text. `absent` as in {@link
 * readyConditionOf}.
 */
export const itemProblems = (
  resolutions: readonly Resolution[],
  absent?: string,
): readonly { item: SyncItem; message: string }[] =>
  resolutions
    .filter(isProblem)
    .map((problem) => ({ item: problem.item, message: explain(problem, absent) }));

/**
 * Returns the Ready condition of all items of a resource: the most severe kind of problem, and up
 * to three items that have it or that the vault has removed.
 * @param absent the target in a message, "the Secret db", if it does not exist
 */
export function readyConditionOf(
  resolutions: readonly Resolution[],
  absent?: string,
): ReadyCondition {
  const problems = resolutions.filter(isProblem);
  const [worst] = problems.sort((a, b) => severity.indexOf(a.state) - severity.indexOf(b.state));
  if (worst === undefined)
    return { ready: true, reason: "Synced", message: "the target is in sync with the vault" };
  const alike = problems.filter(({ state }) => state === worst.state || state === "removed");
  const text = (problem: Problem): string => explain(problem, absent);
  return notReady(reasonOf[worst.state], firstOf(alike, { separator: "; ", text }));
}

/**
 * Returns the condition while `content` waits for the proof that optional sources are absent, or for
 * a gate that keeps bytes which the vault does not have, and nothing else is a problem.
 */
export function unproven(resolutions: readonly Resolution[], content: string): ReadyCondition {
  const gone = resolutions.find(
    (one) => one.item.isOptional === true && one.state === "missing" && one.deletion !== "due",
  );
  const kept = resolutions.find((one) => one.state === "withheld" && one.hasBytes);
  if (gone === undefined && kept !== undefined)
    return notReady(
      "VersionNotFound",
      `${kept.item.source} is of another vault or owner in the target; ${content} is left unchanged until the condition UpdateAvailable ends`,
    );
  return notReady(
    "SourceMissing",
    `${gone?.item.source} is not in the vault's list; ${content} is left unchanged until its absence is proven`,
  );
}
