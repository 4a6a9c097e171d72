import { spreadOf } from "../statistics.ts";
import { table } from "../table.ts";
import type { BrowserContext, CDPSession } from "playwright-core";
import { z } from "zod";

/** Start of the line of the console that ends with the time since the navigation, in ms. */
const USABLE = "usable after ms: ";

/**
 * Returns the script of a page that types a name into the search as soon as the list has rows, and
 * writes to the console when the list has that row only. It keeps the longest task in
 * `globalThis.longestTask`, in ms.
 */
const usableProbe = (name: string): string => `
globalThis.longestTask = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries())
    globalThis.longestTask = Math.max(globalThis.longestTask, duration);
}).observe({ type: "longtask", buffered: true });

const type = (field) => {
  field.value = ${JSON.stringify(name)};
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
};
const look = (hasTyped) => {
  const field = document.querySelector("input[type=search]");
  const rows = document.querySelectorAll("main tbody tr").length;
  if (hasTyped && rows === 1) return console.log("${USABLE}" + performance.now());
  const isReady = rows > 1 && field !== null && !field.disabled;
  if (!hasTyped && isReady) type(field);
  requestAnimationFrame(() => look(hasTyped || isReady));
};
look(false);
`;

/** The connection and the processor of a visitor. */
export type Speed = "plain" | "slow";

/** A phone on a mobile network: 1.6 Mbit/s down, half of it up, 150 ms, a quarter of the CPU. */
const SLOW_NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: 1_600_000 / 8,
  uploadThroughput: 800_000 / 8,
};
const SLOW_CPU = 4;
const KIB = 1024;

/** The figures of one visit, by name and unit. */
type Figures = Readonly<Record<string, number>>;

/** Counts what a page fetches from the server: what comes from the browser's cache does not count. */
class Traffic {
  requests = 0;
  compressed = 0;
  raw = 0;

  constructor(session: CDPSession) {
    const cached = new Set<string>();
    session.on("Network.requestWillBeSent", () => (this.requests += 1));
    session.on("Network.requestServedFromCache", ({ requestId }) => this.#omit(cached, requestId));
    session.on("Network.responseReceived", ({ requestId, response }) => {
      if (response.fromDiskCache === true) this.#omit(cached, requestId);
    });
    session.on("Network.dataReceived", ({ requestId, dataLength }) => {
      if (!cached.has(requestId)) this.raw += dataLength;
    });
    session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
      if (!cached.has(requestId)) this.compressed += encodedDataLength;
    });
  }

  #omit(cached: Set<string>, requestId: string): void {
    if (!cached.has(requestId)) this.requests -= 1;
    cached.add(requestId);
  }
}

async function limit(session: CDPSession, speed: Speed): Promise<void> {
  if (speed === "plain") return;
  await session.send("Network.emulateNetworkConditions", SLOW_NETWORK);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOW_CPU });
}

/** Opens the list of secrets in a new page, searches for a name that one of them has, and closes it. */
export async function measureVisit(
  context: BrowserContext,
  { url, speed, search }: { readonly url: string; readonly speed: Speed; readonly search: string },
): Promise<Figures> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await limit(session, speed);
  await page.addInitScript({ content: usableProbe(search) });
  const traffic = new Traffic(session);
  const [report] = await Promise.all([
    page.waitForEvent("console", (message) => message.text().startsWith(USABLE)),
    page.goto(`${url}/#/secrets`),
  ]);
  await page.waitForLoadState("networkidle");
  const longest = z.number().parse(await page.evaluate("globalThis.longestTask"));
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await page.close();
  return {
    requests: traffic.requests,
    "compressed KiB": traffic.compressed / KIB,
    "raw KiB": traffic.raw / KIB,
    "usable ms": Number(report.text().slice(USABLE.length)),
    "longest task ms": longest,
    "heap MiB": usedSize / KIB / KIB,
  };
}

/** A measured visit. */
export interface MeasuredVisit {
  readonly subject: string;
  readonly secrets: number;
  readonly speed: Speed;
  readonly visit: "first" | "second";
  readonly figures: Figures;
}

/** All runs of a visit: the values of each figure. */
interface Series extends Omit<MeasuredVisit, "figures"> {
  readonly figures: Readonly<Record<string, readonly number[]>>;
}

/** Returns a series for each subject, number of secrets, speed and visit, in order of appearance. */
export function seriesOf(visits: readonly MeasuredVisit[]): Series[] {
  const groups = Map.groupBy(visits, ({ subject, secrets, speed, visit }) =>
    JSON.stringify([subject, secrets, speed, visit]),
  );
  return [...groups.values()].flatMap((runs) =>
    runs.slice(0, 1).map((first) => ({
      ...first,
      figures: Object.fromEntries(
        Object.keys(first.figures).map((name) => [
          name,
          runs.map(({ figures }) => figures[name] ?? 0),
        ]),
      ),
    })),
  );
}

const short = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

/** Returns the medians of a figure, one for each subject, and the ratio of the first to the second. */
function cellsOf(series: readonly Series[], figure: string): string[] {
  const medians = series.map(({ figures }) => spreadOf(figures[figure] ?? []).median);
  const [now = 0, before] = medians;
  const ratio = before === undefined ? [] : [before === 0 ? "–" : (now / before).toFixed(2)];
  return [...medians.map(short), ...ratio];
}

/** Returns a table for each number of secrets, speed and visit, with a column for each subject. */
export function visitTables(visits: readonly MeasuredVisit[]): string {
  const groups = Map.groupBy(
    seriesOf(visits),
    ({ secrets, speed, visit }) => `${secrets} secrets, ${speed}, ${visit} visit`,
  );
  return [...groups]
    .map(([title, series]) => {
      const subjects = series.map(({ subject }) => subject);
      const figures = Object.keys(series[0]?.figures ?? {});
      return table([
        [title, ...subjects, ...(subjects.length > 1 ? ["ratio"] : [])],
        ...figures.map((figure) => [figure, ...cellsOf(series, figure)]),
      ]);
    })
    .join("\n");
}
