import { expect, test } from "vitest";
import { z } from "zod";
import { startStubVault } from "./stage.ts";
import { exposedSecret, secretRecord, tokenResponse } from "../../../src/protocol/responses.ts";
import { VaultClient } from "../../../test/lab/vault/vault-client.ts";

const listed = z.strictObject({ secrets: z.array(secretRecord.strict()) });

test("the vault of the benchmarks follows the contract, and holds a list until a change", async () => {
  await using vault = await startStubVault();
  using client = new VaultClient(vault.url, "ops@example.com");
  const login = await client.logIn("any");
  expect(tokenResponse.strict().parse(login.json()).token_type).toBe("access");
  const renewal = { refresh_token: login.json().refresh_token, used_access_token: client.token };
  tokenResponse.parse((await client.call("refresh_token", renewal)).json());

  await client.call("protect", { key_name: "a", key_value: "1" });
  const first = await client.call("list_no_dup");
  expect(listed.parse(first.json()).secrets).toMatchObject([
    { key_name: "a", key_version: 1, owner: "ops@example.com" },
  ]);
  const known = { "if-none-match": first.headers.etag };
  expect(await client.call("list_no_dup", {}, known)).toMatchObject({
    status: 304,
    headers: { etag: first.headers.etag },
  });
  const ended = await client.call("list_no_dup", {}, { ...known, prefer: "wait=1" });
  expect(ended).toMatchObject({ status: 304, headers: { "preference-applied": "wait" } });

  const held = client.call("list_no_dup", {}, { ...known, prefer: "wait=50" });
  await client.call("protect", { key_name: "a", key_value: "2" });
  const woken = await held;
  expect(woken).toMatchObject({ status: 200, headers: { "preference-applied": "wait" } });
  expect(listed.parse(woken.json()).secrets).toMatchObject([{ key_version: 2 }]);
  const exposed = await client.call("version_expose", { key_name: "a", key_version: 2 });
  expect(exposedSecret.strict().parse(exposed.json())).toMatchObject({
    key_value: "2",
    key_version: 2,
  });
  expect(await client.call("expose", { key_name: "b" })).toMatchObject({ status: 404 });

  const metrics = await (await fetch(`${vault.metricsUrl}/metrics`)).text();
  expect(metrics).toContain(
    'vaultsync_vault_requests_total{operation="list_no_dup",status="304"} 2\n',
  );
});
