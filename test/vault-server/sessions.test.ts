import type { OutgoingHttpHeaders } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VirtualClock } from "../support/clock/virtual-clock.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { sendRequest } from "../support/vault/vault-client.ts";
import { cookieOf, WebSession } from "../support/vault/web-session.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("sessions of the web application", () => {
  let clock: VirtualClock;
  let vault: TestVault;
  beforeAll(async () => {
    clock = new VirtualClock();
    vault = await TestVault.start({ clock });
  });
  afterAll(() => vault[Symbol.asyncDispose]());

  const ann = (): Promise<WebSession> => WebSession.logIn(vault, "ann@example.com");
  const sessionOf = async (headers: OutgoingHttpHeaders) =>
    (await vault.post(sessionOperationPath.app_session, {}, headers)).json();

  test("a log-in sets a cookie that no script reads and no other page sends, and says who it is", async () => {
    const password = vault.passwords.get("ann@example.com");
    const answer = await vault.post(sessionOperationPath.app_log_in, { email: "ANN@Example.com", password });
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^vaultsync_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/u),
    ]);
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.json()).toEqual({
      session: { email: "ann@example.com", csrf_token: expect.stringMatching(/^[\w-]{43}$/u) },
    });
    expect(answer.bytes.toString()).not.toContain(cookieOf(answer).split("=")[1]);
  });

  test("with an https address the cookie is bound to it and never sent without TLS", async () => {
    await using secure = await TestVault.start({ appUrl: "https://vault.example.com/" });
    const answer = await secure.post(
      sessionOperationPath.app_log_in,
      { email: "ann@example.com", password: secure.passwords.get("ann@example.com") },
      { origin: "https://vault.example.com" },
    );
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-vaultsync_session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/u),
    ]);
    const session = new WebSession(secure.url, answer);
    expect(await session.isLive()).toBe(true);
    const ended = await session.app("app_log_out");
    expect(ended.headers["set-cookie"]).toEqual([
      "__Host-vaultsync_session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict",
    ]);
    const plain = { cookie: session.cookie.replace("__Host-", "") };
    expect((await secure.post(sessionOperationPath.app_session, {}, plain)).json()).toEqual({ session: null });
  });

  test("a page learns who is logged in, and what to send along; without a session, nothing", async () => {
    const session = await ann();
    const known = { session: { email: "ann@example.com", csrf_token: session.csrf } };
    expect(await sessionOf({ cookie: `theme=dark; ${session.cookie}; other=1` })).toEqual(known);
    for (const cookie of ["", "vaultsync_session=", `vaultsync_session=${"A".repeat(43)}`, `x${session.cookie}`, "%00;=;;"]) {
      expect([cookie, await sessionOf({ cookie })]).toEqual([cookie, { session: null }]);
    }
  });

  test("a wrong password and an unknown address get the same answer and no cookie", async () => {
    const answers = [
      await vault.post(sessionOperationPath.app_log_in, { email: "bob@example.com", password: "wrong" }),
      await vault.post(sessionOperationPath.app_log_in, { email: "nobody@example.com", password: "wrong" }),
    ];
    for (const answer of answers) {
      expect([answer.outcome(), answer.headers["set-cookie"]]).toEqual(["401 invalid_credentials", undefined]);
    }
    expect(answers[0]?.bytes).toEqual(answers[1]?.bytes);
  });

  test("with a session and its csrf token every operation of the service works as with an unlimited access token", async () => {
    const session = await ann();
    expect((await session.call("protect", { key_name: "by session", key_value: "v" })).outcome()).toBe("200");
    expect((await session.call("expose", { key_name: "by session" })).json().key_value).toBe("v");
    const bytes = Buffer.from("bytes");
    expect((await session.upload([{ filename: "by session.txt", bytes }])).outcome()).toBe("200");
    expect((await session.call("download_file", { filename: "by session.txt" })).bytes).toEqual(bytes);
  });

  test("a session acts for its own account alone", async () => {
    const session = await ann();
    expect((await session.call("list_no_dup", { email: "bob@example.com" })).outcome()).toBe("403 email_mismatch");
    const file = [{ filename: "a", bytes: Buffer.from("a") }];
    expect((await session.upload(file, { email: "bob@example.com" })).outcome()).toBe("403 email_mismatch");
  });

  test.each([
    ["no csrf token", { "x-csrf-token": undefined }],
    ["an empty csrf token", { "x-csrf-token": "" }],
    ["another csrf token", { "x-csrf-token": "A".repeat(43) }],
    ["another origin", { origin: "https://elsewhere.example.com" }],
    ["an origin that is hidden", { origin: "null" }],
  ])("a request with the cookie and %s is refused, and changes nothing", async (_what, headers) => {
    const session = await ann();
    for (const refused of [
      await session.call("protect", { key_name: "forged", key_value: "v" }, headers),
      await session.app("app_log_out", {}, headers),
      await session.app("app_api_token", { password: vault.passwords.get("ann@example.com") }, headers),
    ]) {
      expect([refused.outcome(), refused.headers["set-cookie"]]).toEqual(["403 csrf_failed", undefined]);
    }
    expect(await session.isLive()).toBe(true);
    expect((await session.call("expose", { key_name: "forged" })).outcome()).toBe("404 secret_not_found");
  });

  test("one session's csrf token is not another's", async () => {
    const [one, other] = [await ann(), await ann()];
    expect((await one.call("list_no_dup", {}, { "x-csrf-token": other.csrf })).outcome()).toBe("403 csrf_failed");
  });

  test("a file sent with the cookie but without the csrf token is not stored", async () => {
    const session = await ann();
    const forged = [{ filename: "forged.txt", bytes: Buffer.from("x") }];
    expect((await session.upload(forged, { "x-csrf-token": "" })).outcome()).toBe("403 csrf_failed");
    expect((await session.call("download_file", { filename: "forged.txt" })).outcome()).toBe("404 file_not_found");
  });

  test.each(["app_session", "app_log_in", "app_request_password", "app_set_password"] as const)(
    "%s takes requests of the application's own origin, or of none",
    async (operation) => {
      const body = { email: "ann@example.com", password: "long enough to be one", token: "t" };
      const send = (headers: OutgoingHttpHeaders) => vault.post(sessionOperationPath[operation], body, headers);
      expect((await send({ origin: "https://elsewhere.example.com" })).outcome()).toBe("403 csrf_failed");
      expect((await send({ origin: vault.url })).code()).not.toBe("csrf_failed");
    },
  );

  test("the address listened on is compared as browsers write it", async () => {
    await using spelled = await TestVault.start({ listen: { host: "LOCALHOST", port: 0 } });
    const session = await WebSession.logIn(spelled, "ann@example.com", { origin: spelled.url.toLowerCase() });
    expect(await session.isLive()).toBe(true);
  });

  test("an access token counts alone, with or without a cookie beside it", async () => {
    const session = await ann();
    const token = (await vault.logIn("ann@example.com")).json().access_token;
    const send = (authorization: string) => session.call("list_no_dup", {}, { authorization, "x-csrf-token": undefined });
    expect((await send(token)).outcome()).toBe("200");
    for (const wrong of ["", "unknown"]) expect((await send(wrong)).outcome()).toBe("401 invalid_token");
  });

  test("a session ends an hour after its last use", async () => {
    const session = await ann();
    for (let round = 0; round < 3; round += 1) {
      clock.stepWall(HOUR - 1);
      expect(await session.isLive()).toBe(true);
    }
    clock.stepWall(HOUR);
    expect((await session.call("list_no_dup")).outcome()).toBe("401 invalid_token");
    expect(await sessionOf({ cookie: session.cookie })).toEqual({ session: null });
  });

  test("use is written down once a minute at most", async () => {
    const [busy, prolonged] = [await ann(), await ann()];
    clock.stepWall(MINUTE - 1);
    expect(await busy.isLive()).toBe(true);
    clock.stepWall(1);
    expect(await prolonged.isLive()).toBe(true);
    clock.stepWall(HOUR - MINUTE);
    expect([await busy.isLive(), await prolonged.isLive()]).toEqual([false, true]);
  });

  test("a session ends twelve hours after its log-in, however it is used", async () => {
    const session = await ann();
    for (let half = 1; half < 24; half += 1) {
      clock.stepWall(HOUR / 2);
      expect(await session.isLive()).toBe(true);
    }
    clock.stepWall(HOUR / 2 - 1);
    expect(await session.isLive()).toBe(true);
    clock.stepWall(1);
    expect(await session.isLive()).toBe(false);
  });

  test("a refused request does not prolong a session", async () => {
    const session = await ann();
    clock.stepWall(HOUR - 1);
    await session.call("list_no_dup", {}, { "x-csrf-token": "" });
    clock.stepWall(1);
    expect(await session.isLive()).toBe(false);
  });

  test("a log-out ends the session at once, and no other; once more is no failure", async () => {
    const [session, other] = [await ann(), await ann()];
    const answer = await session.app("app_log_out");
    expect([answer.outcome(), answer.json()]).toEqual(["200", {}]);
    expect(answer.headers["set-cookie"]).toEqual(["vaultsync_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict"]);
    expect([await session.isLive(), await other.isLive()]).toEqual([false, true]);
    expect((await session.app("app_log_out")).outcome()).toBe("200");
  });

  test("every log-in makes a session of its own and ends the one the browser had", async () => {
    const former = await ann();
    const session = await WebSession.logIn(vault, "ann@example.com", { cookie: former.cookie });
    expect(session.cookie).not.toBe(former.cookie);
    expect([await former.isLive(), await session.isLive()]).toEqual([false, true]);
    const planted = `vaultsync_session=${"p".repeat(43)}`;
    const afterwards = await WebSession.logIn(vault, "ann@example.com", { cookie: planted });
    expect(afterwards.cookie).not.toBe(planted);
    expect(await sessionOf({ cookie: planted })).toEqual({ session: null });
  });

  test("whoever has a session and no token is active in a share, and is invited when it is over", async () => {
    const session = await ann();
    await session.call("protect", { key_name: "for bob", key_value: "v" });
    const state = async () => {
      const grant = { key_name: "for bob", usr_id_from: session.email, usr_id_to: "bob@example.com", permission: "R" };
      return (await session.call("share", grant)).json().shared[0].state;
    };
    expect(await state()).toBe("invited");
    const bob = await WebSession.logIn(vault, "bob@example.com");
    expect(await state()).toBe("active");
    await bob.app("app_log_out");
    expect(await state()).toBe("invited");
  });

  test("requests are counted under the operation's name", async () => {
    const sample = 'vaultsync_vault_requests_total{operation="app_session",status="200"}';
    const before = await vault.metric(sample);
    await sessionOf({});
    expect(await vault.metric(sample)).toBe(before + 1);
  });

  test("log-ins of the web application and of the interface are slowed together", async () => {
    await using slowed = await TestVault.start({ clock: new VirtualClock() });
    const logIn = (password: string) => slowed.post(sessionOperationPath.app_log_in, { email: "ann@example.com", password });
    for (let i = 0; i < 5; i += 1) expect((await logIn("wrong")).outcome()).toBe("401 invalid_credentials");
    const right = slowed.passwords.get("ann@example.com") ?? "";
    for (const refused of [await logIn(right), await slowed.logIn("ann@example.com")]) {
      expect([refused.outcome(), refused.headers["retry-after"]]).toEqual(["429 rate_limited", "1"]);
    }
  });

  test("requests of one session are limited like those of one token; another session's are not", async () => {
    const limits = { requestsPerSecond: 1, requestBurst: 5 };
    await using limited = await TestVault.start({ clock: new VirtualClock(), limits });
    const [one, other] = [await WebSession.logIn(limited, "ann@example.com"), await WebSession.logIn(limited, "ann@example.com")];
    for (let i = 0; i < 5; i += 1) expect((await one.app("app_session")).outcome()).toBe("200");
    expect((await one.call("list_no_dup")).outcome()).toBe("429 rate_limited");
    expect((await one.app("app_session")).outcome()).toBe("429 rate_limited");
    expect((await other.call("list_no_dup")).outcome()).toBe("200");
  });

  test("a session cannot be had by a GET", async () => {
    const answer = await sendRequest(vault.url + sessionOperationPath.app_session, { method: "GET" });
    expect([answer.outcome(), answer.headers.allow]).toEqual(["405 method_not_allowed", "POST"]);
  });
});
