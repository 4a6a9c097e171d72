import { once } from "node:events";
import { logInAs } from "./attack/scene.ts";
import type { Attack } from "./attack/attack-case.ts";
import type { AttackMessage, Outcomes } from "./attack/attacker.ts";
import { cases } from "./attack/cases.ts";

/**
 * Runs the attacks of scripts/bench/attack.ts in a separate process. scripts/bench/attack.ts starts it with the URL
 * of the server and the names of cases as arguments.
 */
const [url = "", ...names] = process.argv.slice(2);
process.once("disconnect", () => process.exit());
// Ctrl-C in a terminal reaches this process as well; scripts/bench/attack.ts ends it.
process.on("SIGINT", () => undefined);

const attacks = new Map<string, Attack>();
for (const [index, attackCase] of cases.entries()) {
  if (names.includes(attackCase.name))
    attacks.set(attackCase.name, await attackCase.prepare(logInAs(url, attackCase.name, index)));
}
process.send?.("ready");

const outcomes: Record<string, Record<string, number>> = {};

/** Runs all attacks until `stop` is received; outcomes count from `count` on. */
async function run(isLast: boolean): Promise<void> {
  const stop = new AbortController();
  const measured = Promise.withResolvers<void>();
  const running = [...attacks].map(([name, attack]) => {
    const count = (outcome: string, by = 1): void => {
      const own = (outcomes[name] ??= {});
      own[outcome] = (own[outcome] ?? 0) + by;
    };
    return attack.run({ signal: stop.signal, measured: measured.promise, isLast, count });
  });
  await next("count");
  for (const name of Object.keys(outcomes)) delete outcomes[name];
  measured.resolve();
  await next("stop");
  stop.abort();
  await Promise.all(running);
  process.send?.(outcomes satisfies Outcomes);
}

async function next(expected?: AttackMessage["kind"]): Promise<AttackMessage> {
  const [message] = (await once(process, "message")) as [AttackMessage];
  if (expected !== undefined && message.kind !== expected)
    throw new Error(`expected ${expected}, received ${message.kind}`);
  return message;
}

for (;;) {
  const message = await next();
  if (message.kind === "run") await run(message.isLast);
  else {
    for (const { arm } of attacks.values()) await arm?.();
    process.send?.("armed");
  }
}
