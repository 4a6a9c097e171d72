import { expect, test } from "vitest";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { InMemoryTransport } from "../../lab/simulated/vault/in-memory-transport.ts";
import { InMemoryVault } from "../../lab/simulated/vault/in-memory-vault.ts";
import { observeConnection, referencesTo } from "../../lab/vault/vault-connection.ts";

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
