import { expect, test } from "vitest";
import { sessionOperationPath } from "../../../src/protocol/operation-paths.ts";
import { mailTo } from "../../lab/mail/smtp-server.ts";
import { onDatabase } from "../../lab/postgres/postgres-database.ts";
import { Replicas } from "../../lab/vault/replicas.ts";
import type { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultClient, VaultResponse } from "../../lab/vault/vault-client.ts";

const waitingIn = (server: TestVault): Promise<number> =>
  server.metric("vaultsync_vault_waiting_lists");

/** Sends a list that waits for 50 s, and resolves when the server lets it wait. */
async function wait(
  server: TestVault,
  caller: VaultClient,
  operation: "list_no_dup" | "list_file",
): Promise<{ readonly response: Promise<VaultResponse> }> {
  const { etag } = (await caller.call(operation)).headers;
  const response = caller.call(operation, {}, { "if-none-match": etag, prefer: "wait=50" });
  await expect.poll(() => waitingIn(server)).toBe(1);
  return { response };
}

const protect = (caller: VaultClient, name: string) =>
  caller.call("protect", { key_name: name, key_value: "v" });

test("a change at one replica ends the waits at the other", async () => {
  await using replicas = await Replicas.start();
  const [one, two] = await replicas.client("ann@example.com");
  const secrets = await wait(replicas.two, two, "list_no_dup");
  await protect(one, "a");
  expect((await secrets.response).json().secrets).toMatchObject([{ key_name: "a" }]);
  const files = await wait(replicas.two, two, "list_file");
  await one.upload([{ filename: "f", bytes: Buffer.from("content") }]);
  expect((await files.response).json().files).toMatchObject([{ filename: "f" }]);
});

test("a new password at one replica ends the waits at the other with 401", async () => {
  await using replicas = await Replicas.start();
  const [, two] = await replicas.client("ann@example.com");
  const { response } = await wait(replicas.two, two, "list_no_dup");
  await replicas.one.post(sessionOperationPath.app_request_password, { email: two.email });
  const { token } = await mailTo(replicas.one.mailDirectory, two.email);
  await replicas.one.post(sessionOperationPath.app_set_password, {
    token,
    password: "a-new-and-long-password",
  });
  expect((await response).outcome()).toBe("401 invalid_token");
});

test("a change while a replica cannot receive changes ends its waits once it can", async () => {
  await using replicas = await Replicas.start();
  const [one, two] = await replicas.client("ann@example.com");
  const { response } = await wait(replicas.two, two, "list_no_dup");
  const { pathname, href } = new URL(replicas.database.url);
  const database = pathname.slice(1);
  const server = href.replace(pathname, "/postgres");
  const allow = (connections: boolean) =>
    onDatabase(server, `ALTER DATABASE ${database} ALLOW_CONNECTIONS ${connections}`);
  await allow(false);
  const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'vaultsync_changes'`;
  expect((await onDatabase(server, terminate, [database])).rowCount).toBe(2);
  expect((await protect(one, "a")).status).toBe(200);
  const unavailable = async () => {
    const { etag } = (await two.call("list_no_dup")).headers;
    return (await two.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" }))
      .headers["preference-applied"];
  };
  expect(await unavailable()).toBeUndefined();
  expect(await waitingIn(replicas.two)).toBe(1);
  await allow(true);
  expect((await response).json().secrets).toMatchObject([{ key_name: "a" }]);
});

test("a killed connection for changes is replaced, and a change in the gap is found", async () => {
  await using replicas = await Replicas.start();
  const [one, two] = await replicas.client("ann@example.com");
  const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'vaultsync_changes'`;
  for (const name of ["a", "b", "c"]) {
    const { response } = await wait(replicas.two, two, "list_no_dup");
    const { rows } = await replicas.database.run(
      `SELECT pg_terminate_backend(pid), pid ${listeners}`,
    );
    expect(rows).toHaveLength(2);
    await protect(one, name);
    expect((await response).json().secrets.at(-1)).toMatchObject({ key_name: name });
    const former = rows.map(({ pid }) => pid);
    await expect
      .poll(
        async () =>
          (await replicas.database.run(`SELECT pid ${listeners} AND NOT pid = ANY($1)`, former))
            .rowCount,
      )
      .toBe(2);
    const later = await wait(replicas.two, two, "list_no_dup");
    await protect(one, `${name}2`);
    expect((await later.response).json().secrets.at(-1)).toMatchObject({ key_name: `${name}2` });
  }
});
