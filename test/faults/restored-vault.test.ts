import { expect, test } from "vitest";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { ACCOUNT } from "../lab/real/world.ts";
import { PersistentVault } from "../lab/vault/persistent-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { Lanes } from "./support/lanes.ts";
import { reports, secretThrough } from "../lab/real/resources.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * A vault is restored from a backup, and then stores other bytes under a version that it had given
 * to others before.
 */
const NAME = "db";

async function protect({ url, password }: PersistentVault, value: string): Promise<void> {
  const client = await VaultClient.connect(url, ACCOUNT, password);
  const response = await client.call("protect", { key_name: NAME, key_value: value });
  if (response.status !== 200) throw new Error(`protect: ${response.outcome()}`);
}

async function command(vault: PersistentVault, ...args: readonly string[]): Promise<void> {
  const { code, stderr } = await VaultsyncProcess.run(["vault", ...args], {
    env: { VAULTSYNC_VAULT_MASTER_KEY: vault.masterKey },
  });
  if (code !== 0) throw new Error(`vaultsync vault ${args.join(" ")}: ${stderr}`);
}

const backUp = (vault: PersistentVault): Promise<void> =>
  command(vault, "backup", "--data", vault.path("vault.db"), "--to", vault.path("backup"));

/** Replaces the data with the backup. */
async function restore(vault: PersistentVault): Promise<void> {
  await vault.stop();
  const data = vault.path("restored.db");
  await command(vault, "restore", "--from", vault.path("backup"), "--data", data);
  await vault.restart("restored.db");
}

// Without a cache, the operator reads a value again in order to repair its target.
const shared = Lanes.use(() => ({ accounts: 0, args: ["--value-cache-bytes", "0"] }));

interface Restored {
  readonly name: string;
  readonly vault: PersistentVault;
  readonly proxy: FaultProxy;
  /** The value of version 2. The backup does not contain it. */
  readonly second: string;
}

/**
 * Backs up version 1, syncs version 2, restores the backup while the vault cannot be reached, and
 * runs `check`.
 */
async function afterRestore(
  name: string,
  check: (restored: Restored) => Promise<void>,
): Promise<void> {
  const { world } = shared;
  await using vault = await PersistentVault.start();
  await using proxy = await FaultProxy.start({ url: vault.url });
  const second = world.canaries.text(name);
  await protect(vault, world.canaries.text(name));
  await backUp(vault);
  await protect(vault, second);
  await world.connection(name, { url: proxy.url, email: ACCOUNT, password: vault.password });
  await world.create(secretThrough(name, name, { value: NAME }));
  await holds(name, second);
  await proxy.refuse();
  await restore(vault);
  await check({ name, vault, proxy, second });
  for (const kind of ["VaultSecret", "VaultConnection"]) await world.delete(kind, name);
}

const written = (name: string): string[] => shared.world.history.values(name, "value");
const holds = (name: string, value: string): Promise<unknown> =>
  shared.world.history.until(
    "Secret",
    name,
    ({ data }) => data["value"] === Buffer.from(value).toString("base64"),
  );

test.concurrent("V16: after a restore to a lower version the target keeps the bytes of the higher one", () =>
  afterRestore("v16-lower", async ({ name, proxy, second }) => {
    await proxy.heal();
    await shared.world.history.until("VaultSecret", name, (one) =>
      reports(one, "VersionRegressed"),
    );
    expect(written(name)).toEqual([second]);
  }));

test.concurrent("V16: a version that was stored again after a restore, at another time, is a change", () =>
  afterRestore("v16-later", async ({ name, vault, proxy, second }) => {
    const again = shared.world.canaries.text("again");
    await protect(vault, again);
    await proxy.heal();
    await holds(name, again);
    expect(written(name)).toEqual([second, again]);
  }));

/** Changes a list as if the vault did not say when a version was created. */
const withoutTimes = ({ secrets }: { secrets: object[] }): object => ({
  secrets: secrets.map((one) => ({ ...one, created_at: undefined, updated_at: undefined })),
});

test.concurrent("V16: other bytes under an unchanged version are kept out until a user accepts them", () =>
  afterRestore("v16-equal", async ({ name, vault, proxy, second }) => {
    const { world } = shared;
    const again = world.canaries.text("again");
    await protect(vault, again);
    await proxy.heal();
    proxy.inject(faults.on("list_no_dup", faults.changed(withoutTimes)));
    await world.patch("Secret", name, {
      data: { value: Buffer.from("changed").toString("base64") },
    });
    await world.history.until("VaultSecret", name, (one) =>
      reports(one, "SourceSuspicious", /vaultsync\.dev\/accept=db@2/),
    );
    expect(written(name)).toEqual([second, "changed"]);
    await world.patch("VaultSecret", name, {
      metadata: { annotations: { "vaultsync.dev/accept": `${NAME}@2` } },
    });
    await holds(name, again);
    expect(written(name)).toEqual([second, "changed", again]);
  }));

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
