import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import {
  isWithinNetworks,
  parseNetworks,
} from "../../src/vault/server/accounts/allowed-networks.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultResponse, sendRequest } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";

const HOUR = 3_600_000;
const ann = "ann@example.com";
const directory = new TestDirectory();
const [INSIDE, OUTSIDE] = ["192.0.2.7", "198.51.100.1"];

/**
 * Requests that a token may send simultaneously: fewer than the rejections of a network that are
 * not delayed.
 */
const BURST = 10;

let clock: VirtualClock;
let session: WebSession;
async function started(): Promise<TestVault> {
  clock = new VirtualClock();
  const vault = await TestVault.start({
    clock,
    trustedProxies: ["127.0.0.1"],
    auditLog: { file: directory.join("audit.jsonl") },
    limits: { requestBurst: BURST },
  });
  session = await WebSession.logIn(vault, ann);
  return vault;
}

const issue = (vault: TestVault, request: object): Promise<VaultResponse> =>
  session.app("app_api_token", {
    password: vault.passwords.get(ann),
    name: "operator",
    ...request,
  });

/** Sends a request as a client with this address, forwarded by a trusted proxy. */
const from = (
  vault: TestVault,
  address: string,
  path: string,
  body: object,
  token?: string,
): Promise<VaultResponse> =>
  sendRequest(vault.url + path, {
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": address,
      ...(token !== undefined && { authorization: token }),
    },
    body: JSON.stringify(body),
  });
const use = (vault: TestVault, token: string, address: string) =>
  from(vault, address, operationPath.list_no_dup, { email: ann }, token);
const refresh = (
  vault: TestVault,
  pair: { refresh_token: string; access_token: string },
  address: string,
) =>
  from(vault, address, operationPath.refresh_token, {
    refresh_token: pair.refresh_token,
    used_access_token: pair.access_token,
  });

async function deniedLines(): Promise<unknown[]> {
  const lines = (await readFile(directory.join("audit.jsonl"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).filter(({ denied }) => denied !== undefined);
}

describe("a token for some networks", () => {
  let vault: TestVault;
  let pair: { access_token: string; refresh_token: string };
  beforeEach(async () => {
    vault = await started();
    pair = (await issue(vault, { allowed_networks: ["192.0.2.0/24", "2001:db8::/32"] })).json();
    return () => vault[Symbol.asyncDispose]();
  });

  test("is like an unknown one elsewhere, which leaves a line in the audit log", async () => {
    expect((await use(vault, pair.access_token, INSIDE)).outcome()).toBe("200");
    const [stolen, unknown] = [
      await use(vault, pair.access_token, OUTSIDE),
      await use(vault, "x".repeat(43), OUTSIDE),
    ];
    expect([stolen.outcome(), stolen.bytes]).toEqual(["401 invalid_token", unknown.bytes]);
    const [listed] = (await session.call("token_list"))
      .json()
      .tokens.filter(({ kind }: { kind: string }) => kind === "token");
    expect(await deniedLines()).toMatchObject([
      {
        client: OUTSIDE,
        operation: "list_no_dup",
        who: null,
        error: "invalid_token",
        denied: { user: ann, token: listed.id },
      },
    ]);
    // Neither an address that the client itself claims, nor a missing one.
    expect((await use(vault, pair.access_token, `${INSIDE}, ${OUTSIDE}`)).outcome()).toBe(
      "401 invalid_token",
    );
    expect((await use(vault, pair.access_token, "unknown")).outcome()).toBe("401 invalid_token");
  });

  test("does not count for the account elsewhere, so that a thief cannot throttle its owner", async () => {
    for (let n = 0; n < BURST; n += 1) await use(vault, pair.access_token, OUTSIDE);
    expect((await use(vault, pair.access_token, INSIDE)).outcome()).toBe("200");
  });

  test("is refreshed there only, and tokens from a refresh have the same networks", async () => {
    expect((await refresh(vault, pair, OUTSIDE)).outcome()).toBe("401 invalid_refresh_token");
    expect(await deniedLines()).toMatchObject([
      { operation: "refresh_token", who: null, denied: { user: ann } },
    ]);
    const next = (await refresh(vault, pair, INSIDE)).json();
    expect((await use(vault, next.access_token, INSIDE)).outcome()).toBe("200");
    expect((await use(vault, next.access_token, OUTSIDE)).outcome()).toBe("401 invalid_token");
    expect((await refresh(vault, next, OUTSIDE)).outcome()).toBe("401 invalid_refresh_token");
  });

  test("uploads nothing from elsewhere", async () => {
    const headers = {
      authorization: pair.access_token,
      email: ann,
      countoffiles: "1",
      "x-forwarded-for": OUTSIDE,
    };
    const body =
      '--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\nx\r\n--b--\r\n';
    const multipart = { "content-type": "multipart/form-data; boundary=b" };
    const upload = await sendRequest(vault.url + operationPath.protect_file, {
      headers: { ...headers, ...multipart },
      body,
    });
    expect(upload.outcome()).toBe("401 invalid_token");
    expect((await session.call("list_file")).json().files).toEqual([]);
  });

  test("is listed with its networks", async () => {
    const [listed] = (await session.call("token_list"))
      .json()
      .tokens.filter(({ kind }: { kind: string }) => kind === "token");
    expect(listed).toMatchObject({
      name: "operator",
      allowed_networks: ["192.0.2.0/24", "2001:db8::/32"],
    });
    expect(listed).not.toHaveProperty("ends_at");
  });
});

test("generate_access_token limits its tokens to networks and to a lifetime", async () => {
  await using vault = await started();
  const login = {
    email: ann,
    password: vault.passwords.get(ann),
    scope: scopeString(),
    expiration_hours: 10,
  };
  const logIn = (limits: object) =>
    from(vault, OUTSIDE, operationPath.generate_access_token, { ...login, ...limits });
  expect((await logIn({ allowed_networks: ["192.0.2.0"], lifetime_hours: 0 })).outcome()).toBe(
    "400 invalid_request",
  );
  const issued = await logIn({ allowed_networks: ["192.0.2.0/24"], lifetime_hours: 4 });
  expect(issued.json().expires_in).toBe(4 * 3600);
  const pair = issued.json();
  expect((await use(vault, pair.access_token, INSIDE)).outcome()).toBe("200");
  expect((await use(vault, pair.access_token, OUTSIDE)).outcome()).toBe("401 invalid_token");
  expect((await refresh(vault, pair, OUTSIDE)).outcome()).toBe("401 invalid_refresh_token");
  const [listed] = (await session.call("token_list"))
    .json()
    .tokens.filter(({ kind }: { kind: string }) => kind === "token");
  expect(listed).toMatchObject({
    allowed_networks: ["192.0.2.0/24"],
    ends_at: new Date(clock.now() + 4 * HOUR).toISOString(),
  });
});

test("a token with a lifetime ends with everything that was refreshed from it", async () => {
  await using vault = await started();
  const pair = (await issue(vault, { expiration_hours: 10, lifetime_hours: 15 })).json();
  expect(pair.expires_in).toBe(10 * 3600);
  clock.stepWall(9 * HOUR);
  const next = (await refresh(vault, pair, INSIDE)).json();
  expect(next.expires_in).toBe(6 * 3600);
  clock.stepWall(6 * HOUR - 1);
  expect((await use(vault, next.access_token, INSIDE)).outcome()).toBe("200");
  clock.stepWall(1);
  expect((await use(vault, next.access_token, INSIDE)).outcome()).toBe("401 invalid_token");
  expect((await refresh(vault, next, INSIDE)).outcome()).toBe("401 invalid_refresh_token");
  const again = await WebSession.logIn(vault, ann);
  const { tokens } = (await again.call("token_list")).json();
  expect(tokens.filter(({ kind }: { kind: string }) => kind === "token")).toEqual([]);
});

test("a lifetime below the expiration shortens the first token, and is listed", async () => {
  await using vault = await started();
  expect((await issue(vault, { expiration_hours: 10, lifetime_hours: 2 })).json().expires_in).toBe(
    2 * 3600,
  );
  const [listed] = (await session.call("token_list"))
    .json()
    .tokens.filter(({ kind }: { kind: string }) => kind === "token");
  const end = new Date(clock.now() + 2 * HOUR).toISOString();
  expect(listed).toMatchObject({ expires_at: end, refreshable_until: end, ends_at: end });
});

test("a refresh ends the oldest of ten access tokens, also when all of them expire together", async () => {
  await using vault = await started();
  let pair = (await issue(vault, { expiration_hours: 1, lifetime_hours: 1 })).json();
  const issued = [pair.access_token];
  while (issued.length < 16) {
    await clock.advance(1_000);
    pair = (await refresh(vault, pair, INSIDE)).json();
    issued.push(pair.access_token);
  }
  const live = [];
  for (const token of issued) live.push((await use(vault, token, INSIDE)).status === 200);
  expect(live).toEqual(issued.map((_, index) => index >= 6));
});

test("a token without limits is used from everywhere and has neither field in the list", async () => {
  await using vault = await started();
  const pair = (await issue(vault, {})).json();
  for (const address of [INSIDE, OUTSIDE, "2001:db8::1"])
    expect((await use(vault, pair.access_token, address)).outcome()).toBe("200");
  for (const listed of (await session.call("token_list")).json().tokens) {
    for (const field of ["allowed_networks", "ends_at"]) expect(listed).not.toHaveProperty(field);
  }
});

test.each([
  ["no networks", { allowed_networks: [] }],
  ["too many", { allowed_networks: Array.from({ length: 33 }, (_, n) => `10.0.0.${n}`) }],
  ["every address", { allowed_networks: ["0.0.0.0/0"] }],
  ["no address", { allowed_networks: ["10.0.0.0/8", "example.com"] }],
  ["a long prefix", { allowed_networks: ["10.0.0.0/33"] }],
  ["half an hour", { lifetime_hours: 0.5 }],
])("app_api_token rejects %s and creates no token", async (_what, request) => {
  await using vault = await started();
  expect((await issue(vault, request)).outcome()).toBe("400 invalid_request");
  expect((await session.call("token_list")).json().tokens).toHaveLength(1);
});

test.each([
  ["10.1.2.3", true],
  ["11.1.2.3", false],
  ["::ffff:10.1.2.3", true],
  ["10.1.2.3:4711", true],
  ["[fd00::1]:4711", true],
  ["fd00::1%eth0", true],
  ["fe80::1", false],
  ["", false],
  ["unknown", false],
])("networks of a token admit the client %j: %j", (client, admitted) => {
  expect(isWithinNetworks(parseNetworks(["10.0.0.0/8", "FD00::/8"]), client)).toBe(admitted);
});
