import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { KubeClient } from "../../../src/operator/kube/client/kube-client.ts";
import { acquireLease } from "../../../src/operator/kube/leader-election/acquire-lease.ts";
import type {
  LeaseTiming,
  Leadership,
} from "../../../src/operator/kube/leader-election/leadership.ts";
import { LEASES } from "../../../src/operator/kube/resource.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { connect } from "./connect.ts";

const forever = new AbortController().signal;
/** A fifth of the default times. */
const timing: LeaseTiming = { durationMs: 3_000, renewDeadlineMs: 2_000, retryMs: 400 };

let controlPlane: ControlPlane;
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  client = await connect(controlPlane.kubeconfigPath);
  namespace = await controlPlane.createNamespace("kube-lease");
});

afterAll(() => client[Symbol.asyncDispose]());

async function candidate(
  name: string,
  identity: string,
  api: KubeClient = client,
): Promise<Leadership> {
  const base = {
    namespace,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    timing,
  };
  const leadership = await acquireLease({ ...base, api, name, identity }, forever);
  onTestFinished(() => leadership.release());
  return leadership;
}

async function holder(name: string): Promise<unknown> {
  return (await client.get(LEASES, { namespace, name }, forever))["spec"];
}

test("of several candidates exactly one leads, and one other after its release", async () => {
  const won: Leadership[] = [];
  for (const identity of ["a", "b", "c"])
    void candidate("many", identity).then((leadership) => won.push(leadership));
  await expect.poll(() => won.length).toBe(1);
  await systemClock.sleep(timing.durationMs + timing.retryMs);
  expect(won).toHaveLength(1);
  expect(won[0]?.mayWrite()).toBe(true);
  await won[0]?.release();
  await expect.poll(() => won.length).toBe(2);
  expect(won.map((leadership) => leadership.mayWrite())).toEqual([false, true]);
  await won[1]?.release();
  await expect.poll(() => won.length).toBe(3);
});

test("a disconnected leader stops writing before another one takes over", async () => {
  await using proxy = await controlPlane.connectionProxy();
  await using through = await connect(
    await controlPlane.kubeconfigFor({ user: "admin" }, { server: proxy.server }),
  );
  const cutOff = await candidate("cut-off", "first", through);
  const waiting = candidate("cut-off", "second");
  await systemClock.sleep(timing.retryMs * 2);
  proxy.refuse(true);
  proxy.dropAll();
  const second = await waiting;
  expect(cutOff.mayWrite()).toBe(false);
  expect(cutOff.lost.aborted).toBe(true);
  expect(second.mayWrite()).toBe(true);
  expect(await holder("cut-off")).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 });
});

test("a real API server accepts many renewals", async () => {
  const leadership = await candidate("renewed", "me");
  const first = await holder("renewed");
  await systemClock.sleep(timing.durationMs * 1.5);
  expect(leadership.mayWrite()).toBe(true);
  const now = await holder("renewed");
  expect(now).toMatchObject({ holderIdentity: "me", leaseTransitions: 0 });
  expect(now).not.toEqual(first);
});
