import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultResponse } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";
import { type Operation, operationPath } from "../../src/protocol/operation-paths.ts";
import { connect } from "node:net";
import { recordingLogger } from "../lab/assertions/recording-logger.ts";

const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];

const changes: readonly (readonly [Operation, object])[] = [
  ["protect", { key_name: "new", key_value: "v" }],
  ["protect", { key_name: "own", key_value: "v" }],
  ["protect_link", { key_name: "bobs", owner: BOB, key_value: "v" }],
  ["update_key_metadata", { key_name: "own", key_version: 1, metadata: { note: "n" } }],
  ["version_delete", { key_name: "own", key_version: 1 }],
  ["delete", { key_name: "own" }],
  ["share", { key_name: "own", permission: "R", usr_id_from: ANN, usr_id_to: BOB }],
  ["unshare", { key_name: "shared" }],
  ["delete_shared_key_link", { key_name: "bobs", owner: BOB }],
  ["team_create", { group_id: "new" }],
  ["team_add_members", { group_id: "team", members: [CID] }],
  ["team_remove_members", { group_id: "team", members: [BOB] }],
  ["team_delete", { group_id: "team" }],
  ["block_sender", { usr_id_from: BOB }],
  ["unblock_sender", { usr_id_from: CID }],
  ["delete_file", { filename: "f" }],
  ["delete_all_files", {}],
];

/** Changes that create rows of their user, each with a separate user. */
const creations: readonly (readonly [Operation, object, string])[] = [
  ["protect", { key_name: "late", key_value: "v" }, "eve@example.com"],
  ["team_create", { group_id: "late" }, "fay@example.com"],
  ["block_sender", { usr_id_from: BOB }, "gil@example.com"],
];

let directory: string;
let log: string;
let data: VaultData;
let vault: TestVault;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
  log = join(directory, "audit.jsonl");
  data = await createVaultData();
  vault = await TestVault.start({
    data: data.location,
    emails: [ANN, BOB, CID, ...creations.map(([, , email]) => email)],
    auditLog: { file: log },
  });
  const ann = await vault.client(ANN);
  for (const name of ["own", "shared"])
    await ann.call("protect", { key_name: name, key_value: "v" });
  await ann.call("protect", { key_name: "own", key_value: "w" });
  await ann.upload([{ filename: "f", bytes: Buffer.from("f") }]);
  await ann.call("team_create", { group_id: "team", members: [BOB] });
  await ann.call("share", {
    key_name: "shared",
    permission: "RW",
    usr_id_from: ANN,
    usr_id_to: BOB,
  });
  const bob = await vault.client(BOB);
  await bob.call("protect", { key_name: "bobs", key_value: "v" });
  await bob.call("share", { key_name: "bobs", permission: "RW", usr_id_from: BOB, usr_id_to: ANN });
  await ann.call("block_sender", { usr_id_from: CID });
});
afterAll(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Number of requests that have been authenticated and are about to write. */
async function begun(): Promise<number> {
  return (await readFile(log, "utf8")).split('"phase":"begin"').length;
}

/**
 * Sends a request, runs a statement between its authentication and its write, and returns the
 * response.
 */
async function interrupted(
  send: () => Promise<VaultResponse>,
  sql: string,
): Promise<VaultResponse> {
  const before = await begun();
  await using held = await data.hold();
  const response = send();
  await expect.poll(begun).toBe(before + 1);
  await held.change(sql);
  await held.commit();
  return response;
}

/** Everything that requests of users can change. */
async function everything(): Promise<unknown> {
  const tables = [
    "secrets",
    "secret_versions",
    "person_grants",
    "teams",
    "team_members",
    "team_grants",
    "files",
    "blocked_senders",
  ];
  return Promise.all(tables.map((table) => data.select(`SELECT * FROM ${table} ORDER BY 1, 2`)));
}

test.each(changes)(
  "%s of a token that ends before the write changes nothing",
  async (operation, body) => {
    const ann = await vault.client(ANN);
    const before = await everything();
    const response = await interrupted(
      () => ann.call(operation, body),
      "DELETE FROM access_tokens",
    );
    expect(response.outcome()).toBe("401 invalid_token");
    expect(await everything()).toEqual(before);
  },
);

test.each(creations)(
  "%s during the deletion of its user is 401 and leaves nothing behind",
  async (operation, body, email) => {
    const before = await everything();
    const eve = await vault.client(email);
    const response = await interrupted(
      () => eve.call(operation, body),
      `DELETE FROM users WHERE email = '${email}'`,
    );
    expect(response.outcome()).toBe("401 invalid_token");
    expect(await everything()).toEqual(before);
  },
);

const ann = "ann@example.com";

/** Requests the list of secrets and leaves `afterMs` after the request is sent. */
async function leave({ port, hostname }: URL, token: string, afterMs: number): Promise<void> {
  const body = JSON.stringify({ email: ann });
  const lines = [
    `POST ${operationPath.list_no_dup} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: ${token}`,
    "content-type: application/json",
    "accept-encoding: gzip",
    `content-length: ${body.length}`,
    "",
    body,
  ];
  const socket = connect(Number(port), hostname);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on("close", () => resolve());
  socket.write(lines.join("\r\n"), () => setTimeout(() => socket.destroy(), afterMs));
  await closed;
}

test("a caller who leaves while a list is prepared causes no error in the log", async () => {
  const { logger, lines } = recordingLogger();
  await using server = await TestVault.start({ logger });
  const client = await server.client(ann);
  const metadata = { note: "n".repeat(2000) };
  for (let at = 0; at < 400; at++)
    await client.call("protect", { key_name: `name-${at}`, key_value: "v", metadata });
  const token = (await server.logIn(ann)).json().access_token;
  for (let afterMs = 0; afterMs < 40; afterMs++) await leave(new URL(server.url), token, afterMs);
  expect((await client.call("list_no_dup")).outcome()).toBe("200");
  expect(lines.filter(({ message }) => message === "request failed")).toEqual([]);
});
