import { mayHaveOwner } from "../../api/received-secrets.ts";
import type { EntryKind, SecretRecord, Snapshot } from "../../vault-client/connection.ts";
import type { RemovalFacts } from "./connection-users.ts";

interface Known {
  /** The last list that changed a name. */
  readonly before: Snapshot | undefined;
  /** Email address of the account of the connection. */
  readonly account: string;
  readonly facts: Pick<RemovalFacts, "ownersOf" | "deadlineOf" | "isReferenced">;
  /** The `connectionId`. */
  readonly id: string;
}

const ownersIn = (snapshot: Snapshot | undefined, name: string): readonly string[] =>
  snapshot?.secrets(name).flatMap(({ owner }) => owner ?? []) ?? [];

/** Reports whether the list has an entry of the name. */
export const hasName = (snapshot: Snapshot | undefined, kind: EntryKind, name: string): boolean =>
  kind === "secret"
    ? snapshot !== undefined && snapshot.secrets(name).length > 0
    : snapshot?.file(name) !== undefined;

/** Reports whether the list has a secret of the name that may belong to this owner. */
export const isListedOf = (snapshot: Snapshot, name: string, owner: string): boolean =>
  snapshot.secrets(name).some((record) => mayHaveOwner(record, owner));

/**
 * Returns the owners of the secrets of a name that are listed, and were before. If no list before
 * had the name, targets may have bytes of further ones.
 */
export function ownersOf(
  name: string,
  snapshot: Snapshot,
  { before: last, account, facts }: Known,
): ReadonlySet<string> {
  const [before, now] = [ownersIn(last, name), ownersIn(snapshot, name)];
  const isNew = before.length === 0 && now.length > 0 && !isListedOf(snapshot, name, account);
  const further = isNew ? [...facts.ownersOf(name)].map((owner) => owner || account) : [];
  return new Set([...before, ...now, ...further]);
}

/**
 * Reports whether the vault had announced the removal of a secret, of this owner if one is given,
 * that a list lacks.
 */
export function wasAnnounced(
  name: string,
  { listedAt }: Snapshot,
  { before, facts, id }: Known,
  owner?: string,
): boolean {
  const records = before?.secrets(name);
  if (records === undefined) return (facts.deadlineOf("secret", name, id) ?? Infinity) <= listedAt;
  const isUsed = (record: SecretRecord): boolean =>
    owner === undefined
      ? records.length === 1 || facts.isReferenced("secret", name, { owner: record.owner })
      : record.owner === owner;
  return records.some((one) => (one.deleteAt ?? Infinity) <= listedAt && isUsed(one));
}
