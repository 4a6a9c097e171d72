import { expect, test } from "vitest";
import { readListAside } from "../../../src/operator/vault-client/mirror/list-reader.ts";

const MIB = 1024 * 1024;

/** Returns a list that is read in a thread. */
function longList(): Uint8Array {
  const secrets = Array.from({ length: 10_000 }, (_, at) => ({
    key_name: `name-${at}`,
    key_version: 1,
    metadata: { description: "x".repeat(60) },
  }));
  return Buffer.from(JSON.stringify({ secrets }));
}

test("the long lists of one tenant delay that of another by one list", async () => {
  const read: string[] = [];
  const readAs = (tenant: string): Promise<unknown> =>
    readListAside(
      "list_no_dup",
      { body: longList(), tracked: new Set(), maxBytes: 16 * MIB },
      tenant,
    ).then(() => read.push(tenant));
  await Promise.all([...Array.from({ length: 6 }, () => readAs("stranger/")), readAs("shop/")]);
  expect(read.indexOf("shop/")).toBeLessThanOrEqual(2);
});
