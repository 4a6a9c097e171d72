import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import { Lanes } from "./support/lanes.ts";
import { isReady } from "../lab/real/resources.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * However many connections and restarts there are, the operator does not lock an account of the
 * vault.
 */
const shared = Lanes.use(() => ({ accounts: 4 }));

const LOGIN: Operation = "generate_access_token";
const count = (proxy: FaultProxy, operation: Operation): number =>
  proxy.to(operationPath[operation]).length;

test.concurrent("V13: 20 connections of one account cause one refused login in the first 10 s", async () => {
  const { world } = shared;
  const { email } = await world.account();
  await using proxy = await FaultProxy.start({ url: world.vault.url });
  const names = Array.from({ length: 20 }, (_, index) => `v13-same-${index}`);
  await Promise.all(
    names.map((name) => world.connection(name, { url: proxy.url, email, password: "outdated" })),
  );
  for (const name of names) {
    await world.history.until("VaultConnection", name, (one) =>
      Boolean(
        one.status?.conditions.some(
          ({ type, reason }) => type === "Ready" && reason === "AuthFailed",
        ),
      ),
    );
  }
  await sleep(10_000);
  expect(count(proxy, LOGIN)).toBe(1);
});

test.concurrent("V13: an error page instead of a login is no refused password", async () => {
  const { world } = shared;
  const { email, password } = await world.account();
  await using proxy = await FaultProxy.start({ url: world.vault.url });
  proxy.inject(faults.page(403));
  await world.connection("v13-page", { url: proxy.url, email, password });
  const failed = await world.history.until("VaultConnection", "v13-page", (one) =>
    Boolean(
      one.status?.conditions.some(({ type, status }) => type === "Ready" && status === "False"),
    ),
  );
  expect(failed.status?.conditions.find(({ type }) => type === "Ready")?.reason).toBe(
    "UnexpectedResponse",
  );
  await proxy.heal();
  await world.history.until("VaultConnection", "v13-page", isReady);
});
