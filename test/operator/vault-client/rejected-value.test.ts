import { expect, test } from "vitest";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import {
  listedSecret,
  listResponse,
  listSoon,
  ScriptedVault,
  textOf,
  errorResponse,
} from "../../lab/vault/scripted-vault.ts";

test("a 401 for one value neither pauses logins nor renews the token repeatedly", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("version_expose", errorResponse(401, "invalid_token"))
    .on("expose", errorResponse(401, "invalid_token"));
  const observed = await vault.connected();
  for (let attempt = 0; attempt < 10; attempt += 1) {
    expect(await failureOf(textOf(observed, "a"))).toMatchObject({ kind: "auth", code: "token" });
  }
  expect(vault.count("refresh_token")).toBe(1);
  expect(vault.count("generate_access_token")).toBe(1);
  expect(observed.connection.loginPause).toBeUndefined();
  await listSoon(observed);
  expect(observed.connection.health.state).toBe("healthy");
  await observed.clock.advance(60_000);
  await failureOf(textOf(observed, "a"));
  expect(vault.count("refresh_token")).toBe(2);
});

test("a vault whose list rejects fresh tokens is asked once per pause", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    errorResponse(401, "invalid_token"),
  );
  const observed = vault.connect();
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({ state: "failing", error: { code: "token" } });
  expect(observed.connection.loginPause).toMatchObject({
    until: observed.clock.now() + 60_000,
    credentials: "canary-password",
  });
  observed.connection.pollSoon();
  await observed.clock.advance(30_000);
  expect(vault.count("generate_access_token")).toBe(1);
});
