import { afterAll, beforeAll, expect, test } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startControlPlane, type OwnedControlPlane } from "../control-plane/start.ts";
import { condition } from "../e2e/support/world.ts";
import { Farm, isReady } from "./support/farm.ts";

/** The CRDs change while the operator runs. These tests have a control plane of their own. */
let plane: OwnedControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await kubectl(plane, ["apply", "-k", "deploy/base"]);
  await established();
});
afterAll(() => plane[Symbol.asyncDispose]());

async function kubectl(at: ControlPlane, args: readonly string[]): Promise<void> {
  const { code, stderr } = await at.kubectl(args);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr}`);
}

const established = (): Promise<void> => kubectl(plane, ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);

test("K9: CRDs that are updated, deleted and installed again at run time do not end the operator", async () => {
  await using farm = await Farm.create({ accounts: 4, plane });
  const operator = await farm.startOperator();
  await using lane = await farm.lane("k9-first");
  await kubectl(plane, ["annotate", "crd", "--all", "example.com/updated=true"]);
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);

  await kubectl(plane, ["annotate", "crd", "--all", "vaultsync.dev/confirm-delete=true"]);
  await kubectl(plane, ["delete", "-k", "crds", "--timeout=60s"]);
  await kubectl(plane, ["apply", "-k", "deploy/base"]);
  await established();
  await using again = await farm.lane("k9-second");
  const next = await again.protect();
  await again.inSync();
  expect(again.written).toEqual([again.values[0], next]);
  const resource = await farm.history.until("VaultSecret", again.name, isReady);
  expect(condition(resource, "Ready")?.reason).toBe("Synced");
  expect(operator.exited).toBe(false);
});
