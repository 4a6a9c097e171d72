import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { FaultProxy, type Fault } from "../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../test/lab/clock/wait-until.ts";
import { latenciesOf, latencyCells, latencyColumns } from "./statistics.ts";
import { SecretWatch } from "./operator/secret-watch.ts";
import { protect, Stage } from "./operator/stage.ts";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    changes: { type: "string", default: "100" },
    idle: { type: "string", default: "150" },
    help: { type: "boolean" },
  },
});
if (values.help === true) {
  process.stdout
    .write(`Measure the time from a change in the vault to the Secret, and the requests to the vault while nothing changes.

npm run bench -- propagation [--changes 100] [--idle 150]

Starts a control plane, a vault and an operator with three connections, which are changed simultaneously: one that follows its
list, one with follow: Interval and 5 s, and one behind a proxy that drops the header Prefer, with 5 s.

  --changes  number of changes of the first connection, 1.1 to 1.5 s apart (default 100); the others get a quarter
  --idle     duration in seconds of the measurement without changes (default 150)
`);
  process.exit(0);
}
const settings = { changes: Number(values.changes), idleSeconds: Number(values.idle) };

const relay: Fault = (exchange) => exchange.relay();
const withoutPrefer: Fault = (exchange) => {
  delete exchange.request.headers["prefer"];
  return exchange.relay();
};
const kinds = [
  {
    name: "auto",
    label: "follow: Auto",
    fault: relay,
    refreshInterval: "60s",
    follow: "Auto",
    share: 1,
    gapMs: 1_100,
  },
  {
    name: "interval",
    label: "follow: Interval, 5 s",
    fault: relay,
    refreshInterval: "5s",
    follow: "Interval",
    share: 0.25,
    gapMs: 4_600,
  },
  {
    name: "plain",
    label: "no Prefer, 5 s",
    fault: withoutPrefer,
    refreshInterval: "5s",
    follow: "Auto",
    share: 0.25,
    gapMs: 4_600,
  },
] as const;
const emailOf = (name: string): string => `${name}@example.com`;

await using stage = await Stage.start(kinds.map(({ name }) => emailOf(name)));
const namespace = await stage.plane.createNamespace("propagation");
await using proxies = new AsyncDisposableStack();
const lanes = await Promise.all(
  kinds.map(async (kind) => {
    const email = emailOf(kind.name);
    const client = await stage.client(email);
    await stage.fill(client, [kind.name]);
    const proxy = proxies.use(await FaultProxy.start({ url: stage.vault.url }));
    proxy.inject(kind.fault);
    const { refreshInterval, follow } = kind;
    await stage.connections(
      namespace,
      new Map([[kind.name, { url: proxy.url, email, refreshInterval, follow }]]),
    );
    await stage.secrets(namespace, kind.name, [kind.name]);
    return { ...kind, client, proxy };
  }),
);
await using _operator = await stage.operator([namespace]);
await waitUntil(
  "all resources are Ready",
  async () => (await stage.readyCount("VaultSecret", namespace)) === lanes.length,
);
await using watch = await SecretWatch.start(stage.plane.access, namespace);
await sleep(5_000);

/**
 * Changes the secret of a connection repeatedly, and returns the times until the watch showed each
 * change.
 */
async function changeRepeatedly({
  name,
  client,
  share,
  gapMs,
}: (typeof lanes)[number]): Promise<number[]> {
  const samples: number[] = [];
  const count = Math.ceil(settings.changes * share);
  for (let change = 1; change <= count; change += 1) {
    await sleep(gapMs + Math.random() * (gapMs < 2_000 ? 400 : 1_000));
    const value = `${name} ${change}`;
    const arrival = watch.arrival(name, value, 30_000);
    await protect(client, name, value);
    const from = performance.now();
    samples.push(Math.max(0, (await arrival) - from));
    if (share === 1) stage.progress.update(`change ${change} of ${count}`);
  }
  return samples;
}

const samples = await Promise.all(lanes.map(changeRepeatedly));
stage.progress.note(`idle for ${settings.idleSeconds} s`);
await sleep(2_000);
const before = lanes.map(({ proxy }) => proxy.requests.length);
await sleep(settings.idleSeconds * 1_000);
const result = lanes.map(({ label, proxy }, index) => {
  const idle = proxy.requests.slice(before[index]);
  const lists = idle.filter(({ path }) => path === operationPath.list_no_dup).length;
  return {
    label,
    latencies: latenciesOf(samples[index] ?? []),
    idle: { seconds: settings.idleSeconds, requests: idle.length, lists },
    samples: samples[index] ?? [],
  };
});
process.stdout.write(
  table([
    ["", ...latencyColumns, "idle requests", "per 50 s"],
    ...result.map(({ label, latencies, idle }) => [
      label,
      ...latencyCells(latencies),
      String(idle.requests),
      ((idle.requests * 50) / idle.seconds).toFixed(2),
    ]),
  ]),
);
await saveResult("propagation", settings, result);
