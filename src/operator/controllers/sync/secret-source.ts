import { vaultSecretKind } from "../../api/kinds.ts";
import { defaultSecretTypes, vaultSecretSpec, type VaultSecretSpec } from "../../api/vault-secret.ts";
import type { SecretRecord } from "../../vault-client/connection.ts";
import { type DesiredState, parseResource, policiesOf } from "./parse-resource.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { withForms } from "../../sync/item-form.ts";
import { notReady } from "../../sync/ready-condition.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import type { ParsedResource, SourceKind } from "./source-kind.ts";

type DataEntry = NonNullable<VaultSecretSpec["data"]>[number];
type DataFromEntry = NonNullable<VaultSecretSpec["dataFrom"]>[number];

function dataItem({ secretKey, remoteRef, optional }: DataEntry): SyncItem {
  const { key, owner, version = "latest", property, decoding = "None" } = remoteRef;
  const item = { id: secretKey, source: key, owner, version, isOptional: optional };
  return { ...item, property, decoding: decoding === "None" ? undefined : decoding };
}

function extractedItem({ extract: { key, owner, version = "latest" }, rewrite = [] }: DataFromEntry, index: number): SyncItem {
  const rules = rewrite.map(({ regexp }) => regexp);
  return { id: `dataFrom[${index}]`, source: key, owner, version, isExtracted: true, rewrite: rules };
}

function itemsOf({ data = [], dataFrom = [], target }: VaultSecretSpec): readonly SyncItem[] {
  return withForms([...data.map(dataItem), ...dataFrom.map(extractedItem)], target?.template);
}

function desiredState(spec: VaultSecretSpec, name: string): DesiredState {
  return {
    items: itemsOf(spec),
    template: spec.target?.template,
    target: {
      kind: "Secret",
      name: spec.target?.name ?? name,
      type: spec.target?.type ?? (spec.target?.creationPolicy === "Merge" ? undefined : "Opaque"),
    },
    ...policiesOf(spec.target),
  };
}

const isOwn = ({ owner }: SecretRecord, account: string): boolean =>
  owner === undefined || owner.toLowerCase() === account.toLowerCase();

/** Reports whether another account shares the secret; a list may omit its owner. */
const isReceived = (record: SecretRecord, account: string): boolean => record.shared === true || !isOwn(record, account);

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
  changed: ({ secrets }) => secrets,
  candidates: (snapshot, item, { connection, vault, account, trustedOwners }) =>
    snapshot.secrets(item.source).map((record) => ({
      vault,
      owner: record.owner,
      own: isOwn(record, account),
      untrusted:
        trustedOwners !== undefined && isReceived(record, account) && !trustedOwners.has(record.owner?.toLowerCase() ?? ""),
      latest: record.version,
      sizes: undefined,
      createdAt: record.createdAt === undefined ? undefined : new Map([[record.version, record.createdAt]]),
      expiresAt: record.expiresAt,
      deleteAt: record.deleteAt,
      read: connection.reader(record),
    })),
});
