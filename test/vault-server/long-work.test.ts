import { expect, test, vi } from "vitest";
import { longWork } from "../../src/vault/server/long-work.ts";
import { insertSecrets } from "../lab/vault/insert-secrets.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

vi.setConfig({ testTimeout: 60_000 });
const directory = new TestDirectory();

test("reads and other accounts are served while a request deletes thousands of secrets", async () => {
  const COUNT = 5_000;
  const data = directory.join("long.db");
  await using vault = await TestVault.start({ data });
  const [ann, bob] = [await vault.client("ann@example.com"), await vault.client("bob@example.com")];
  await bob.call("protect", { key_name: "short", key_value: "v" });
  insertSecrets(data, ann.email, COUNT, Date.now());
  const names = Array.from(
    { length: COUNT },
    (_, index) => `listed-${String(index).padStart(6, "0")}`,
  );
  const state = { deleted: false };
  const deletion = ann.call("delete", { key_name: names }).finally(() => (state.deleted = true));
  let served = 0;
  while (!state.deleted) {
    const { status } = await bob.call("expose", { key_name: "short" });
    if (status === 200 && !state.deleted) served += 1;
  }
  expect((await deletion).status).toBe(200);
  // The transaction takes most of the time of the request: without turns, no read is served before
  // its end.
  expect(served).toBeGreaterThan(5);
});

test("long work is notified of the start and end of each request, and of each chunk of an upload", async () => {
  await using vault = await TestVault.start({});
  const ann = await vault.client("ann@example.com");
  await ann.call("list_file");
  const noteUse = vi.spyOn(longWork, "noteUse");
  try {
    await ann.call("list_file");
    await vi.waitFor(() => expect(noteUse).toHaveBeenCalledTimes(2));
    noteUse.mockClear();
    await ann.upload([{ filename: "a", bytes: Buffer.alloc(600 * 1024) }]);
    await vi.waitFor(() => expect(noteUse).toHaveBeenCalledTimes(2 + 3));
  } finally {
    noteUse.mockRestore();
  }
});
