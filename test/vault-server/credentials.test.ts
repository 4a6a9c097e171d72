import { beforeEach, describe, expect, test } from "vitest";
import { readFile } from "node:fs/promises";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, VaultClient } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import type { CredentialRecord } from "../../src/protocol/responses.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const directory = new TestDirectory();

let clock: VirtualClock;
let vault: TestVault;
let ann: VaultClient;
beforeEach(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ clock });
  ann = await vault.client(ANN, undefined, 1e6);
  return () => vault[Symbol.asyncDispose]();
});

const at = (ms: number): string => new Date(ms).toISOString();
const list = async (caller: VaultClient): Promise<CredentialRecord[]> =>
  (await caller.call("token_list")).json().tokens;
const others = async (caller: VaultClient) =>
  (await list(caller)).filter(({ current }) => !current);
const isAccepted = async (caller: VaultClient) => (await caller.call("list_no_dup")).outcome();
const refresh = (refreshToken: string, used: string) =>
  vault.post("/v1/user/refresh_token", { refresh_token: refreshToken, used_access_token: used });

/** Last use of the only token or session, as another one reads it. */
const lastUsedOf = async (kind: string, reader: VaultClient) =>
  (await list(reader)).find((entry) => entry.kind === kind)?.last_used_at;
/** Uses Ann's token after a time, lets the server record it, and returns the time of the use. */
const useAfter = async (ms: number): Promise<string> => {
  clock.stepWall(ms);
  const used = clock.now();
  await isAccepted(ann);
  await clock.advance(10_000);
  return at(used);
};
const wait = async (caller: VaultClient) => {
  const { etag } = (await caller.call("list_no_dup")).headers;
  return caller.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" });
};

describe("token_list", () => {
  test("returns sessions and logins of programs, the newest first, without any token", async () => {
    const start = clock.now();
    clock.stepWall(1000);
    const scope = scopeString({ secret_name: ["one"] });
    const issued = (await vault.logIn(ANN, { scope, hours: 2 })).json();
    clock.stepWall(1000);
    const firefox = {
      "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    };
    const session = await WebSession.logIn(vault, ANN, firefox);
    const response = await ann.call("token_list");
    const ids = response.json().tokens.map(({ id }: CredentialRecord) => id);
    expect(response.json().tokens).toEqual([
      {
        id: ids[0],
        kind: "session",
        name: "Firefox on Linux",
        scope: scopeString(),
        created_at: at(start + 2000),
        last_used_at: at(start + 2000),
        expires_at: at(start + 2000 + HOUR),
        current: false,
      },
      {
        id: ids[1],
        kind: "token",
        name: "",
        scope,
        created_at: at(start + 1000),
        last_used_at: at(start + 1000),
        expires_at: at(start + 1000 + 2 * HOUR),
        refreshable_until: at(start + 1000 + 90 * DAY),
        current: false,
      },
      expect.objectContaining({ id: ids[2], kind: "token", created_at: at(start), current: true }),
    ]);
    expect(new Set(ids).size).toBe(3);
    expect(response.headers["cache-control"]).toBe("no-store");
    const secrets = [
      issued.access_token,
      issued.refresh_token,
      ann.token,
      session.cookie.split("=")[1],
      session.csrf,
    ];
    for (const secret of secrets) expect(response.bytes.includes(secret)).toBe(false);
    expect((await list(session)).map(({ current }) => current)).toEqual([true, false, false]);
  });

  test("counts a token and those it was refreshed to as one, which keeps its login", async () => {
    const start = clock.now();
    const first = (await vault.logIn(ANN, { hours: 1 })).json();
    clock.stepWall(5 * HOUR);
    const second = (await refresh(first.refresh_token, first.access_token)).json();
    const [one, ...more] = await others(ann);
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      created_at: at(start),
      last_used_at: at(start + 5 * HOUR),
      expires_at: at(start + 6 * HOUR),
      refreshable_until: at(start + 5 * HOUR + 90 * DAY),
    });
    expect(await isAccepted(new VaultClient(vault.url, ANN, { token: second.access_token }))).toBe(
      "200",
    );
  });

  test("records the use of a token once an hour", async () => {
    const session = await WebSession.logIn(vault, ANN);
    const lastUsed = () => lastUsedOf("token", session);
    // The sweeper waits again only after it has ended.
    const lastUsedLater = async () => {
      await clock.advance(10_000);
      return lastUsed();
    };
    const first = await useAfter(5_000);
    await expect.poll(lastUsedLater).toBe(first);
    await useAfter(58 * 60_000);
    expect(await lastUsed()).toBe(first);
    const second = await useAfter(2 * 60_000);
    await expect.poll(lastUsedLater).toBe(second);
  });

  test("records the use of a session once a minute, also in its last hour", async () => {
    const start = clock.now();
    const session = await WebSession.logIn(vault, ANN);
    for (let minutes = 0; minutes < 11.5 * 60; minutes += 30) {
      clock.stepWall(29 * 60_000 + 1000);
      expect(await session.isLive()).toBe(true);
      const used = at(clock.now());
      clock.stepWall(59_000);
      expect(await session.isLive()).toBe(true);
      expect(await lastUsedOf("session", ann)).toBe(used);
    }
    clock.stepWall(start + 12 * HOUR - clock.now());
    expect(await session.isLive()).toBe(false);
  });

  test("omits what has expired", async () => {
    await vault.logIn(ANN, { hours: 1 });
    await WebSession.logIn(vault, ANN);
    clock.stepWall(HOUR);
    expect((await others(ann)).map(({ kind }) => kind)).toEqual(["token"]);
    clock.stepWall(90 * DAY);
    const [own, ...more] = await list(ann);
    expect(own?.current).toBe(true);
    expect(own?.refreshable_until).toBeUndefined();
    expect(more).toEqual([]);
  });

  test("lists and ends nothing of other users", async () => {
    const bob = await vault.client(BOB);
    const [bobs] = await list(bob);
    expect((await list(ann)).map(({ id }) => id)).not.toContain(bobs?.id);
    expect((await ann.call("token_revoke", { id: bobs?.id })).outcome()).toBe(
      "404 token_not_found",
    );
    expect(await isAccepted(bob)).toBe("200");
  });
});

describe("token_revoke", () => {
  test("ends a token with everything it was refreshed to, and a session, immediately", async () => {
    const first = (await vault.logIn(ANN)).json();
    const second = (await refresh(first.refresh_token, first.access_token)).json();
    const session = await WebSession.logIn(vault, ANN);
    const ids = (await others(ann)).map(({ id }) => id);
    expect((await ann.call("token_revoke", { id: ids })).json()).toEqual({ revoked: ids });
    for (const { access_token: token } of [first, second]) {
      expect(await isAccepted(new VaultClient(vault.url, ANN, { token }))).toBe(
        "401 invalid_token",
      );
    }
    expect((await refresh(first.refresh_token, second.access_token)).outcome()).toBe(
      "401 invalid_refresh_token",
    );
    expect(await session.isLive()).toBe(false);
    expect(await isAccepted(ann)).toBe("200");
    expect(await others(ann)).toEqual([]);
    expect((await ann.call("token_revoke", { id: ids[0] })).outcome()).toBe("404 token_not_found");
  });

  test("ends all or nothing", async () => {
    await vault.logIn(ANN);
    const [{ id } = { id: "" }] = await others(ann);
    expect((await ann.call("token_revoke", { id: [id, "unknown"] })).outcome()).toBe(
      "404 token_not_found",
    );
    expect((await others(ann)).map((entry) => entry.id)).toEqual([id]);
    expect((await ann.call("token_revoke", { id: [id, id] })).json()).toEqual({ revoked: [id] });
  });

  test("can end the token that authenticates it", async () => {
    const own = (await list(ann)).find(({ current }) => current);
    expect((await ann.call("token_revoke", { id: own?.id })).status).toBe(200);
    expect(await isAccepted(ann)).toBe("401 invalid_token");
  });

  test("ends a waiting list with 401, and leaves lists of other tokens waiting", async () => {
    clock.stepWall(1);
    const other = await vault.client(ANN);
    const waiting = () => vault.metric("vaultsync_vault_waiting_lists");
    const [ended, kept] = [wait(other), wait(ann)];
    await expect.poll(waiting).toBe(2);
    const session = await WebSession.logIn(vault, ANN);
    const newest = (await list(session)).find(({ kind }) => kind === "token");
    await session.call("token_revoke", { id: newest?.id });
    expect((await ended).outcome()).toBe("401 invalid_token");
    expect(await waiting()).toBe(1);
    await ann.call("protect", { key_name: "a", key_value: "v" });
    expect((await kept).status).toBe(200);
  });

  test.each(["token_list", "token_revoke"] as const)(
    "%s requires a token of unlimited scope",
    async (operation) => {
      const limited = await vault.client(ANN, scopeString({ secret_name: ["one"] }));
      const [own] = await list(ann);
      expect((await limited.call(operation, { id: own?.id })).outcome()).toBe("403 out_of_scope");
      expect(await isAccepted(ann)).toBe("200");
    },
  );

  test.each([{}, { id: [] }, { id: "" }, { id: 1 }])("rejects %j", async (body) => {
    expect((await ann.call("token_revoke", body)).outcome()).toBe("400 invalid_request");
  });

  test("leaves its ids in the audit log", async () => {
    const file = directory.join("audit.jsonl");
    await using audited = await TestVault.start({ auditLog: { file } });
    const caller = await audited.client(ANN);
    const [{ id } = { id: "" }] = await list(caller);
    await caller.call("token_revoke", { id });
    const lines = (await readFile(file, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const left = lines.filter(({ operation }) => operation === "token_revoke");
    expect(left.map(({ phase, who, about }) => [phase, who, about])).toEqual([
      ["begin", ANN, { id }],
      ["end", ANN, undefined],
    ]);
  });
});
