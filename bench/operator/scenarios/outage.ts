import { setTimeout as sleep } from "node:timers/promises";
import { busiestSecond } from "../../../test/support/busiest-second.ts";
import { record, type Scenario, type Scene } from "../scene.ts";
import { INTERVAL_SECONDS } from "../subject.ts";

/** B6: the vault resets every connection for a while, and then responds again. */
export const outage: Scenario = async (scene, running) => {
  const { stage, subject, content, proxy, targets, settings } = scene;
  const interval = INTERVAL_SECONDS * 1_000;
  const steady = await requestsWithin(scene, interval);
  stage.progress.note(`${subject.label}: the vault is down for ${settings.outageSeconds} s`);
  proxy.inject(({ reset }) => reset());
  const during = await requestsWithin(scene, settings.outageSeconds * 1_000);
  const value = await content.change(0);
  const from = performance.now();
  scene.restoreVault();
  const arrived = targets.arrival(content.names[0] ?? "", value, 20 * interval);
  const after = await requestsWithin(scene, interval);
  record(scene, "b6", {
    "requests per interval before": steady.length,
    "requests/s during the outage": during.length / settings.outageSeconds,
    "time until a change arrives after the outage, s": ((await arrived) - from) / 1_000,
    "requests of the interval after the outage": after.length,
    "storm factor: after / before": after.length / Math.max(1, steady.length),
    "busiest second after the outage": busiestSecond(after),
  });
  return running;
};

/** Returns the times of the requests at the vault within the next `ms`. */
async function requestsWithin({ proxy }: Scene, ms: number): Promise<number[]> {
  const before = proxy.requests.length;
  await sleep(ms);
  return proxy.requests.slice(before).map(({ at }) => at);
}
