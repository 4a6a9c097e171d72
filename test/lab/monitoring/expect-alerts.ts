import { stringify } from "yaml";
import { waitUntil } from "../clock/wait-until.ts";
import { promtool, type Part } from "./rules.ts";
import { continued, INTERVAL, type Scrape } from "./scrape.ts";

/**
 * An alert that fires, with these of its labels: connection, kind, controller, operation, volume,
 * table, served_namespace, resource_namespace.
 */
export type Firing = { readonly alertname: string } & Readonly<Record<string, string>>;

/** Time for which the processes stay in their state, in minutes: longer than `for` of most alerts. */
const MINUTES = 60;

interface Expecting {
  /** Time for which the processes stay in their state. */
  readonly minutes?: number;
  /** The only alert that counts; `undefined`: all. */
  readonly alertname?: string;
}

/**
 * Checks with promtool that exactly these alerts fire when the processes stay in the state of two
 * scrapes of each. No process means that nothing can be scraped.
 * @throws Error with the alerts that fire
 */
export async function expectAlerts(
  part: Part,
  processes: readonly (readonly [Scrape, Scrape])[],
  expected: readonly Firing[],
  { minutes = MINUTES, alertname }: Expecting = {},
): Promise<void> {
  const labels =
    "alertname, connection, kind, controller, operation, volume, table, served_namespace, resource_namespace";
  const which = alertname === undefined ? "" : `,alertname="${alertname}"`;
  const test = {
    interval: `${INTERVAL}s`,
    start_timestamp: Math.round(Math.max(0, ...processes.map(([, { at }]) => at))),
    input_series: processes.flatMap(([before, now]) =>
      continued(before, now, (minutes * 60) / INTERVAL),
    ),
    promql_expr_test: [
      {
        expr: `group by (${labels}) (ALERTS{alertstate="firing"${which}})`,
        eval_time: `${minutes}m`,
        exp_samples: expected.map((firing) => ({
          labels: `{${Object.entries(firing)
            .map(([name, value]) => `${name}="${value}"`)
            .join(", ")}}`,
          value: 1,
        })),
      },
    ],
  };
  const cases = { rule_files: ["rules.yaml"], evaluation_interval: `${INTERVAL}s`, tests: [test] };
  await promtool(part, ["test", "rules", "cases.yaml"], { "cases.yaml": stringify(cases) });
}

/**
 * Waits until exactly these alerts of the operator fire for scrapes that `take` returns: on a loaded
 * machine, the process may be late at first.
 */
export const expectAlertsSoon = (
  expected: readonly Firing[],
  take: () => Promise<readonly [Scrape, Scrape]>,
): Promise<unknown> =>
  waitUntil(
    "exactly the expected alerts fire",
    async () => {
      await expectAlerts("operator", [await take()], expected);
      return true;
    },
    240_000,
  );
