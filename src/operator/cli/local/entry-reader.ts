import { Redacted } from "../../../lib/redacted.ts";
import { Slots } from "../../../lib/slots.ts";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { downloadFile } from "../../../protocol/client/download-file.ts";
import { versionExpose } from "../../../protocol/operations/secrets.ts";
import { versionExposeLink } from "../../../protocol/operations/shared-secrets.ts";
import type { Candidate } from "../../sync/resolution.ts";
import type { EntryReader } from "../plan/resolve-references.ts";
import { messageOf } from "../../../lib/errors.ts";

/** Maximum number of values that are read simultaneously. */
const READS = 8;

type Read = Candidate["read"];
type Fetched = Awaited<ReturnType<Read>>;

/** Reads values with a login: each version of an entry once, however many keys are made of it. */
export function entryReader(client: VaultClient): EntryReader {
  const slots = new Slots(READS);
  const reads = new Map<string, Promise<Fetched>>();
  const once =
    (name: string, id: readonly string[], read: (version: number) => Promise<Fetched>): Read =>
    (version, signal) => {
      const key = JSON.stringify([...id, version]);
      const reading = reads.get(key) ?? slots.run(signal, () => naming(name, read(version)));
      reads.set(key, reading);
      return reading;
    };
  return {
    secret: ({ key_name, owner, shared }) =>
      once(key_name, ["secret", key_name, owner], async (key_version) => {
        const body = { key_name, key_version };
        const exposed = await (shared
          ? client.call(versionExposeLink, { ...body, owner })
          : client.call(versionExpose, body));
        return {
          bytes: new Redacted(Buffer.from(exposed.key_value)),
          version: exposed.key_version,
        };
      }),
    file: ({ filename }) =>
      once(filename, ["file", filename], async (version) => ({
        bytes: new Redacted(await downloadFile(client, filename, version)),
        version,
      })),
  };
}

/** @throws Error that names the entry */
async function naming<T>(name: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw new Error(`${name}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
