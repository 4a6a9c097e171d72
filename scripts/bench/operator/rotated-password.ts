import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../test/lab/clock/wait-until.ts";
import type { Figures } from "./figures.ts";
import { Stage } from "./stage.ts";

const CONNECTIONS = 20;
const EMAIL = "ops@example.com";

/**
 * Rotates the password of an account while connections use it, and counts the logins that the vault
 * refuses within a minute.
 */
export async function measureRotatedPassword(): Promise<Figures> {
  await using stage = await Stage.start([EMAIL]);
  const namespace = await stage.plane.createNamespace("rotated");
  const specs = Array.from(
    { length: CONNECTIONS },
    (_, index) => [`c-${index}`, { email: EMAIL, refreshInterval: "5s" }] as const,
  );
  await stage.connections(namespace, new Map(specs));
  await using _operator = await stage.operator([namespace]);
  const ready = (): Promise<number> => stage.readyCount("VaultConnection", namespace);
  await waitUntil("all connections are Ready", async () => (await ready()) === CONNECTIONS, 60_000);
  const before = await stage.vaultRequests();
  await stage.rotatePassword(EMAIL);
  stage.progress.note("rotated the password");
  await sleep(60_000);
  const after = await stage.vaultRequests();
  const grown = (key: string): number => (after.get(key) ?? 0) - (before.get(key) ?? 0);
  const figures: [string, string][] = [
    ["connections of the account", String(CONNECTIONS)],
    ["connections that are Ready after a minute", String(await ready())],
    ["refused logins in the first minute", String(grown("generate_access_token 401"))],
    ["throttled logins", String(grown("generate_access_token 429"))],
    ["lists with 401", String(grown("list_no_dup 401"))],
    ["refused refreshes", String(grown("regenerate_access_token 401"))],
  ];
  return {
    figures,
    requests: Object.fromEntries([...after.keys()].map((key) => [key, grown(key)])),
  };
}
