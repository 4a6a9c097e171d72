import { afterAll, beforeAll, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { bytesOf, condition, vaultSecret } from "../lab/real/resources.ts";

/**
 * Secrets of another user that are shared with the operator's account. The account trusts that
 * user.
 */
const DBA = "dba@example.com";

let world: World;
let dba: VaultClient;
beforeAll(async () => {
  world = await World.create({ vault: await TestVault.start({ emails: [ACCOUNT, DBA] }) });
  const spec = { trustedOwners: [DBA] };
  await world.plane.kubectl(
    ["patch", "vaultconnection/vault", "--type=merge", "-p", JSON.stringify({ spec })],
    {
      namespace: world.namespace,
    },
  );
  dba = await world.vault.client(DBA);
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

async function call(...[operation, body]: Parameters<VaultClient["call"]>): Promise<void> {
  const response = await dba.call(operation, body);
  expect(response.status, `${operation}: ${response.code()}`).toBe(200);
}

const share = (name: string): Promise<void> =>
  call("share", { key_name: [name], permission: "R", usr_id_from: DBA, usr_id_to: [ACCOUNT] });

test("a shared secret is synced with its new versions and kept when the share ends", async () => {
  const first = world.canaries.text("shared 1");
  await call("protect", { key_name: "shared", key_value: first });
  await share("shared");
  await world.apply(vaultSecret("shared", { password: "shared" }));
  await world.ready("VaultSecret", "shared");
  expect(bytesOf((await world.get("Secret", "shared"))!, "password")?.toString()).toBe(first);

  const second = world.canaries.text("shared 2");
  await call("protect_link", { key_name: "shared", key_value: second });
  await world.has("shared", "password", second);

  await call("unshare", { key_name: ["shared"], usr_id_to: [ACCOUNT] });
  await world.untilReason("VaultSecret", "shared", "SourceMissing");
  expect(bytesOf((await world.get("Secret", "shared"))!, "password")?.toString()).toBe(second);
});

test("a shared secret of the same name does not replace the account's own", async () => {
  const own = world.canaries.text("own");
  await world.protect("same-name", own);
  await world.apply(vaultSecret("same-name", { password: "same-name" }));
  await world.ready("VaultSecret", "same-name");
  await call("protect", { key_name: "same-name", key_value: world.canaries.text("intruder") });
  await share("same-name");
  await world.caller.call("delete", { key_name: "same-name" });
  const resource = await world.untilReason("VaultSecret", "same-name", "AmbiguousName");
  expect(condition(resource, "Ready")?.message).toContain(DBA);
  expect(bytesOf((await world.get("Secret", "same-name"))!, "password")?.toString()).toBe(own);
});

test("a secret recreated between two lists is synced although its version is the same", async () => {
  await world.protect("recreated", world.canaries.text("recreated 1"));
  await world.apply(vaultSecret("recreated", { password: "recreated" }));
  await world.ready("VaultSecret", "recreated");
  await world.caller.call("delete", { key_name: "recreated" });
  const again = world.canaries.text("recreated 2");
  expect(await world.protect("recreated", again)).toBe(1);
  await world.has("recreated", "password", again);
});

test("a latest version that went back is not synced until a user accepts it", async () => {
  const first = world.canaries.text("back 1");
  const second = world.canaries.text("back 2");
  await world.protect("back", first);
  await world.protect("back", second);
  await world.apply(vaultSecret("back", { password: "back" }));
  await world.ready("VaultSecret", "back");
  await world.caller.call("version_delete", { key_name: "back", key_version: 2 });
  await world.untilReason("VaultSecret", "back", "VersionRegressed");
  expect(bytesOf((await world.get("Secret", "back"))!, "password")?.toString()).toBe(second);
  await world.plane.kubectl(["annotate", "vaultsecret", "back", "vaultsync.dev/accept=back@1"], {
    namespace: world.namespace,
  });
  await world.has("back", "password", first);
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
