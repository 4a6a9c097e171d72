import type { Rewrite } from "../../../lib/rewrite-key.ts";
import { defined } from "../../../lib/defined.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import { defaultSecretTypes, vaultSecretSpec, type VaultSecretSpec } from "../../api/vault-secret.ts";
import type { SecretRecord } from "../../vault-client/connection.ts";
import { type DesiredState, parseResource, policiesOf } from "./parse-resource.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { findDigest, withForms } from "../../sync/item-form.ts";
import { notReady } from "../../sync/ready-condition.ts";
import type { Find, SyncItem } from "../../sync/sync-resource.ts";
import { patternReference } from "../../vault-client/pattern.ts";
import { isOwn, isTrusted, isUntrusted } from "../../api/received-secrets.ts";
import type { ParsedResource, SourceKind } from "./source-kind.ts";

type DataEntry = NonNullable<VaultSecretSpec["data"]>[number];
type DataFromEntry = NonNullable<VaultSecretSpec["dataFrom"]>[number];

function dataItem({ secretKey, remoteRef, optional }: DataEntry): SyncItem {
  const { key, owner, version = "latest", property, decoding = "None" } = remoteRef;
  const item = { id: secretKey, source: key, owner, version, isOptional: optional };
  return { ...item, property, decoding: decoding === "None" ? undefined : decoding };
}

const rulesOf = ({ rewrite = [] }: DataFromEntry): readonly Rewrite[] => rewrite.map(({ regexp }) => regexp);

function extractedItem(entry: DataFromEntry, index: number): readonly SyncItem[] {
  if (entry.extract === undefined) return [];
  const { key, owner, version = "latest" } = entry.extract;
  return [{ id: `dataFrom[${index}]`, source: key, owner, version, isExtracted: true, rewrite: rulesOf(entry) }];
}

function findOf(entry: DataFromEntry, index: number): readonly Find[] {
  if (entry.find === undefined) return [];
  const { name, metadata = {} } = entry.find;
  const rule = { pattern: name?.regexp ?? "", metadata: defined(metadata), rewrite: rulesOf(entry) };
  return [{ id: `dataFrom[${index}]`, ...rule, digest: findDigest(rule) }];
}

function sourcesOf({ data = [], dataFrom = [], target }: VaultSecretSpec): Pick<DesiredState, "items" | "finds"> {
  const items = [...data.map(dataItem), ...dataFrom.flatMap(extractedItem)];
  return withForms({ items, finds: dataFrom.flatMap(findOf) }, target?.template);
}

function desiredState(spec: VaultSecretSpec, name: string): DesiredState {
  return {
    ...sourcesOf(spec),
    template: spec.target?.template,
    target: {
      kind: "Secret",
      name: spec.target?.name ?? name,
      type: spec.target?.type ?? (spec.target?.creationPolicy === "Merge" ? undefined : "Opaque"),
    },
    ...policiesOf(spec.target),
  };
}

/** Reports whether a secret has the metadata that a rule requests. */
function isOf({ metadata }: SecretRecord, find: Find | undefined): boolean {
  return Object.entries(find?.metadata ?? {}).every(([name, value]) => metadata[name] === value);
}

/** Parses a VaultSecret whose target has one of these types. */
function parse(object: KubeObject, types: readonly string[]): ParsedResource {
  const parsed = parseResource("VaultSecret", vaultSecretSpec, object, desiredState);
  const { type } = parsed.resource.target;
  if (!parsed.ok || type === undefined || types.includes(type)) return parsed;
  const message = `spec.target.type: this operator allows ${types.join(", ")}; its flag --allowed-secret-types allows others`;
  return { ok: false, resource: parsed.resource, readyCondition: notReady("InvalidSpec", message) };
}

/**
 * Returns the source of VaultSecrets: their items are secrets of the vault, their target is a Secret of a default type or one of
 * `moreTypes`.
 */
export const secretSource = (moreTypes: readonly string[] = []): SourceKind => ({
  descriptor: vaultSecretKind,
  entries: "secret",
  parse: (object) => parse(object, [...defaultSecretTypes, ...moreTypes]),
  covers: (snapshot, item) => snapshot.covers("secret", item.source),
  names: (snapshot, find, access) =>
    [...snapshot.matching("secret", patternReference(find.pattern))].flatMap((name) => {
      const records = snapshot.secrets(name).filter((record) => isOf(record, find) && isTrusted(record, access));
      return records.length === 0 ? [] : [{ name, own: records.some((record) => isOwn(record, access)) }];
    }),
  isListed: (snapshot, name) => snapshot.secrets(name).length > 0,
  hasMetadata: (snapshot, name, find) => snapshot.secrets(name).some((record) => isOf(record, find)),
  changed: ({ secrets }) => secrets,
  candidates: (snapshot, item, access) => {
    const { connection, vault } = access;
    const records = snapshot.secrets(item.source).filter((record) => isOf(record, item.foundBy));
    return records.map((record) => ({
      vault,
      owner: record.owner,
      own: isOwn(record, access),
      untrusted: isUntrusted(record, item, access),
      latest: record.version,
      sizes: undefined,
      createdAt: record.createdAt === undefined ? undefined : new Map([[record.version, record.createdAt]]),
      expiresAt: record.expiresAt,
      deleteAt: record.deleteAt,
      read: connection.reader(record),
    }));
  },
});
