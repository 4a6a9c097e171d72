import type { Rewrite } from "./rewrite-key.ts";
import { defined } from "../lib/defined.ts";
import {
  clusterVaultSecretSpec,
  defaultSecretTypes,
  vaultSecretSpec,
  type VaultSecretSpec,
} from "../api/vault-secret.ts";
import { clusterVaultSecretKind } from "../api/kinds.ts";
import { findDigest, withForms } from "./item-form.ts";
import {
  type DesiredState,
  type ParsedResource,
  parseResource,
  policiesOf,
  templateOf,
  type WrittenResource,
} from "./parse-resource.ts";
import { notReady } from "./ready-condition.ts";
import type { Find, SyncItem } from "./sync-resource.ts";

/** The part of a spec that a ClusterVaultSecret has as well. */
type SecretSpec = Pick<VaultSecretSpec, "data" | "dataFrom" | "target">;
type DataEntry = NonNullable<VaultSecretSpec["data"]>[number];
type DataFromEntry = NonNullable<VaultSecretSpec["dataFrom"]>[number];

function dataItem({ secretKey, remoteRef, optional, validate }: DataEntry): SyncItem {
  const { key, owner, version = "latest", property, decoding = "None" } = remoteRef;
  const item = { id: secretKey, source: key, owner, version, isOptional: optional };
  const bytes = { property, decoding: decoding === "None" ? undefined : decoding };
  return { ...item, ...bytes, contract: validate };
}

const rulesOf = ({ rewrite = [] }: DataFromEntry): readonly Rewrite[] =>
  rewrite.map(({ regexp }) => regexp);

function extractedItem(entry: DataFromEntry, index: number): readonly SyncItem[] {
  if (entry.extract === undefined) return [];
  const { key, owner, version = "latest" } = entry.extract;
  return [
    {
      id: `dataFrom[${index}]`,
      source: key,
      owner,
      version,
      isExtracted: true,
      rewrite: rulesOf(entry),
    },
  ];
}

function findOf(entry: DataFromEntry, index: number): readonly Find[] {
  if (entry.find === undefined) return [];
  const { name, metadata = {} } = entry.find;
  const rule = {
    pattern: name?.regexp ?? "",
    metadata: defined(metadata),
    rewrite: rulesOf(entry),
  };
  return [{ id: `dataFrom[${index}]`, ...rule, digest: findDigest(rule) }];
}

function sourcesOf({
  data = [],
  dataFrom = [],
  target,
}: SecretSpec): Pick<DesiredState, "items" | "finds"> {
  const items = [...data.map(dataItem), ...dataFrom.flatMap(extractedItem)];
  return withForms({ items, finds: dataFrom.flatMap(findOf) }, templateOf(target));
}

function desiredState(spec: SecretSpec, name: string): DesiredState {
  return {
    ...sourcesOf(spec),
    template: templateOf(spec.target),
    target: {
      kind: "Secret",
      name: spec.target?.name ?? name,
      type: spec.target?.type ?? (spec.target?.creationPolicy === "Merge" ? undefined : "Opaque"),
    },
    ...policiesOf(spec.target),
  };
}

/**
 * Parses and validates a VaultSecret, or a ClusterVaultSecret in one namespace, because the
 * installed CRD may be older than the operator. Total.
 * @param moreTypes types of Secrets that targets may have in addition to the default ones
 */
export function parseSecret(
  object: WrittenResource,
  moreTypes: readonly string[] = [],
): ParsedResource {
  const parsed =
    object.kind === clusterVaultSecretKind.kind
      ? parseResource("ClusterVaultSecret", clusterVaultSecretSpec, object, desiredState)
      : parseResource("VaultSecret", vaultSecretSpec, object, desiredState);
  const { type } = parsed.resource.target;
  const types = [...defaultSecretTypes, ...moreTypes];
  if (!parsed.ok || type === undefined || types.includes(type)) return parsed;
  const message = `spec.target.type: this operator allows ${types.join(", ")}; its flag --allowed-secret-types allows others`;
  return { ok: false, resource: parsed.resource, readyCondition: notReady("InvalidSpec", message) };
}
