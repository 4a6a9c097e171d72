import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Redacted } from "../../src/lib/redacted.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { Lanes } from "./support/lanes.ts";
import { reports, secretThrough } from "../lab/real/resources.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * A vault is restored from a backup, and then stores other bytes under a version that it had given
 * to others before.
 */
const EMAIL = "ops@example.com";
const NAME = "db";

/**
 * A vault on disk that can be backed up and restored by the command line, always at the same
 * address.
 */
class RestorableVault implements AsyncDisposable {
  readonly #directory: string;
  readonly #masterKey = new Redacted<Uint8Array>(randomBytes(32));
  #running: TestVault | undefined;
  #password = "";
  #url = "";
  #store = "first.db";

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async start(): Promise<RestorableVault> {
    const vault = new RestorableVault(await mkdtemp(join(tmpdir(), "vaultsync-restored-")));
    await vault.#start([EMAIL], 0);
    vault.#password = vault.#running?.passwords.get(EMAIL) ?? "";
    return vault;
  }

  get url(): string {
    return this.#url;
  }

  get password(): string {
    return this.#password;
  }

  async protect(value: string): Promise<void> {
    const login = await this.#running?.logIn(EMAIL, { password: this.password });
    const client = new VaultClient(this.url, EMAIL, { token: login?.json().access_token });
    const response = await client.call("protect", { key_name: NAME, key_value: value });
    if (response.status !== 200) throw new Error(`protect: ${response.outcome()}`);
  }

  backUp(): Promise<void> {
    return this.#command("backup", "--data", this.#path(this.#store), "--to", this.#path("backup"));
  }

  /** Replaces the data with the backup. */
  async restore(): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
    this.#store = "second.db";
    await this.#command(
      "restore",
      "--from",
      this.#path("backup"),
      "--data",
      this.#path(this.#store),
    );
    await this.#start([], Number(new URL(this.url).port));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }

  async #start(emails: readonly string[], port: number): Promise<void> {
    const listen = { host: "127.0.0.1", port };
    this.#running = await TestVault.start({
      emails,
      listen,
      data: this.#path(this.#store),
      masterKey: this.#masterKey,
    });
    this.#url = this.#running.url;
  }

  async #command(...args: readonly string[]): Promise<void> {
    const key = Buffer.from(this.#masterKey.reveal()).toString("base64");
    const { code, stderr } = await VaultsyncProcess.run(["vault", ...args], {
      env: { VAULTSYNC_VAULT_MASTER_KEY: key },
    });
    if (code !== 0) throw new Error(`vaultsync vault ${args.join(" ")}: ${stderr}`);
  }
}

// Without a cache, the operator reads a value again in order to repair its target.
const shared = Lanes.use(() => ({ accounts: 0, args: ["--value-cache-bytes", "0"] }));

interface Restored {
  readonly name: string;
  readonly vault: RestorableVault;
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
  await using vault = await RestorableVault.start();
  await using proxy = await FaultProxy.start({ url: vault.url });
  const second = world.canaries.text(name);
  await vault.protect(world.canaries.text(name));
  await vault.backUp();
  await vault.protect(second);
  await world.connection(name, { url: proxy.url, email: EMAIL, password: vault.password });
  await world.create(secretThrough(name, name, { value: NAME }));
  await holds(name, second);
  await proxy.refuse();
  await vault.restore();
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
    await vault.protect(again);
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
    await vault.protect(again);
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
