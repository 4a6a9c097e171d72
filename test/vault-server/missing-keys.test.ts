import { expect, test } from "vitest";
import { createLogger } from "../../src/telemetry/create-logger.ts";
import { generateMasterKey, MasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { CURRENT_KEY } from "../../src/vault/server/store/current-key.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { startVaultServer } from "../../src/vault/server/vault-server.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [lost, kept] = [generateMasterKey(), generateMasterKey()];
const idOf = (key: typeof lost): string => new MasterKey(key).id;

/**
 * Stores two secrets and a file under the key `lost`, and a secret and a token under the current
 * key `kept`.
 */
async function fill({ location }: VaultData): Promise<string> {
  let token: string;
  {
    await using vault = await TestVault.start({
      data: location,
      masterKey: KeyRing.of(lost, kept),
    });
    const ann = await vault.client("ann@example.com");
    for (const name of ["one", "two"])
      await ann.call("protect", { key_name: name, key_value: name });
    await ann.upload([{ filename: "f", bytes: Buffer.from("f") }]);
    await makeKeptCurrent(location);
    await ann.call("protect", { key_name: "three", key_value: "three" });
    ({ token } = await vault.client("ann@example.com"));
  }
  return token;
}

/**
 * Makes `kept` the current key, like a rotation that is interrupted before it wraps the first
 * record.
 */
async function makeKeptCurrent(location: string): Promise<void> {
  await using store = await openStore(location);
  await store.write(({ settings }) => settings.set(CURRENT_KEY, idOf(kept)));
}

const listen = { host: "127.0.0.1", port: 0 };

test("a server without a key that records need refuses to start and says which and how many", async () => {
  await using stored = await createVaultData();
  await fill(stored);
  const options = { listen, data: stored.location };
  await expect(startVaultServer({ ...options, masterKey: kept })).rejects.toThrow(
    `the data needs master keys that are missing: ${idOf(lost)} (3 records); add them to the master key file`,
  );
  await using _server = await startVaultServer({ ...options, masterKey: KeyRing.of(kept, lost) });
});

test("with allowMissingKeys the records of a missing key are unreadable, and can be deleted", async () => {
  await using stored = await createVaultData();
  const token = await fill(stored);
  let log = "";
  const logger = createLogger({
    name: "vault",
    level: "warn",
    destination: { write: (line) => void (log += line) },
  });
  await using server = await startVaultServer({
    listen,
    data: stored.location,
    masterKey: kept,
    allowMissingKeys: true,
    logger,
  });
  expect(log).toContain(`"masterKey":"${idOf(lost)}","records":3`);
  const ann = new VaultClient(server.url, "ann@example.com", { token });
  expect((await ann.call("expose", { key_name: "three" })).json().key_value).toBe("three");
  const unreadable = await ann.call("expose", { key_name: "one" });
  expect(unreadable.outcome()).toBe("500 internal");
  expect(unreadable.json().error.message).toContain("master key");
  expect((await ann.call("download_file", { filename: "f" })).outcome()).toBe("500 internal");
  expect((await ann.call("list_no_dup")).json().secrets).toHaveLength(3);
  await ann.call("protect", { key_name: "two", key_value: "again" });
  expect((await ann.call("expose", { key_name: "two" })).json().key_value).toBe("again");
  for (const name of ["one", "two"])
    expect((await ann.call("delete", { key_name: name })).status).toBe(200);
  expect((await ann.call("delete_file", { filename: "f" })).status).toBe(200);
  await using _other = await startVaultServer({ listen, data: stored.location, masterKey: kept });
});
