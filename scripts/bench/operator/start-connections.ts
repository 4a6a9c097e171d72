import { setTimeout as sleep } from "node:timers/promises";
import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { FaultProxy } from "../../../test/lab/real/fault-proxy.ts";
import { waitUntil } from "../../../test/lab/clock/wait-until.ts";
import { busiestSecond } from "../../../test/lab/busiest-second.ts";
import { seconds, type Figures } from "./figures.ts";
import { Stage } from "./stage.ts";

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
