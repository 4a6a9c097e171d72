import { vaultFileKind } from "../../api/kinds.ts";
import { parseFile } from "../../sync/parse-file.ts";
import { patternReference } from "../../vault-client/pattern.ts";
import type { SourceKind } from "./source-kind.ts";

/** Source of VaultFiles: their items are files of the vault, listed with their sizes. */
export const fileSource: SourceKind = {
  descriptor: vaultFileKind,
  entries: "file",
  parse: parseFile,
  covers: (snapshot, item) => snapshot.covers("file", item.source),
  names: (snapshot, find) =>
    [...snapshot.matching("file", patternReference(find.pattern))].map((name) => ({
      name,
      own: true,
    })),
  isListed: (snapshot, name) => snapshot.file(name) !== undefined,
  candidates: (snapshot, item, { connection, vault }, consumer) => {
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
          record.versions.flatMap(({ version, createdAt }) =>
            createdAt === undefined ? [] : [[version, createdAt]],
          ),
        ),
        expiresAt: undefined,
        deleteAt: undefined,
        read: connection.reader(record, consumer),
      },
    ];
  },
};
