import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { listedEntry, type WritableEntry } from "../../push/listed-entry.ts";
import { PushAttempt, type ItemPusherOptions, type PushContext } from "./push-attempt.ts";
import type { PushOutcome } from "./push-outcome.ts";
import type { KeyFacts } from "../../push/push-content.ts";
import { entryOf, itemId, type PushItem, type PushResource } from "../../push/push-resource.ts";

/**
 * Brings one entry of the vault to the bytes of its key: compares, decides, and writes at most
 * once.
 */
export class ItemPusher {
  readonly #options: ItemPusherOptions;

  constructor(options: ItemPusherOptions) {
    this.#options = options;
  }

  /** @throws KubeError, SourceChangedError, or the reason of the signal */
  async push(context: PushContext, item: PushItem): Promise<PushOutcome> {
    const { resource, facts: all } = context;
    const facts = all.get(item.secretKey);
    const entry = uncontestedEntry(context, item);
    if ("reason" in entry) return { item, problem: entry };
    const formerOwner = context.memory.records.get(itemId(item))?.owner;
    if (formerOwner !== undefined && item.owner === undefined && entry.record === undefined) {
      const message = `${entryOf(item)} of ${formerOwner}, which was pushed to before, is not shared any more: set remoteRef.owner to create one of the account`;
      return { item, problem: notReady("SourceMissing", message) };
    }
    const problem = sourceProblem(resource, item, facts);
    if (problem !== undefined || facts === undefined) return { item, ...(problem && { problem }) };
    const attempt = new PushAttempt(this.#options, context, item, entry, facts);
    const outcome = await attempt.run();
    const isIgnored =
      entry.shared && (item.metadata !== undefined || item.deleteMinutes !== undefined);
    const remark = isIgnored
      ? `metadata and deleteTime of the ${entryOf(item)} are not stored, because it is shared`
      : undefined;
    return { remark, ...outcome };
  }
}

/** Returns the entry that a key is pushed to, or why it must not be pushed. */
function uncontestedEntry(
  { resource, object, snapshot, access, rivals }: PushContext,
  item: PushItem,
): WritableEntry | ReadyCondition {
  const entry = listedEntry(item, snapshot, access);
  const owner = "reason" in entry ? undefined : (entry.owner ?? access.account);
  return rivals.problemOf(resource, object, item, owner) ?? entry;
}

/** Returns why the bytes of a key cannot be pushed. The vault keeps what it has. */
function sourceProblem(
  { secret }: PushResource,
  item: PushItem,
  facts: KeyFacts | undefined,
): ReadyCondition | undefined {
  const key = `the key ${item.secretKey} of the Secret ${secret}`;
  if (facts === undefined)
    return notReady("SourceMissing", `${key} does not exist; the ${entryOf(item)} is kept`);
  if (facts.size === 0) {
    return notReady(
      "SourceSuspicious",
      `${key} is empty: an empty value is not pushed, and the ${entryOf(item)} is kept`,
    );
  }
  if (item.kind === "file" || facts.isText) return undefined;
  return notReady(
    "InvalidContent",
    `${key} is not UTF-8, as the value of a secret has to be: push it to a file instead`,
  );
}
