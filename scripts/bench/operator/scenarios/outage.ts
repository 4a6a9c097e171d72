import { setTimeout as sleep } from "node:timers/promises";
import { busiestSecond, busiestWindow } from "../../../../test/lab/busiest-second.ts";
import type { ProxiedRequest } from "../../../../test/lab/real/fault-proxy.ts";
import { record, type Scenario, type Scene } from "../scene.ts";
import { INTERVAL_SECONDS } from "../subject.ts";

const INTERVAL_MS = INTERVAL_SECONDS * 1_000;
/**
 * Intervals that are measured before and after the outage: a request that the vault holds may last
 * for most of one.
 */
const INTERVALS = 3;

/** B6: the vault resets every connection for a while, and then responds again. */
export const outage: Scenario = async (scene, running) => {
  const { stage, subject, content, proxy, targets, settings } = scene;
  stage.progress.note(`${subject.label}: ${INTERVALS} intervals without an outage`);
  const before = await requestsWithin(scene, INTERVALS * INTERVAL_MS);
  stage.progress.note(`${subject.label}: the vault is down for ${settings.outageSeconds} s`);
  proxy.inject(({ reset }) => reset());
  const during = await requestsWithin(scene, settings.outageSeconds * 1_000);
  const value = await content.change(0);
  const from = performance.now();
  scene.restoreVault();
  stage.progress.note(`${subject.label}: ${INTERVALS} intervals after the outage`);
  const arrived = targets.arrival(content.names[0] ?? "", value, 20 * INTERVAL_MS);
  const after = await requestsWithin(scene, INTERVALS * INTERVAL_MS);
  const steady = before.length / INTERVALS;
  const storm = busiestWindow(timesOf(after), INTERVAL_MS);
  record(scene, "b6", {
    "requests per interval, before": steady,
    "requests of the busiest second, before": busiestSecond(timesOf(before)),
    "requests per interval, during the outage":
      (during.length * INTERVAL_SECONDS) / settings.outageSeconds,
    "requests of the busiest interval, during the outage": busiestWindow(
      timesOf(during),
      INTERVAL_MS,
    ),
    "requests of the busiest interval, afterwards": storm,
    "requests of the busiest second, afterwards": busiestSecond(timesOf(after)),
    "storm factor: busiest interval afterwards / before": storm / Math.max(1, steady),
    "time until a change arrives, s": ((await arrived) - from) / 1_000,
    "time until all accounts are served, s": (lastAccountAt(after) - from) / 1_000,
  });
  return running;
};

/** Returns the requests at the vault within the next `ms`. */
async function requestsWithin({ proxy }: Scene, ms: number): Promise<readonly ProxiedRequest[]> {
  const before = proxy.requests.length;
  await sleep(ms);
  return proxy.requests.slice(before);
}

const timesOf = (requests: readonly ProxiedRequest[]): number[] => requests.map(({ at }) => at);

/** Returns the time of the request after which each account that sent any has sent one. */
function lastAccountAt(requests: readonly ProxiedRequest[]): number {
  const firsts = new Map<unknown, number>();
  for (const { body, at } of requests) {
    const { email } = JSON.parse(body.toString()) as { email?: string };
    if (!firsts.has(email)) firsts.set(email, at);
  }
  return Math.max(...firsts.values());
}
