import { vaultFileKind } from "../../api/kinds.ts";
import { vaultFileSpec, type VaultFileSpec } from "../../api/vault-file.ts";
import { type DesiredState, parseResource, policiesOf } from "./parse-resource.ts";
import { withForms } from "../../sync/item-form.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import type { SourceKind } from "./source-kind.ts";

function desiredState(spec: VaultFileSpec, name: string): DesiredState {
  const { kind, creationPolicy } = spec.target;
  const items = (spec.files ?? []).map(({ filename, key = filename, version = "latest" }): SyncItem => {
    return { id: key, source: filename, owner: undefined, version };
  });
  return {
    items: withForms(items, spec.target.template),
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
