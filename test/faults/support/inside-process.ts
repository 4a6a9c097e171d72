// Loaded into an operator process before the program (process-faults.ts).
import dns from "node:dns";
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { isIP } from "node:net";
import timers from "node:timers/promises";
import type { Machine } from "./process-faults.ts";

const file = process.env["VAULTSYNC_TEST_MACHINE"] ?? "";
const machine = (): Machine => JSON.parse(readFileSync(file, "utf8")) as Machine;

type Callback = (
  error: NodeJS.ErrnoException | null,
  addresses: readonly { address: string; family: number }[],
) => void;
const systemLookup = dns.lookup;

/** The form of `lookup` that returns all addresses. The operator uses no other form. */
function lookup(hostname: string, options: object, callback: Callback): void {
  const known = machine().hosts?.[hostname];
  if (known === undefined) {
    systemLookup(hostname, options, callback as never);
  } else if (typeof known !== "string") {
    process.nextTick(
      callback,
      null,
      known.map((address) => ({ address, family: isIP(address) })),
    );
  } else if (known !== "silence") {
    process.nextTick(
      callback,
      Object.assign(new Error(`getaddrinfo ${known} ${hostname}`), { code: known }),
      [],
    );
  }
}

/** Makes timers and the monotonic clock run faster. Waits for sockets remain real. */
function accelerate(factor: number): void {
  const { setTimeout: systemTimer } = globalThis;
  const { setTimeout: systemDelay } = timers;
  const systemMonotonic = performance.now.bind(performance);
  performance.now = () => systemMonotonic() * factor;
  globalThis.setTimeout = Object.assign(
    (fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      systemTimer(fire, ms / factor, ...args),
    systemTimer,
  );
  Object.assign(timers, {
    setTimeout: (ms: number, ...others: unknown[]) =>
      Reflect.apply(systemDelay, timers, [ms / factor, ...others]),
  });
}
const { clockSpeed = 1 } = machine();
if (clockSpeed !== 1) accelerate(clockSpeed);

Object.assign(dns, { lookup });
syncBuiltinESMExports();

const systemNow = Date.now;
let offsetMs = 0;
Date.now = () => systemNow() + offsetMs;

process.on("SIGUSR2", () => {
  const { clockOffsetMs = 0, stallMs = 0, unhandledRejection = false } = machine();
  offsetMs = clockOffsetMs;
  if (stallMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs);
  if (unhandledRejection) void Promise.reject(new Error("a promise without a handler"));
});
