import { expect, test } from "vitest";
import {
  listedSecret,
  listResponse,
  ScriptedVault,
  textOf,
  tokenResponse,
  valueResponse,
  errorResponse,
  type Script,
} from "../../lab/vault/scripted-vault.ts";
import { patternReference } from "../../../src/operator/vault-client/pattern.ts";
import {
  referencesTo,
  type ObservedConnection,
  observeConnection,
} from "../../lab/vault/vault-connection.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { InMemoryTransport } from "../../lab/simulated/vault/in-memory-transport.ts";
import { InMemoryVault } from "../../lab/simulated/vault/in-memory-vault.ts";

const prefix = "cloud_type:*,environment_type:*,application_type:*,classification:*,";

/**
 * Responds with the entries that the scope of the token admits. The test reads the scope from the
 * logins.
 */
const scopedList =
  (vault: ScriptedVault): Script =>
  (response, request) => {
    const number = Number(request.headers.authorization?.slice(1)) - 1;
    const names = scopes(vault)[number]?.match(/(?<=secret_name:)[^,]+/g) ?? [];
    listResponse(...names.filter((name) => name !== "later").map((name) => listedSecret(name)))(
      response,
      request,
    );
  };

const scopes = (vault: ScriptedVault): string[] =>
  vault
    .bodies("generate_access_token")
    .map((body) => (body as { scope: string }).scope.replace(prefix, ""));

async function start(
  references = referencesTo(["a"]),
): Promise<{ vault: ScriptedVault; observed: ObservedConnection }> {
  const vault = await ScriptedVault.start();
  vault
    .on("generate_access_token", tokenResponse("T1"), tokenResponse("T2"), tokenResponse("T3"))
    .on("list_no_dup", scopedList(vault));
  return { vault, observed: await vault.connected({ onlyReferenced: true, references }) };
}

const names = ({ connection }: ObservedConnection, ...all: string[]): string[] =>
  all.filter((name) => connection.snapshot?.covers("secret", name) === true);

test("the scope of the token names exactly the referenced secrets", async () => {
  const { vault, observed } = await start(referencesTo(["b", "a"], ["nginx.conf"]));
  expect(scopes(vault)).toEqual(["secret_name:a,secret_name:b"]);
  expect(names(observed, "a", "b", "c")).toEqual(["a", "b"]);
});

test("with a pattern the scope admits every name", async () => {
  const { vault, observed } = await start();
  observed.connection.setReferences(referencesTo(["a", patternReference("^shop-")]));
  observed.connection.pollSoon();
  await observed.clock.advance(3_000);
  await expect.poll(() => scopes(vault)).toEqual(["secret_name:a", "secret_name:*"]);
  await expect.poll(() => names(observed, "a", "shop-x", "other")).toEqual(["a", "shop-x"]);
});

test("without a reference the scope admits no secret", async () => {
  const { vault } = await start(referencesTo([]));
  expect(scopes(vault)).toEqual(["secret_name:vaultsync.dev/none"]);
});

test("names that are new within 2 s share one login, and are covered only after it", async () => {
  const { vault, observed } = await start();
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(1_000);
  observed.connection.setReferences(referencesTo(["a", "b", "c"]));
  observed.connection.pollSoon();
  await observed.clock.advance(999);
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(names(observed, "a", "b", "c")).toEqual(["a"]);
  expect(vault.count("generate_access_token")).toBe(1);
  // The next list logs in; how soon it follows the last one depends on when that one arrived.
  await expect
    .poll(async () => {
      await observed.clock.advance(100);
      return scopes(vault);
    })
    .toEqual(["secret_name:a", "secret_name:a,secret_name:b,secret_name:c"]);
  await expect
    .poll(async () => {
      await observed.clock.advance(1_000);
      return names(observed, "a", "b", "c");
    })
    .toEqual(["a", "b", "c"]);
  expect(observed.connection.snapshot?.secrets("c")).toHaveLength(1);
  expect(vault.count("generate_access_token")).toBe(2);
});

test("a name that is no longer referenced causes no login", async () => {
  const { vault, observed } = await start(referencesTo(["a", "b"]));
  observed.connection.setReferences(referencesTo(["a"]));
  await observed.clock.advance(60_000);
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(vault.count("generate_access_token")).toBe(1);
});

test("a failed login for a new name keeps the token, and is reported until it succeeds", async () => {
  const { vault, observed } = await start();
  vault.on("generate_access_token", errorResponse(401, "invalid_credentials"), tokenResponse("T3"));
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(2_000);
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({ state: "failing", error: { code: "credentials" } });
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(names(observed, "a", "b")).toEqual(["a"]);
  expect(observed.connection.loginPause).toMatchObject({ until: observed.clock.now() + 60_000 });
  const lists = vault.count("list_no_dup");
  for (let second = 0; second < 20; second += 1) {
    await observed.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(vault.count("list_no_dup") - lists).toBeLessThan(3);
});

test("a list in progress does not cover a name of the token that replaced its own", async () => {
  const { vault, observed } = await start();
  let respond: (() => void) | undefined;
  vault
    .on(
      "list_no_dup",
      (response, request) => (respond = () => listResponse(listedSecret("a"))(response, request)),
      scopedList(vault),
    )
    .on("version_expose", valueResponse("canary", { key_version: 1 }));
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect.poll(() => respond).toBeDefined();
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(2_000);
  await textOf(observed, "a");
  expect(scopes(vault)).toHaveLength(2);
  const lists = observed.connection.snapshot?.progress("secret")?.lists ?? 0;
  respond?.();
  await expect.poll(() => observed.connection.snapshot?.progress("secret")?.lists).toBe(lists + 1);
  expect(names(observed, "a", "b")).toEqual(["a"]);
});

const email = "ops@example.com";

test("an uncovered name is listed with backoff while the credentials cannot be read", async () => {
  const clock = new VirtualClock();
  const vault = new InMemoryVault(clock);
  vault.setPassword(email, "password");
  let reads = 0;
  const read = (): Promise<{ password: Redacted<string>; version: string }> => {
    reads += 1;
    if (reads === 1) return Promise.resolve({ password: new Redacted("password"), version: "1" });
    // A loop without any pause would never let the test continue.
    return reads > 100
      ? new Promise(() => undefined)
      : Promise.reject(new Error("the API server is unavailable"));
  };
  const transport = new InMemoryTransport({ vault, clock });
  const { connection } = observeConnection({
    url: "",
    transport,
    email,
    clock,
    credentials: { kind: "password", read },
    follow: "Auto",
  });
  connection.setReferences(referencesTo(["a"]));
  await clock.advance(5_000);
  vault.revoke(email, { refresh: true });
  await clock.advance(5_000);
  connection.setReferences(referencesTo(["a", "b"]));
  await clock.advance(60_000);
  expect(reads).toBeLessThan(15);
});
