import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { FaultProxy } from "../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../test/lab/clock/wait-until.ts";
import { busiestSecond } from "../../test/lab/busiest-second.ts";
import { Stage } from "./operator/stage.ts";
import { parseArgs } from "node:util";
import { saveResult } from "./result-file.ts";
import { table } from "./table.ts";

/** Labels and values of the rows of a table, and further results for the JSON file. */
export interface Figures {
  readonly figures: readonly (readonly [label: string, value: string])[];
  readonly [result: string]: unknown;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/** Connections of one account: fewer than the lists of an account that the vault holds. */
const PER_ACCOUNT = 10;
/** Time after all are Ready in which requests are still counted. */
const AFTER_MS = 60_000;

const emailOf = (index: number): string => `account-${Math.floor(index / PER_ACCOUNT)}@example.com`;

/** Opens connections of one vault together and counts the requests on the way to it. */
export async function measureConnections(count: number): Promise<Figures> {
  const accounts = new Set(Array.from({ length: count }, (_, index) => emailOf(index)));
  await using stage = await Stage.start([...accounts]);
  await using proxy = await FaultProxy.start({ url: stage.vault.url });
  const namespace = await stage.plane.createNamespace("connections");
  const specs = Array.from(
    { length: count },
    (_, index) => [`c-${index}`, { email: emailOf(index), url: proxy.url }] as const,
  );
  await stage.connections(namespace, new Map(specs));
  stage.progress.note(`created ${count} connections`);
  await using _operator = await stage.operator([namespace]);
  const ready = async (): Promise<boolean> => {
    const now = await stage.readyCount("VaultConnection", namespace);
    stage.progress.update(`${now} of ${count} connections are Ready`);
    return now === count;
  };
  await waitUntil("all connections are Ready", ready, 600_000, 1_000);
  const readyAt = performance.now();
  await sleep(AFTER_MS);
  const times = proxy.requests.map(({ at }) => at);
  const first = times[0] ?? readyAt;
  const logins = proxy.to(operationPath.generate_access_token).length;
  const lists = proxy.to(operationPath.list_no_dup);
  const opened = times.filter((at) => at <= readyAt);
  return {
    figures: [
      ["connections, accounts", `${count}, ${accounts.size}`],
      ["time from the first request until all are Ready", seconds(readyAt - first)],
      ["requests until all are Ready", String(opened.length)],
      ["logins in total", String(logins)],
      ["lists in total", String(lists.length)],
      ["requests in the busiest second until all are Ready", String(busiestSecond(opened))],
      ["requests in the busiest second, a minute more", String(busiestSecond(times))],
    ],
    requestsPerSecond: Object.values(
      Object.groupBy(times, (at) => Math.floor((at - first) / 1_000)),
    ).map((own) => own?.length),
  };
}

const CONNECTIONS = 20;
const EMAIL = "ops@example.com";

/**
 * Rotates the password of an account while connections use it, and counts the logins that the vault
 * refuses within a minute.
 */
export async function measureRotatedPassword(): Promise<Figures> {
  await using stage = await Stage.start([EMAIL]);
  const namespace = await stage.plane.createNamespace("rotated");
  const specs = Array.from(
    { length: CONNECTIONS },
    (_, index) => [`c-${index}`, { email: EMAIL, refreshInterval: "5s" }] as const,
  );
  await stage.connections(namespace, new Map(specs));
  await using _operator = await stage.operator([namespace]);
  const ready = (): Promise<number> => stage.readyCount("VaultConnection", namespace);
  await waitUntil("all connections are Ready", async () => (await ready()) === CONNECTIONS, 60_000);
  const before = await stage.vaultRequests();
  await stage.rotatePassword(EMAIL);
  stage.progress.note("rotated the password");
  await sleep(60_000);
  const after = await stage.vaultRequests();
  const grown = (key: string): number => (after.get(key) ?? 0) - (before.get(key) ?? 0);
  const figures: [string, string][] = [
    ["connections of the account", String(CONNECTIONS)],
    ["connections that are Ready after a minute", String(await ready())],
    ["refused logins in the first minute", String(grown("generate_access_token 401"))],
    ["throttled logins", String(grown("generate_access_token 429"))],
    ["lists with 401", String(grown("list_no_dup 401"))],
    ["refused refreshes", String(grown("regenerate_access_token 401"))],
  ];
  return {
    figures,
    requests: Object.fromEntries([...after.keys()].map((key) => [key, grown(key)])),
  };
}

const parts = ["connections", "password"] as const;
const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true, default: [...parts] },
    connections: { type: "string", default: "1000" },
    help: { type: "boolean" },
  },
});
const selected = parts.filter((part) => values.part.includes(part));
if (values.help === true || selected.length === 0) {
  process.stdout.write(`Measure what the start of an operator costs the vault and the API server.

npm run bench -- start [--part connections|password]… [--connections 1000]

  --part         connections: many connections are opened together;
                 password: the password of 20 connections is rotated in the vault (default: both)
  --connections  number of connections that are opened together (default 1000)
`);
  process.exit(values.help === true ? 0 : 2);
}

for (const part of selected) {
  const result = await {
    connections: () => measureConnections(Number(values.connections)),
    password: measureRotatedPassword,
  }[part]();
  process.stdout.write(`${table([["", part], ...result.figures])}\n`);
  await saveResult(`start-${part}`, values, result);
}
