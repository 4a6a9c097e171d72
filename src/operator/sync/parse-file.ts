import { clusterVaultFileKind } from "../api/kinds.ts";
import { clusterVaultFileSpec, vaultFileSpec, type VaultFileSpec } from "../api/vault-file.ts";
import { findDigest, withForms } from "./item-form.ts";
import {
  type DesiredState,
  type ParsedResource,
  parseResource,
  policiesOf,
  templateOf,
  type WrittenResource,
} from "./parse-resource.ts";
import type { Find, SyncItem } from "./sync-resource.ts";

function findOf(
  { find, rewrite = [] }: NonNullable<VaultFileSpec["filesFrom"]>[number],
  index: number,
): Find {
  const rule = {
    pattern: find.filename.regexp,
    metadata: {},
    rewrite: rewrite.map((one) => one.regexp),
  };
  return { id: `filesFrom[${index}]`, ...rule, digest: findDigest(rule) };
}

/** The part of a spec that a ClusterVaultFile has as well. */
type FileSpec = Pick<VaultFileSpec, "files" | "filesFrom" | "target">;

function desiredState(spec: FileSpec, name: string): DesiredState {
  const { kind, creationPolicy } = spec.target;
  const template = templateOf(spec.target);
  const items = (spec.files ?? []).map(
    ({ filename, key = filename, version = "latest", validate: contract }): SyncItem => {
      return { id: key, source: filename, owner: undefined, version, contract };
    },
  );
  return {
    ...withForms({ items, finds: (spec.filesFrom ?? []).map(findOf) }, template),
    template,
    target: {
      kind,
      name: spec.target.name ?? name,
      type: kind === "Secret" && creationPolicy !== "Merge" ? "Opaque" : undefined,
    },
    ...policiesOf(spec.target),
  };
}

/**
 * Parses and validates a VaultFile, or a ClusterVaultFile in one namespace, because the installed
 * CRD may be older than the operator. Total.
 */
export const parseFile = (object: WrittenResource): ParsedResource =>
  object.kind === clusterVaultFileKind.kind
    ? parseResource("ClusterVaultFile", clusterVaultFileSpec, object, desiredState)
    : parseResource("VaultFile", vaultFileSpec, object, desiredState);
