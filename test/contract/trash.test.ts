import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { listSoon, recordOf, textOf } from "../lab/vault/scripted-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import {
  observeConnection,
  passwordSource,
  referencesTo,
  untilHealthy,
} from "../lab/vault/vault-connection.ts";

const email = "ann@example.com";
const names = ["shop-db"];

/** Starts a reference server with a trash, and the operator's connection to it. */
async function started() {
  const clock = new VirtualClock();
  const vault = await TestVault.start({ emails: [email], trashDays: 30, clock });
  onTestFinished(() => vault[Symbol.asyncDispose]());
  const client = await vault.client(email, undefined, 10_000);
  for (const key_value of ["canary-one", "canary-two"])
    await client.call("protect", { key_name: "shop-db", key_value });
  await client.upload([{ filename: "app.conf", bytes: Buffer.from("one") }]);
  const observed = await untilHealthy(
    observeConnection({
      url: vault.url,
      email,
      credentials: passwordSource(vault.passwords.get(email) ?? ""),
      references: referencesTo(names, ["app.conf"]),
      clock,
    }),
  );
  // Secrets and files are separate lists.
  await expect.poll(() => observed.connection.snapshot?.file("app.conf")).toBeDefined();
  return { client, observed };
}

test("a secret and a file in the trash are gone, and restored with the same versions", async () => {
  const { client, observed } = await started();
  const snapshot = () => observed.connection.snapshot!;
  const [secret, file] = [recordOf(observed, "shop-db"), snapshot().file("app.conf")];
  expect(secret.version).toBe(2);
  expect(file?.version).toBe(1);
  const [first] = (await client.call("delete", { key_name: names })).json().trash;
  const [second] = (await client.call("delete_file", { filename: "app.conf" })).json().trash;
  await listSoon(observed);
  await expect.poll(() => snapshot().file("app.conf")).toBeUndefined();
  await expect.poll(() => snapshot().secrets("shop-db")).toHaveLength(0);
  await client.call("trash_restore", { id: [first.id, second.id] });
  await listSoon(observed);
  await expect.poll(() => snapshot().file("app.conf")).toBeDefined();
  await expect.poll(() => snapshot().secrets("shop-db")).toHaveLength(1);
  expect(recordOf(observed, "shop-db")).toEqual(secret);
  expect(snapshot().file("app.conf")).toEqual(file);
  expect(await textOf(observed, "shop-db", 1)).toEqual(["canary-one", 1]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
});

test("a name that was used again is restored with its first numbers", async () => {
  const { client, observed } = await started();
  const [first] = (await client.call("delete", { key_name: names })).json().trash;
  await client.call("protect", { key_name: "shop-db", key_value: "canary-three" });
  await listSoon(observed);
  await expect.poll(() => recordOf(observed, "shop-db").version).toBe(1);
  expect(await textOf(observed, "shop-db", 1)).toEqual(["canary-three", 1]);
  await client.call("delete", { key_name: names });
  await client.call("trash_restore", { id: first.id });
  await listSoon(observed);
  await expect.poll(() => recordOf(observed, "shop-db").version).toBe(2);
  expect(await textOf(observed, "shop-db", 2)).toEqual(["canary-two", 2]);
});
