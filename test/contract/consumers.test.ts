import { expect, onTestFinished, test } from "vitest";
import type { Consumer } from "../../src/operator/vault-client/connection.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { recordOf } from "../lab/vault/scripted-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import {
  observeConnection,
  passwordSource,
  referencesTo,
  untilHealthy,
  type ObserveOptions,
} from "../lab/vault/vault-connection.ts";

const signal = new AbortController().signal;
const [ann, bob] = ["ann@example.com", "bob@example.com"] as const;
const resource = (kind: string, name: string): Consumer => ({ namespace: "shop", kind, name });

/** Starts the reference server. Ann has a secret of her own, a file, and a secret for Bob. */
async function started() {
  const clock = new VirtualClock();
  const vault = await TestVault.start({ emails: [ann, bob], clock });
  onTestFinished(() => vault[Symbol.asyncDispose]());
  const client = await vault.client(ann, undefined, 10_000);
  for (const key_name of ["own", "shared"])
    await client.call("protect", { key_name, key_value: "canary" });
  await client.upload([{ filename: "conf", bytes: Buffer.from("canary") }]);
  const share = { key_name: "shared", usr_id_from: ann, usr_id_to: bob, permission: "R" };
  await client.call("share", share);
  return {
    connect: (email: string, options: Partial<ObserveOptions>) => {
      const credentials = passwordSource(vault.passwords.get(email) ?? "");
      const references = referencesTo(["own", "shared"], ["conf"]);
      return untilHealthy(
        observeConnection({ url: vault.url, email, credentials, references, ...options, clock }),
      );
    },
    /** Lets the server record what it noted, and returns the consumers of an entry. */
    recorded: async (entry: object): Promise<string[]> => {
      await clock.advance(10_000);
      const { consumers } = (await client.call("consumer_list", entry)).json();
      return consumers.map(
        (each: { consumer: string; version: number; account: string }) =>
          `${each.consumer} ${each.version} ${each.account}`,
      );
    },
  };
}

test("the server lists the resources that the client reports for secrets and files", async () => {
  const { connect, recorded } = await started();
  const observed = await connect(ann, { reportAs: "prod" });
  const { connection } = observed;
  await connection.reader(recordOf(observed, "own"), resource("VaultSecret", "db"))(1, signal);
  await expect.poll(() => connection.snapshot?.file("conf")).toBeDefined();
  const file = connection.snapshot!.file("conf")!;
  await connection.reader(file, resource("VaultFile", "app"))(1, signal);
  await connection.latest(
    {
      kind: "secret",
      name: "own",
      owner: undefined,
      received: false,
      shared: false,
      consumer: resource("VaultPush", "push"),
    },
    signal,
  );
  await expect
    .poll(async () => (await recorded({ key_name: "own" })).toSorted())
    .toEqual([`prod/shop/VaultPush/push 1 ${ann}`, `prod/shop/VaultSecret/db 1 ${ann}`]);
  await expect
    .poll(() => recorded({ filename: "conf" }))
    .toEqual([`prod/shop/VaultFile/app 1 ${ann}`]);
});

test("the creator of a received secret sees who reads it", async () => {
  const { connect, recorded } = await started();
  const observed = await connect(bob, { reportAs: "prod" });
  const read = observed.connection.reader(
    recordOf(observed, "shared"),
    resource("VaultSecret", "theirs"),
  );
  await read(1, signal);
  await expect
    .poll(() => recorded({ key_name: "shared" }))
    .toEqual([`prod/shop/VaultSecret/theirs 1 ${bob}`]);
});

test("the server lists no resource of a client that reports none", async () => {
  const { connect, recorded } = await started();
  const observed = await connect(ann, {});
  await observed.connection.reader(recordOf(observed, "own"), resource("VaultSecret", "db"))(
    1,
    signal,
  );
  for (let sweep = 0; sweep < 3; sweep += 1)
    expect(await recorded({ key_name: "own" })).toEqual([]);
});
