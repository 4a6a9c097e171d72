import type { Redacted } from "../../../src/lib/redacted.ts";
import { demoNamespace, kubectl } from "../kubectl.ts";
import type { Stage } from "../setup.ts";
import { runStep } from "../step.ts";

/** Searches logs, metrics, statuses and events for every value of this run, plain and in base64. */
export async function noLeaks(stage: Stage, values: readonly Redacted<string>[]): Promise<void> {
  const { controlPlane, operator, vault, signal } = stage;
  const head = {
    title: "8  No secret value leaks",
    expected: "no value and no password in a log, an event, a status or a metric",
    limitMs: 30_000,
  };
  return runStep(stage, head, async (step) => {
    const resources = "vaultconnections,vaultsecrets,vaultfiles,events";
    const places = {
      "operator log": await operator.log.read(),
      "vault log": await vault.log.read(),
      "operator metrics": await textOf(`${operator.url}/metrics`, signal),
      "vault metrics": await textOf(`${vault.metricsUrl}/metrics`, signal),
      "statuses and events": await kubectl(controlPlane, [
        "get",
        resources,
        "-n",
        demoNamespace,
        "-o",
        "json",
      ]),
    };
    const forms = [...values, vault.password].flatMap((value) => [
      value.reveal(),
      Buffer.from(value.reveal()).toString("base64"),
    ]);
    for (const [place, text] of Object.entries(places)) {
      if (forms.some((form) => text.includes(form))) throw step.failure(`a value is in: ${place}`);
    }
    const sizes = Object.entries(places).map(
      ([place, text]) => `${place} (${Buffer.byteLength(text)} bytes)`,
    );
    step.detail(`searched: ${sizes.join(", ")}`);
    step.done(`none of ${values.length + 1} values in logs, metrics, statuses and events`);
  });
}

async function textOf(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return response.text();
}
