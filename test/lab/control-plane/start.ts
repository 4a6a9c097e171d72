import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { removeTree } from "../processes/remove-tree.ts";
import { k3sImage } from "./binaries/k3s-image.ts";
import { provide, sources } from "./binaries/provide.ts";
import { cacheDirectory, chosenRelease, newest } from "./binaries/version.ts";
import { ControlPlane } from "./control-plane.ts";
import { readHandle } from "./handle.ts";
import { silentProgress, type Progress } from "./progress.ts";
import { Message, type NodePrograms, type Settings } from "./supervisor/settings.ts";

export interface StartOptions {
  /** Users without permissions, in addition to the administrator; `stranger` by default. */
  readonly users?: readonly string[];
  readonly progress?: Progress;
  /** The programs of a node, if the cluster has one (see `startNode`). */
  readonly node?: NodePrograms;
}

/**
 * A control plane of this process. Disposing it, or any end of this process, stops it and removes
 * its directory.
 */
export type OwnedControlPlane = ControlPlane & AsyncDisposable;

/**
 * Starts a real etcd, kube-apiserver and kube-controller-manager on loopback, in a temporary
 * directory: of the release that the environment chooses (`releaseVariable`).
 * @throws Error that lists every source of binaries when none works, or with the end of a server's
 * log when it does not start
 */
export async function startControlPlane(options: StartOptions = {}): Promise<OwnedControlPlane> {
  const progress = options.progress ?? silentProgress;
  const startedAt = performance.now();
  // A node needs the programs, not a container of them, and exists for the newest release only.
  const release = options.node === undefined ? chosenRelease() : newest;
  const context = { environment: process.env, release, cache: cacheDirectory(release), progress };
  const candidates =
    options.node === undefined ? sources : sources.filter((has) => has !== k3sImage);
  const provision = await provide(context, candidates);
  const settings: Settings = {
    provision,
    binariesMs: performance.now() - startedAt,
    users: [...(options.users ?? ["stranger"])],
    nodePrograms: options.node,
  };
  const supervisor = superviseDetached(settings);
  try {
    const directory = await readiness(supervisor, progress);
    const stop = (): Promise<void> => endSupervisor(supervisor, directory);
    return Object.assign(new ControlPlane(await readHandle(directory)), {
      [Symbol.asyncDispose]: stop,
    });
  } catch (error) {
    await endSupervisor(supervisor);
    throw error;
  }
}

/** Time in which a supervisor stops its servers and removes its files. */
const graceMs = 90_000;

type Supervisor = ReturnType<typeof superviseDetached>;

/** Starts the supervisor. The pipe to its standard input ends it together with this process. */
function superviseDetached(settings: Settings) {
  const owner = settings.nodePrograms === undefined ? "supervisor" : "../node/supervisor";
  const program = join(import.meta.dirname, owner, "main.ts");
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => {});
  return child;
}

async function readiness(supervisor: Supervisor, progress: Progress): Promise<string> {
  for await (const line of createInterface({ input: supervisor.stdout })) {
    const message = Message.parse(JSON.parse(line));
    switch (message.event) {
      case "note":
        progress.update(message.line);
        break;
      case "ready":
        return message.directory;
      case "failed":
        throw new Error(`cannot start the control plane: ${message.message}`);
    }
  }
  throw new Error("the supervisor of the control plane ended before the control plane was ready");
}

async function endSupervisor(supervisor: Supervisor, directory?: string): Promise<void> {
  const running = supervisor.exitCode === null && supervisor.signalCode === null;
  const ended = running ? once(supervisor, "exit") : undefined;
  supervisor.stdin.end();
  await Promise.race([ended, sleep(graceMs, undefined, { ref: false })]);
  // A killed supervisor leaves its process group and its directory, and one that hangs all.
  try {
    if (supervisor.pid !== undefined) process.kill(-supervisor.pid, "SIGKILL");
  } catch {
    // No process is left, as expected.
  }
  if (directory !== undefined) await removeTree(directory);
}
