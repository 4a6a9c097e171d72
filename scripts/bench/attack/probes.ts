import { setTimeout as sleep } from "node:timers/promises";
import type { Probe, Site } from "./attack-case.ts";
import type { Served } from "./ordinary-clients.ts";
import { messageOf } from "../../../src/lib/errors.ts";

/** The prepared probe of a case. */
export interface OpenProbe {
  readonly name: string;
  readonly intervalMs: number;
  readonly request: () => Promise<string>;
}

export async function openProbe({ name, intervalMs, open }: Probe, site: Site): Promise<OpenProbe> {
  return { name, intervalMs, request: await open(site) };
}

/**
 * Sends requests at a fixed rate, whether or not earlier ones have a response, and adds what their
 * sender experiences.
 */
export async function runProbe(
  { intervalMs, request }: OpenProbe,
  forMs: number,
  { latencies, errors }: Served,
): Promise<void> {
  const sent: Promise<void>[] = [];
  const send = async (due: number): Promise<void> => {
    const outcome = await request().catch(messageOf);
    latencies.push(performance.now() - due);
    if (outcome !== "200" && outcome !== "304") errors[outcome] = (errors[outcome] ?? 0) + 1;
  };
  const start = performance.now();
  for (let due = start; due < start + forMs; due += intervalMs) {
    await sleep(Math.max(0, due - performance.now()));
    sent.push(send(due));
  }
  await Promise.all(sent);
}
