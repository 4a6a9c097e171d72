import { expect, test, vi } from "vitest";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { SqliteStore } from "../../src/vault/server/store/sqlite/sqlite-store.ts";
import type { Party } from "../../src/vault/server/store/store.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";

/** Records who reads and writes in the stores of this process, until disposed. */
function recordParties(): Disposable & { readonly all: () => (Party | undefined)[] } {
  const spies = (["read", "readOne", "write"] as const).map((name) =>
    vi.spyOn(SqliteStore.prototype, name),
  );
  return {
    all: () => spies.flatMap(({ mock }) => mock.calls.map(([, party]) => party)),
    [Symbol.dispose]: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

const email = "ann@example.com";
const login = { email, password: "wrong", scope: scopeString(), expiration_hours: 1 };

test.each([
  ["a wrong password", operationPath.generate_access_token, login, 4],
  ["a request for a password", sessionOperationPath.app_request_password, { email }, 2],
])("the database work of %s is charged to the client's network", async (_, path, body, count) => {
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  using parties = recordParties();
  await vault.post(path, body, { origin: vault.url });
  const charged = parties.all().filter((party) => party?.account === "network:127.0.0.1");
  expect(charged).toHaveLength(count);
  expect(charged.map((party) => party?.login)).not.toContain(undefined);
});
