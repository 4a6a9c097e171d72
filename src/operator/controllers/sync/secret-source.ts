import { vaultSecretKind } from "../../api/kinds.ts";
import { isOwn, isTrusted, isUntrusted, mayHaveOwner } from "../../api/received-secrets.ts";
import { hasMetadata } from "../../sync/find-items.ts";
import { parseSecret } from "../../sync/parse-secret.ts";
import { patternReference } from "../../vault-client/pattern.ts";
import type { SourceKind } from "./source-kind.ts";

/**
 * Returns the source of VaultSecrets: their items are secrets of the vault, their target is a
 * Secret of a default type or one of `moreTypes`.
 */
export const secretSource = (moreTypes: readonly string[] = []): SourceKind => ({
  descriptor: vaultSecretKind,
  entries: "secret",
  parse: (object) => parseSecret(object, moreTypes),
  covers: (snapshot, item) => snapshot.covers("secret", item.source),
  names: (snapshot, find, access) =>
    [...snapshot.matching("secret", patternReference(find.pattern))].flatMap((name) => {
      const records = snapshot
        .secrets(name)
        .filter((record) => hasMetadata(record.metadata, find) && isTrusted(record, access));
      return records.length === 0
        ? []
        : [{ name, own: records.some((record) => isOwn(record, access)) }];
    }),
  isListed: (snapshot, name, { owner, trust, find } = {}) =>
    snapshot
      .secrets(name)
      .some(
        (record) =>
          (owner === undefined || mayHaveOwner(record, owner)) &&
          (trust === undefined || isTrusted(record, trust)) &&
          hasMetadata(record.metadata, find),
      ),
  candidates: (snapshot, item, access, consumer) => {
    const { connection, vault } = access;
    const records = snapshot
      .secrets(item.source)
      .filter((record) => hasMetadata(record.metadata, item.foundBy));
    return records.map((record) => ({
      vault,
      owner: record.owner,
      own: isOwn(record, access),
      untrusted: isUntrusted(record, item, access),
      latest: record.version,
      sizes: undefined,
      createdAt:
        record.createdAt === undefined ? undefined : new Map([[record.version, record.createdAt]]),
      expiresAt: record.expiresAt,
      deleteAt: record.deleteAt,
      read: connection.reader(record, consumer),
    }));
  },
});
