import { expect, test } from "vitest";
import { ConnectProxy } from "../lab/vault/connect-proxy.ts";
import { World } from "../lab/real/world.ts";
import { condition, secretThrough } from "../lab/real/resources.ts";

const world = await World.ofFile();

test("an operator with --vault-proxy reaches the vault through the proxy only", async () => {
  using proxy = await ConnectProxy.start();
  const { hostname, host } = new URL(world.vault.url);
  await world.protect("proxied", world.canaries.text("proxied"));
  await world.startOperator([
    "--no-leader-elect",
    `--vault-proxy=${proxy.url}`,
    `--vault-hosts=${hostname}`,
  ]);
  await world.apply(secretThrough("vault", "proxied", { password: "proxied" }));
  await world.ready("VaultSecret", "proxied");
  expect(proxy.seen).toContainEqual(expect.stringContaining(`CONNECT ${host} `));
  proxy[Symbol.dispose]();
  const connection = await world.until(
    "VaultConnection",
    "vault",
    (one) => condition(one, "Ready")?.status === "False",
  );
  expect(condition(connection, "Ready")?.message).toContain(
    "the proxy of the operator opens no connection",
  );
});
