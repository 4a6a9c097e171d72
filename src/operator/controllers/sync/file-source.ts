import { vaultFileKind } from "../../api/kinds.ts";
import { vaultFileSpec, type VaultFileSpec } from "../../api/vault-file.ts";
import { type DesiredState, parseResource, policiesOf } from "./parse-resource.ts";
import { findDigest, withForms } from "../../sync/item-form.ts";
import type { Find, SyncItem } from "../../sync/sync-resource.ts";
import { patternReference } from "../../vault-client/pattern.ts";
import type { SourceKind } from "./source-kind.ts";

function findOf({ find, rewrite = [] }: NonNullable<VaultFileSpec["filesFrom"]>[number], index: number): Find {
  const rule = { pattern: find.filename.regexp, metadata: {}, rewrite: rewrite.map((one) => one.regexp) };
  return { id: `filesFrom[${index}]`, ...rule, digest: findDigest(rule) };
}

function desiredState(spec: VaultFileSpec, name: string): DesiredState {
  const { kind, creationPolicy } = spec.target;
  const items = (spec.files ?? []).map(({ filename, key = filename, version = "latest" }): SyncItem => {
    return { id: key, source: filename, owner: undefined, version };
  });
  return {
    ...withForms({ items, finds: (spec.filesFrom ?? []).map(findOf) }, spec.target.template),
    template: spec.target.template,
    target: {
      kind,
      name: spec.target.name ?? name,
      type: kind === "Secret" && creationPolicy !== "Merge" ? "Opaque" : undefined,
    },
    ...policiesOf(spec.target),
  };
}

/** Source of VaultFiles: their items are files of the vault, which are listed with their sizes. */
export const fileSource: SourceKind = {
  descriptor: vaultFileKind,
  entries: "file",
  parse: (object) => parseResource("VaultFile", vaultFileSpec, object, desiredState),
  covers: (snapshot, item) => snapshot.covers("file", item.source),
  names: (snapshot, find) => [...snapshot.matching("file", patternReference(find.pattern))].map((name) => ({ name, own: true })),
  isListed: (snapshot, name) => snapshot.file(name) !== undefined,
  hasMetadata: (snapshot, name) => snapshot.file(name) !== undefined,
  changed: ({ files }) => files,
  candidates: (snapshot, item, { connection, vault }) => {
    const record = snapshot.file(item.source);
    if (record === undefined) return [];
    return [
      {
        vault,
        owner: undefined,
        own: true,
        latest: record.version,
        sizes: new Map(record.versions.map(({ version, size }) => [version, size])),
        createdAt: new Map(
          record.versions.flatMap(({ version, createdAt }) => (createdAt === undefined ? [] : [[version, createdAt]])),
        ),
        expiresAt: undefined,
        deleteAt: undefined,
        read: connection.reader(record),
      },
    ];
  },
};
