import { afterAll, expect, test } from "vitest";
import { enumerateFaults } from "./enumerate.ts";
import type { Scenario } from "./scenario.ts";

/**
 * Tests that every fault at every request of each scenario converges to the state without it, and
 * prints the number of cases.
 */
export function testScenarios(scenarios: readonly Scenario[]): void {
  const total = { scenarios: 0, requests: 0, cases: 0 };

  test.each(scenarios)(
    "every fault at every request converges: $name",
    { timeout: 600_000 },
    async (scenario) => {
      const { effects, cases, problems } = await enumerateFaults(scenario);
      total.scenarios += 1;
      total.requests += effects;
      total.cases += cases;
      expect(problems).toEqual([]);
      // Three faults before a request is carried out, and three after it.
      expect(cases).toBeGreaterThanOrEqual(3 * effects);
    },
  );

  afterAll(() => {
    console.log(
      `${total.cases} faults at ${total.requests} requests of ${total.scenarios} scenarios`,
    );
  });
}
