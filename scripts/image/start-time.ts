import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { docker } from "../../test/lab/docker/docker.ts";
import { freePort } from "../../test/lab/control-plane/supervisor/free-port.ts";

const limitMs = 60_000;
const intervalMs = 10;

export interface StartTime {
  /** From the start of the container until the path responds with 200, in ms. */
  readonly healthy: number;
  readonly ready: number;
}

async function responds(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

/**
 * Waits until /healthz and then /readyz respond with 200. `start` is a time of `performance.now()`.
 * @throws Error after a minute
 */
export async function timeToReady(url: string, start: number): Promise<StartTime> {
  const until = async (path: string): Promise<number> => {
    while (!(await responds(`${url}${path}`))) {
      if (performance.now() - start > limitMs)
        throw new Error(`${url}${path} does not respond with 200 after a minute`);
      await sleep(intervalMs);
    }
    return performance.now() - start;
  };
  return { healthy: await until("/healthz"), ready: await until("/readyz") };
}

/**
 * Starts the vault of an image, in memory and with a read-only root file system, measures its start
 * and removes it.
 */
export async function measureVault(image: string): Promise<StartTime> {
  const name = `vaultsync-start-${randomBytes(4).toString("hex")}`;
  const address = `127.0.0.1:${await freePort()}`;
  const confined = [
    "--read-only",
    "--tmpfs=/tmp",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--network=host",
  ];
  const started = performance.now();
  await docker([
    "run",
    "--detach",
    "--name",
    name,
    ...confined,
    image,
    "vault",
    "serve",
    "--dev",
    "--listen",
    address,
  ]);
  try {
    return await timeToReady(`http://${address}`, started);
  } catch (error) {
    throw new Error(`the vault did not start: ${await docker(["logs", "--tail=5", name])}`, {
      cause: error,
    });
  } finally {
    await docker(["rm", "--force", "--volumes", name]);
  }
}
