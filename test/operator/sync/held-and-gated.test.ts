import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { freeze, update, withAnotherName } from "./gated-targets.ts";

const HOUR = 60 * 60_000;
const HOLD = "vaultsync.dev/hold";
const APPROVAL = { approval: "Required" };

const hold = (scene: SimulatedWorld, text: string | null): void => scene.annotate({ [HOLD]: text });

// Found by a review: a hold opened what a freeze or an approval keeps back.
test("a target that is held gets no name that a rule finds without an approval", async () => {
  await using scene = await withAnotherName(APPROVAL);
  expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
  hold(scene, "*");
  await scene.settle();
  expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
  expect(update(scene)?.reason).toBe("AwaitingApproval");
});

test("a target that is held gets no optional key during a freeze", async () => {
  await using scene = await SimulatedWorld.shop("db");
  const optional = { secretKey: "more", optional: true, remoteRef: { key: "more" } };
  scene.follow({ password: "db" }, {});
  scene.follow({}, { data: [{ secretKey: "password", remoteRef: { key: "db" } }, optional] });
  await scene.settle();
  freeze(scene, { until: new Date(scene.clock.now() + HOUR).toISOString() });
  hold(scene, "*");
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 }, { name: "more" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  expect(update(scene)?.reason).toBe("Held");
  await scene.settle(2 * HOUR);
  expect(scene.outcome()).toBe("more=vault more@1 password=vault db@1, Synced");
});
