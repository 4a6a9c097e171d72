import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { stringify } from "yaml";
import { launchChromium } from "../test/lab/chromium.ts";
import { parts, rulesOf } from "../test/lab/monitoring/rules.ts";
import { readDashboard } from "./pictures/dashboards/dashboard.ts";
import { LiveScene } from "./pictures/dashboards/live-scene.ts";
import { Prometheus, type Series } from "./pictures/dashboards/prometheus.ts";
import { renderDashboard } from "./pictures/dashboards/render-dashboard.ts";

const directory = join(import.meta.dirname, "../docs/images");
const { values: flags } = parseArgs({
  options: {
    prometheus: { type: "string", default: "prometheus" },
    minutes: { type: "string", default: "7" },
  },
});
const minutes = Number(flags.minutes);

/** Returns the faults of the scene, each with the part of the whole time after which it begins. */
function faultsOf(scene: LiveScene): { at: number; what: string; cause: () => Promise<unknown> }[] {
  const { network, shop } = scene;
  return [
    { at: 0.3, what: "the vault is unreachable for one connection", cause: () => network.refuse() },
    {
      at: 0.45,
      what: "a secret is deleted",
      cause: () => shop.caller.call("delete", { key_name: "service-9" }),
    },
    { at: 0.5, what: "the vault is reachable again", cause: () => network.heal() },
    {
      at: 0.7,
      what: "the audit log cannot be written",
      cause: () => scene.breakAuditLog(15_000, sleep),
    },
    {
      at: 0.8,
      what: "the secret is stored again",
      cause: () =>
        shop.caller.call("protect", {
          key_name: "service-9",
          key_value: "again",
          expiration_time: 1,
        }),
    },
  ];
}

/** Works for the time of the picture, with a fault from time to time. */
async function live(scene: LiveScene, start: number): Promise<void> {
  const waiting = faultsOf(scene);
  const pending: Promise<unknown>[] = [];
  for (let elapsed = 0; elapsed < minutes * 60; elapsed = Date.now() / 1_000 - start) {
    const next = waiting[0];
    if (next !== undefined && elapsed >= next.at * minutes * 60) {
      process.stdout.write(`${Math.round(elapsed)} s: ${next.what}\n`);
      pending.push(next.cause());
      waiting.shift();
    }
    await scene.work();
    await sleep(500);
  }
  await Promise.all(pending);
}

const alertNames = (series: readonly Series[]): string =>
  [...new Set(series.map(({ labels }) => `${labels["alertname"]} (${labels["alertstate"]})`))]
    .toSorted()
    .join(", ");

await using scene = await LiveScene.start();
const ruleFiles = Object.fromEntries(
  parts.map((part) => [`${part}.yaml`, stringify(rulesOf(part))]),
);
await using prometheus = await Prometheus.start(flags.prometheus, scene.targets, ruleFiles);
const start = Date.now() / 1_000 + 5;
await live(scene, start);
const end = Date.now() / 1_000;
process.stdout.write(`alerts: ${alertNames(await prometheus.range("ALERTS", start, end, 5))}\n`);
const browser = await launchChromium();
try {
  for (const part of parts) {
    const { html, height, empty } = await renderDashboard(readDashboard(part), prometheus, {
      start,
      end,
    });
    const page = await browser.newPage({ viewport: { width: 1_600, height } });
    await page.setContent(html);
    await page.screenshot({ path: join(directory, `dashboard-${part}.png`) });
    process.stdout.write(
      `docs/images/dashboard-${part}.png: ${empty.length === 0 ? "every panel has data" : `no data in ${empty.join(", ")}`}\n`,
    );
    if (empty.length > 0) process.exitCode = 1;
  }
} finally {
  await browser.close();
}
