import { createServer } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../src/lib/error-code.ts";
import type { OperatorProcess } from "../../test/lab/real/processes/operator-process.ts";
import type {
  ProcessOptions,
  VaultsyncProcess,
} from "../../test/lab/real/processes/vaultsync-process.ts";

/** Time in ms within which both programs stop after SIGTERM. */
const graceMs = 20_000;

/**
 * Returns the options of a child process that stops when the demo ends in any way, even by `kill
 * -9`. Ctrl-C reaches the demo only: the demo stops everything in order.
 */
export function stoppingWithParent(logFile: string): ProcessOptions {
  const stopWithParent = new URL("stop-with-parent.ts", import.meta.url).href;
  return { nodeArgs: ["--import", stopWithParent], detached: true, holdInput: true, logFile };
}

/** Stops a child process, with SIGKILL when SIGTERM takes too long. */
export async function stopProcess(child: VaultsyncProcess): Promise<void> {
  const kill = setTimeout(() => void child.stop("SIGKILL"), graceMs);
  await child.stop("SIGTERM");
  clearTimeout(kill);
}

/** Rejects when the port is in use. @throws Error that says what to do */
export async function checkPortIsFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    const listening = once(probe, "listening");
    probe.listen(port, "127.0.0.1");
    await listening;
  } catch (error) {
    const inUse = codeOf(error) === "EADDRINUSE";
    throw new Error(
      `port ${port} of 127.0.0.1, the vault's, ${inUse ? "is in use" : "is not available"}: stop the program that uses it, ` +
        "or choose another port: npm run demo -- --vault-port 8201",
      { cause: error },
    );
  }
  probe.close();
  await once(probe, "close");
}

/** Resolves when /readyz responds with 200. */
export async function operatorReady(operator: OperatorProcess, signal: AbortSignal): Promise<void> {
  while ((await operator.page("/readyz")).status !== 200) await sleep(50, undefined, { signal });
}
