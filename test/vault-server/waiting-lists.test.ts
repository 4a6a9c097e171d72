import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { WebSession } from "../lab/vault/web-session.ts";

type ListOperation = "list_no_dup" | "list_file";
const lists = ["list_no_dup", "list_file"] as const;

const clock = new VirtualClock();
const { vault, ann, bob, cid } = await useVault({ clock });
let fresh = 0;
let name: string;
beforeEach(() => {
  name = `waited-${(fresh += 1)}`;
});

const outcomeOf = ({ status, headers }: VaultResponse): unknown[] => [
  status,
  headers["preference-applied"],
];
const tagOf = async (caller: VaultClient, operation: ListOperation): Promise<string> =>
  (await caller.call(operation)).headers.etag ?? "";
const waitingIn = (server: TestVault): Promise<number> =>
  server.metric("vaultsync_vault_waiting_lists");

/** Returns the outcome of a list that the server does not let wait. */
const waitBeyondLimit = async (caller: VaultClient) =>
  outcomeOf(
    await caller.call(
      "list_file",
      {},
      { "if-none-match": await tagOf(caller, "list_file"), prefer: "wait=50" },
    ),
  );

/** Sends a list that waits, and resolves when the server lets it wait. */
async function wait(
  caller: VaultClient,
  operation: ListOperation,
  { prefer = "wait=50", server = vault }: { prefer?: string; server?: TestVault } = {},
): Promise<{ readonly response: Promise<VaultResponse> }> {
  const before = await waitingIn(server);
  const response = caller.call(
    operation,
    {},
    { "if-none-match": await tagOf(caller, operation), prefer },
  );
  await expect.poll(() => waitingIn(server)).toBe(before + 1);
  return { response };
}

const protect = (caller: VaultClient, more = {}) =>
  caller.call("protect", { key_name: name, key_value: "v", ...more });
const upload = (caller: VaultClient) =>
  caller.upload([{ filename: name, bytes: Buffer.from("f") }]);
const grant = (to: object) =>
  ann.call("share", { key_name: name, permission: "R", usr_id_from: ann.email, ...to });
const change = { list_no_dup: protect, list_file: upload } as const;

describe.each(lists)("%s with the preference wait", (operation) => {
  test("responds with the new list as soon as the caller's list changes", async () => {
    const { response } = await wait(ann, operation);
    await change[operation](ann);
    const changed = await response;
    expect(outcomeOf(changed)).toEqual([200, "wait"]);
    expect(changed.bytes.toString()).toContain(name);
    expect(changed.headers.etag).toBe(await tagOf(ann, operation));
  });

  test("responds with 304 after the time when nothing changed", async () => {
    const etag = await tagOf(ann, operation);
    const { response } = await wait(ann, operation, { prefer: "respond-async, WAIT=10; x=1" });
    await clock.advance(9_999);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(1);
    const same = await response;
    expect([...outcomeOf(same), same.headers.etag]).toEqual([304, "wait", etag]);
  });

  test("waits at most 55 s", async () => {
    const { response } = await wait(ann, operation, { prefer: "wait=999999999" });
    await clock.advance(54_999);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(1);
    expect((await response).status).toBe(304);
  });

  test("is not woken by changes of other users' lists", async () => {
    const { response } = await wait(ann, operation);
    await change[operation](bob);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(50_000);
    expect((await response).status).toBe(304);
  });

  test("responds immediately when the list has another tag", async () => {
    const etag = await tagOf(ann, operation);
    await change[operation](ann);
    const response = await ann.call(operation, {}, { "if-none-match": etag, prefer: "wait=50" });
    expect(outcomeOf(response)).toEqual([200, "wait"]);
  });

  test("responds immediately without if-none-match, without a number and for a wait of 0", async () => {
    const etag = await tagOf(ann, operation);
    expect(outcomeOf(await ann.call(operation, {}, { prefer: "wait=50" }))).toEqual([
      200,
      undefined,
    ]);
    for (const prefer of [
      "wait=0",
      "wait",
      "wait=-5",
      "wait=1e1",
      "waiting=50",
      "",
      "=",
      "wait=5 0",
    ]) {
      const response = await ann.call(operation, {}, { "if-none-match": etag, prefer });
      expect([prefer, ...outcomeOf(response)]).toEqual([prefer, 304, undefined]);
    }
  });

  test("responds with 401 when the token expires", async () => {
    const caller = await vault.client(cid.email, undefined, 1);
    await clock.advance(3_600_000 - 10_000);
    const { response } = await wait(caller, operation);
    await clock.advance(9_999);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(1);
    expect((await response).outcome()).toBe("401 invalid_token");
  });

  test("waits beyond the former expiry of the session that its request extends", async () => {
    const session = await WebSession.logIn(vault, cid.email);
    const etag = await tagOf(session, operation);
    await clock.advance(3_600_000 - 10_000);
    const headers = { "if-none-match": etag, prefer: "wait=50" };
    const response = session.call(operation, {}, headers);
    await expect.poll(() => waitingIn(vault)).toBe(1);
    await clock.advance(49_999);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(1);
    expect(outcomeOf(await response)).toEqual([304, "wait"]);
  });

  test("leaves no waiting request behind when the client disconnects", async () => {
    const controller = new AbortController();
    const headers = {
      authorization: ann.token,
      "content-type": "application/json",
      prefer: "wait=50",
    };
    const etag = await tagOf(ann, operation);
    const request = fetch(vault.url + operationPath[operation], {
      method: "POST",
      headers: { ...headers, "if-none-match": etag },
      body: JSON.stringify({ email: ann.email }),
      signal: controller.signal,
    });
    await expect.poll(() => waitingIn(vault)).toBe(1);
    controller.abort();
    await expect(request).rejects.toThrow("abort");
    await expect.poll(() => waitingIn(vault)).toBe(0);
  });
});

describe("list_no_dup that waits", () => {
  test("responds when a secret is shared with the caller, and when the share is taken back", async () => {
    await protect(ann);
    const shared = await wait(bob, "list_no_dup");
    await grant({ usr_id_to: bob.email });
    expect((await shared.response).bytes.toString()).toContain(name);
    const unshared = await wait(bob, "list_no_dup");
    await ann.call("unshare", { key_name: name });
    expect((await unshared.response).bytes.toString()).not.toContain(name);
  });

  test("responds to changes of teams that the caller joined before and during the wait", async () => {
    await protect(ann);
    await ann.call("team_create", { group_id: name, members: [bob.email] });
    const member = await wait(bob, "list_no_dup");
    await grant({ group_id_to: name });
    expect((await member.response).bytes.toString()).toContain(name);
    const joining = await wait(cid, "list_no_dup");
    await ann.call("team_add_members", { group_id: name, members: [cid.email] });
    expect((await joining.response).bytes.toString()).toContain(name);
  });

  test("responds at the deadline and at the expiry of a secret", async () => {
    await protect(ann, { delete_time: 1 });
    const deleted = await wait(ann, "list_no_dup", { prefer: "wait=55" });
    await clock.advance(20_000);
    expect(await waitingIn(vault)).toBe(1);
    await clock.advance(35_000);
    expect((await deleted.response).status).toBe(304);
    const gone = await wait(ann, "list_no_dup");
    await clock.advance(5_000);
    expect((await gone.response).bytes.toString()).not.toContain(name);
    await protect(ann, { metadata: { expiration_time: 1 } });
    clock.stepWall(86_400_000 - 5_000);
    const expiring = await wait(ann, "list_no_dup");
    await clock.advance(5_000);
    const records: { key_name: string; expired: boolean }[] = (await expiring.response).json()
      .secrets;
    expect(records.find(({ key_name }) => key_name === name)?.expired).toBe(true);
  });
});

test("a new password ends the waits of the account's tokens with 401", async () => {
  await using server = await TestVault.start({ clock: new VirtualClock() });
  const caller = await server.client(ann.email);
  const { response } = await wait(caller, "list_no_dup", { server });
  await server.post(sessionOperationPath.app_request_password, { email: ann.email });
  const { token } = await mailTo(server.mailDirectory, ann.email);
  await server.post(sessionOperationPath.app_set_password, {
    token,
    password: "a-new-and-long-password",
  });
  expect((await response).outcome()).toBe("401 invalid_token");
});

test("a server that stops responds to waiting lists with 304 and closes their connections", async () => {
  const server = await TestVault.start({ clock: new VirtualClock() });
  const caller = new VaultClient(server.url, ann.email, {
    token: (await server.client(ann.email)).token,
    keepAlive: true,
  });
  const { response } = await wait(caller, "list_no_dup", { server });
  const stopped = server[Symbol.asyncDispose]();
  expect((await response).status).toBe(304);
  await stopped;
});

test("lists beyond the limit of an account or of the server respond immediately", async () => {
  const limits = { waitingLists: 3, waitingListsPerAccount: 2 };
  await using server = await TestVault.start({ clock: new VirtualClock(), limits });
  const [one, other] = [await server.client(ann.email), await server.client(bob.email)];
  const waiting = [
    await wait(one, "list_no_dup", { server }),
    await wait(one, "list_file", { server }),
  ];
  expect(await waitBeyondLimit(one)).toEqual([304, undefined]);
  waiting.push(await wait(other, "list_no_dup", { server }));
  expect(await waitBeyondLimit(other)).toEqual([304, undefined]);
  await one.call("protect", { key_name: "a", key_value: "v" });
  expect((await waiting[0]!.response).status).toBe(200);
  waiting[0] = await wait(other, "list_file", { server });
});
