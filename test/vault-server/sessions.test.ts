import type { OutgoingHttpHeaders } from "node:http";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";
import { cookieOf, WebSession } from "../lab/vault/web-session.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const clock = new VirtualClock();
const { vault } = await useVault({ clock, more: ["idle@example.com"] });

const ann = (): Promise<WebSession> => WebSession.logIn(vault, "ann@example.com");
const sessionOf = async (headers: OutgoingHttpHeaders) =>
  (await vault.post(sessionOperationPath.app_session, {}, headers)).json();

describe("sessions of the web application", () => {
  test("a login sets an HttpOnly, SameSite=Strict cookie and returns the email", async () => {
    const password = vault.passwords.get("ann@example.com");
    const response = await vault.post(sessionOperationPath.app_log_in, {
      email: "ANN@Example.com",
      password,
    });
    expect(response.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^vaultsync_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/u),
      expect.stringMatching(/^vaultsync_device=/u),
    ]);
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(response.json()).toEqual({
      session: { email: "ann@example.com", csrf_token: expect.stringMatching(/^[\w-]{43}$/u) },
    });
    expect(response.bytes.toString()).not.toContain(cookieOf(response).split("=")[1]);
  });

  test("with an https URL the cookie has the __Host- prefix and is Secure", async () => {
    await using secure = await TestVault.start({ appUrl: "https://vault.example.com/" });
    const response = await secure.post(
      sessionOperationPath.app_log_in,
      { email: "ann@example.com", password: secure.passwords.get("ann@example.com") },
      { origin: "https://vault.example.com" },
    );
    expect(response.headers["set-cookie"]).toEqual([
      expect.stringMatching(
        /^__Host-vaultsync_session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/u,
      ),
      expect.stringMatching(/^__Host-vaultsync_device=/u),
    ]);
    const session = new WebSession(secure.url, response);
    expect(await session.isLive()).toBe(true);
    const ended = await session.app("app_log_out");
    expect(ended.headers["set-cookie"]).toEqual([
      "__Host-vaultsync_session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict",
    ]);
    const plain = { cookie: session.cookie.replace("__Host-", "") };
    expect((await secure.post(sessionOperationPath.app_session, {}, plain)).json()).toEqual({
      session: null,
      sign_up: "invited",
      email_delivery: "files",
      trash_days: 0,
    });
  });

  test("app_session returns the email and the CSRF token, or null without a session", async () => {
    const session = await ann();
    const known = {
      session: { email: "ann@example.com", csrf_token: session.csrf },
      sign_up: "invited",
      email_delivery: "files",
      trash_days: 0,
    };
    expect(await sessionOf({ cookie: `theme=dark; ${session.cookie}; other=1` })).toEqual(known);
    for (const cookie of [
      "",
      "vaultsync_session=",
      `vaultsync_session=${"A".repeat(43)}`,
      `x${session.cookie}`,
      "%00;=;;",
    ]) {
      expect(await sessionOf({ cookie }), cookie).toEqual({
        session: null,
        sign_up: "invited",
        email_delivery: "files",
        trash_days: 0,
      });
    }
  });

  test("a wrong password and an unknown email get the same response and no cookie", async () => {
    const responses = [
      await vault.post(sessionOperationPath.app_log_in, {
        email: "bob@example.com",
        password: "wrong",
      }),
      await vault.post(sessionOperationPath.app_log_in, {
        email: "nobody@example.com",
        password: "wrong",
      }),
    ];
    for (const response of responses) {
      expect(response.outcome()).toBe("401 invalid_credentials");
      expect(response.headers["set-cookie"]).toBeUndefined();
    }
    expect(responses[0]?.bytes).toEqual(responses[1]?.bytes);
  });

  test("a session with its CSRF token allows what an unlimited access token allows", async () => {
    const session = await ann();
    expect(
      (await session.call("protect", { key_name: "by session", key_value: "v" })).outcome(),
    ).toBe("200");
    expect((await session.call("expose", { key_name: "by session" })).json().key_value).toBe("v");
    const bytes = Buffer.from("bytes");
    expect((await session.upload([{ filename: "by session.txt", bytes }])).outcome()).toBe("200");
    expect((await session.call("download_file", { filename: "by session.txt" })).bytes).toEqual(
      bytes,
    );
  });

  test("a session authenticates its own user only", async () => {
    const session = await ann();
    expect((await session.call("list_no_dup", { email: "bob@example.com" })).outcome()).toBe(
      "403 email_mismatch",
    );
    const file = [{ filename: "a", bytes: Buffer.from("a") }];
    expect((await session.upload(file, { email: "bob@example.com" })).outcome()).toBe(
      "403 email_mismatch",
    );
  });

  test.each([
    ["no csrf token", { "x-csrf-token": undefined }],
    ["an empty csrf token", { "x-csrf-token": "" }],
    ["another csrf token", { "x-csrf-token": "A".repeat(43) }],
    ["another origin", { origin: "https://elsewhere.example.com" }],
    ["an origin that is hidden", { origin: "null" }],
  ])("a request with the cookie and %s is rejected and changes nothing", async (_what, headers) => {
    const session = await ann();
    for (const refused of [
      await session.call("protect", { key_name: "forged", key_value: "v" }, headers),
      await session.app("app_log_out", {}, headers),
      await session.app(
        "app_api_token",
        { password: vault.passwords.get("ann@example.com") },
        headers,
      ),
    ]) {
      expect(refused.outcome()).toBe("403 csrf_failed");
      expect(refused.headers["set-cookie"]).toBeUndefined();
    }
    expect(await session.isLive()).toBe(true);
    expect((await session.call("expose", { key_name: "forged" })).outcome()).toBe(
      "404 secret_not_found",
    );
  });

  test("the CSRF token of one session is rejected for another", async () => {
    const [one, other] = [await ann(), await ann()];
    expect((await one.call("list_no_dup", {}, { "x-csrf-token": other.csrf })).outcome()).toBe(
      "403 csrf_failed",
    );
  });

  test("an upload with the cookie but without the CSRF token is not stored", async () => {
    const session = await ann();
    const forged = [{ filename: "forged.txt", bytes: Buffer.from("x") }];
    expect((await session.upload(forged, { "x-csrf-token": "" })).outcome()).toBe(
      "403 csrf_failed",
    );
    expect((await session.call("download_file", { filename: "forged.txt" })).outcome()).toBe(
      "404 file_not_found",
    );
  });

  test.each(["app_session", "app_log_in", "app_request_password", "app_set_password"] as const)(
    "%s accepts the application's own origin, or none",
    async (operation) => {
      const body = { email: "ann@example.com", password: "long enough to be one", token: "t" };
      const send = (headers: OutgoingHttpHeaders) =>
        vault.post(sessionOperationPath[operation], body, headers);
      expect((await send({ origin: "https://elsewhere.example.com" })).outcome()).toBe(
        "403 csrf_failed",
      );
      expect((await send({ origin: vault.url })).code()).not.toBe("csrf_failed");
    },
  );

  test("the default origin is normalized like that of browsers", async () => {
    await using spelled = await TestVault.start({ listen: { host: "LOCALHOST", port: 0 } });
    const session = await WebSession.logIn(spelled, "ann@example.com", {
      origin: spelled.url.toLowerCase(),
    });
    expect(await session.isLive()).toBe(true);
  });

  test("an access token takes precedence over a cookie", async () => {
    const session = await ann();
    const token = (await vault.logIn("ann@example.com")).json().access_token;
    const send = (authorization: string) =>
      session.call("list_no_dup", {}, { authorization, "x-csrf-token": undefined });
    expect((await send(token)).outcome()).toBe("200");
    for (const wrong of ["", "unknown"])
      expect((await send(wrong)).outcome()).toBe("401 invalid_token");
  });

  test("a session ends an hour after its last use", async () => {
    const session = await ann();
    for (let round = 0; round < 3; round += 1) {
      clock.stepWall(HOUR - 1);
      expect(await session.isLive()).toBe(true);
    }
    clock.stepWall(HOUR);
    expect((await session.call("list_no_dup")).outcome()).toBe("401 invalid_token");
    expect(await sessionOf({ cookie: session.cookie })).toEqual({
      session: null,
      sign_up: "invited",
      email_delivery: "files",
      trash_days: 0,
    });
  });

  test("the last use is written at most once a minute", async () => {
    const [busy, prolonged] = [await ann(), await ann()];
    clock.stepWall(MINUTE - 1);
    expect(await busy.isLive()).toBe(true);
    clock.stepWall(1);
    expect(await prolonged.isLive()).toBe(true);
    clock.stepWall(HOUR - MINUTE);
    expect(await busy.isLive()).toBe(false);
    expect(await prolonged.isLive()).toBe(true);
  });

  test("a session ends twelve hours after its login even when it is used", async () => {
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

  test("a rejected request does not extend a session", async () => {
    const session = await ann();
    clock.stepWall(HOUR - 1);
    await session.call("list_no_dup", {}, { "x-csrf-token": "" });
    clock.stepWall(1);
    expect(await session.isLive()).toBe(false);
  });

  test("a logout ends only its own session, and succeeds again afterwards", async () => {
    const [session, other] = [await ann(), await ann()];
    const response = await session.app("app_log_out");
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({});
    expect(response.headers["set-cookie"]).toEqual([
      "vaultsync_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict",
    ]);
    expect(await session.isLive()).toBe(false);
    expect(await other.isLive()).toBe(true);
    expect((await session.app("app_log_out")).outcome()).toBe("200");
  });

  test("a login creates a new session and ends the previous one of the browser", async () => {
    const former = await ann();
    const session = await WebSession.logIn(vault, "ann@example.com", { cookie: former.cookie });
    expect(session.cookie).not.toBe(former.cookie);
    expect(await former.isLive()).toBe(false);
    expect(await session.isLive()).toBe(true);
    const planted = `vaultsync_session=${"p".repeat(43)}`;
    const afterwards = await WebSession.logIn(vault, "ann@example.com", { cookie: planted });
    expect(afterwards.cookie).not.toBe(planted);
    expect(await sessionOf({ cookie: planted })).toEqual({
      session: null,
      sign_up: "invited",
      email_delivery: "files",
      trash_days: 0,
    });
  });

  test("a user with only a session is active in a share, and pending after it ends", async () => {
    const session = await ann();
    await session.call("protect", { key_name: "for idle", key_value: "v" });
    const state = async () => {
      const grant = {
        key_name: "for idle",
        usr_id_from: session.email,
        usr_id_to: "idle@example.com",
        permission: "R",
      };
      return (await session.call("share", grant)).json().shared[0].state;
    };
    expect(await state()).toBe("invited");
    const idle = await WebSession.logIn(vault, "idle@example.com");
    expect(await state()).toBe("active");
    await idle.app("app_log_out");
    expect(await state()).toBe("invited");
  });

  test("an account keeps 100 sessions: a further login ends the least recently used one", async () => {
    await using many = await TestVault.start({ clock });
    const logIn = (): Promise<WebSession> => WebSession.logIn(many, "ann@example.com");
    const [used, unused] = [await logIn(), await logIn()];
    await clock.advance(2 * MINUTE);
    expect(await used.isLive()).toBe(true);
    for (let count = 2; count < 100; count += 1) await logIn();
    const listed = async () => (await used.call("token_list")).json().tokens;
    expect(await listed()).toHaveLength(100);
    const last = await logIn();
    expect(await listed()).toHaveLength(100);
    const live = [await used.isLive(), await unused.isLive(), await last.isLive()];
    expect(live).toEqual([true, false, true]);
  });

  test("requests of sessions are counted by operation", async () => {
    const sample = 'vaultsync_vault_requests_total{operation="app_session",status="200"}';
    const before = await vault.metric(sample);
    await sessionOf({});
    expect(await vault.metric(sample)).toBe(before + 1);
  });

  test("logins of the web application and of the API are throttled together", async () => {
    await using slowed = await TestVault.start({ clock: new VirtualClock() });
    const logIn = (password: string) =>
      slowed.post(sessionOperationPath.app_log_in, { email: "ann@example.com", password });
    for (let i = 0; i < 5; i += 1)
      expect((await logIn("wrong")).outcome()).toBe("401 invalid_credentials");
    const right = slowed.passwords.get("ann@example.com") ?? "";
    for (const refused of [await logIn(right), await slowed.logIn("ann@example.com")]) {
      expect(refused.outcome()).toBe("429 rate_limited");
      expect(refused.headers["retry-after"]).toBe("1");
    }
  });

  test("the request rate is limited per session", async () => {
    const limits = { requestsPerSecond: 1, requestBurst: 5 };
    await using limited = await TestVault.start({ clock: new VirtualClock(), limits });
    const [one, other] = [
      await WebSession.logIn(limited, "ann@example.com"),
      await WebSession.logIn(limited, "ann@example.com"),
    ];
    for (let i = 0; i < 5; i += 1) expect((await one.app("app_session")).outcome()).toBe("200");
    expect((await one.call("list_no_dup")).outcome()).toBe("429 rate_limited");
    expect((await one.app("app_session")).outcome()).toBe("429 rate_limited");
    expect((await other.call("list_no_dup")).outcome()).toBe("200");
  });

  test("app_session rejects GET", async () => {
    const response = await sendRequest(vault.url + sessionOperationPath.app_session, {
      method: "GET",
    });
    expect(response.outcome()).toBe("405 method_not_allowed");
    expect(response.headers.allow).toBe("POST");
  });
});
