import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import type { SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A response that no vault sends. */
const page = (status: number, text: string) => (): InMemoryResponse => ({
  status,
  headers: {},
  body: new TextEncoder().encode(text),
});

const gateway = page(504, "upstream request timeout");
const reset = (): never => {
  throw new TransientError("list_no_dup", "reset");
};

/**
 * Starts an operator with a vault that holds lists, behind a proxy that ends them after `afterMs`.
 */
async function startBehind(proxy?: SimulatedVault["proxy"]) {
  const scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["db"]);
  vault.holds = true;
  vault.proxy = proxy;
  scene.start();
  await scene.clock.advance(5 * SECOND);
  vault.listedAt.length = 0;
  let writes: (string | undefined)[] = [];
  scene.server.onCommit(({ resource }) => {
    if (resource.plural === vaultConnectionKind.plural)
      writes.push(scene.connectionCondition("Ready")?.status);
  });
  /**
   * Returns the number of lists, and Ready as each write of the status of the connection showed it,
   * since the last call.
   */
  const take = () => {
    const taken = { lists: vault.listedAt.splice(0).length, writes };
    writes = [];
    return taken;
  };
  return { scene, vault, take, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

describe("a connection behind a proxy that ends held requests", () => {
  test.each<[string, number, () => InMemoryResponse, number]>([
    ["with 504 after 15 s", 15, gateway, 14],
    ["with 504 after 30 s", 30, gateway, 29],
    ["by a reset after 30 s", 30, reset, 29],
    ["with 502 after 30 s", 30, page(502, "<html>Bad Gateway</html>"), 29],
    ["with an HTML page and 200 after 30 s", 30, page(200, "<html>Please wait</html>"), 29],
    ["with 204 after 30 s", 30, page(204, ""), 29],
    ["with 403 after 30 s", 30, page(403, "<html>Forbidden</html>"), 29],
  ])("%s keeps its status and has each list in progress", async (_, seconds, end, heldSeconds) => {
    await using behind = await startBehind({ afterMs: seconds * SECOND, end });
    await behind.scene.clock.advance(HOUR);
    const { lists, writes } = behind.take();
    expect(writes).toEqual([]);
    expect(lists).toBeLessThanOrEqual(3_600 / heldSeconds + 8);
    behind.vault.write("db");
    await behind.scene.clock.advance(2 * SECOND);
    expect(behind.scene.value("shop", "db")).toBe("db@2");
  });

  test("after 3 s is listed once per interval", async () => {
    await using behind = await startBehind({ afterMs: 3 * SECOND, end: gateway });
    await behind.scene.clock.advance(HOUR);
    const { lists, writes } = behind.take();
    expect(writes).toEqual([]);
    expect(lists).toBeLessThanOrEqual(60 * 1.2 + 10);
  });

  test("tries once an hour whether the path holds longer", async () => {
    await using behind = await startBehind({ afterMs: 3 * SECOND, end: gateway });
    await behind.scene.clock.advance(HOUR);
    behind.vault.proxy = undefined;
    await behind.scene.clock.advance(5 * HOUR);
    behind.take();
    await behind.scene.clock.advance(HOUR);
    expect(behind.take().lists).toBeLessThanOrEqual(73);
  });
});

test("a vault that goes down during a held request is reported by the next list", async () => {
  await using behind = await startBehind();
  await behind.scene.clock.advance(10 * SECOND);
  behind.vault.setDown(true);
  await behind.scene.clock.advance(SECOND);
  expect(behind.scene.connectionCondition("Ready")).toMatchObject({
    status: "False",
    reason: "VaultUnreachable",
  });
  behind.vault.setDown(false);
  await behind.scene.clock.advance(2 * MINUTE);
  expect(behind.scene.connectionCondition("Ready")).toMatchObject({ status: "True" });
  behind.take();
  // The outage says nothing about the path.
  await behind.scene.clock.advance(HOUR);
  expect(behind.take().lists).toBeLessThanOrEqual(73);
});
