import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";

/** File systems in memory: tmpfs and ramfs, as statfs(2) names them. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Returns what `read` returns; `undefined` if the system does not have it. */
function known<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Returns the directories in memory of this user, the private one first. */
function placesInMemory(): string[] {
  const places = [process.env["XDG_RUNTIME_DIR"] ?? "", "/dev/shm"].filter((path) => path !== "");
  return places.filter((path) => IN_MEMORY.has(known(() => statfsSync(path).type) ?? 0));
}

/** Returns the start time of a process, in ticks since the start of the system. */
function startOf(pid: number | "self"): string | undefined {
  const stat = known(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name of the program may contain spaces; the fields after it do not.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Returns the number of the namespace of process ids: another container has other processes. */
const namespace = (): string =>
  /\d+/u.exec(known(() => readlinkSync("/proc/self/ns/pid")) ?? "")?.[0] ?? "0";

const NAME = /^vaultsync-run-(\d+)-(\d+)-(\d+)-/u;

/** Removes the directories of this user whose process was killed. */
export function removeLeftovers(): void {
  for (const place of placesInMemory()) {
    for (const name of known(() => readdirSync(place)) ?? []) {
      const [, of, pid, start] = NAME.exec(name) ?? [];
      const path = join(place, name);
      if (pid === undefined || of !== namespace() || startOf(Number(pid)) === start) continue;
      const stat = known(() => lstatSync(path));
      if (stat?.isDirectory() !== true || stat.uid !== process.getuid?.()) continue;
      known(() => rmSync(path, { recursive: true, force: true }));
    }
  }
}

/**
 * Starts a process that removes a directory when every process that has the returned end of its
 * input has ended, also by SIGKILL. `undefined` without a shell: the next run removes the directory.
 */
function startKeeper(path: string): Writable | undefined {
  const keeper = spawn("sh", ["-c", 'read -r _; rm -rf -- "$1"', "sh", path], {
    cwd: "/",
    // Ctrl-C in a terminal does not reach it.
    detached: true,
    env: { PATH: process.env["PATH"] },
    stdio: ["pipe", "ignore", "ignore"],
  });
  for (const events of [keeper, keeper.stdin]) events.on("error", () => undefined);
  keeper.unref();
  return keeper.pid === undefined ? undefined : keeper.stdin;
}

/**
 * A directory in memory that only this user can read, until it is disposed, or until this process
 * and all that have `keeper` have ended.
 */
export class PrivateDirectory implements Disposable {
  readonly path: string;
  /** A stream for the standard streams of a process that uses the directory. */
  readonly keeper: Writable | undefined;

  private constructor(path: string, keeper: Writable | undefined) {
    this.path = path;
    this.keeper = keeper;
  }

  /** @throws Error that says what to do when there is no place in memory */
  static create(places: readonly string[] = placesInMemory()): PrivateDirectory {
    const prefix = `vaultsync-run-${namespace()}-${process.pid}-${startOf("self") ?? "0"}-`;
    for (const place of places) {
      const path = join(place, prefix + randomUUID());
      // Before the directory: a SIGKILL in between leaves neither.
      const keeper = startKeeper(path);
      const exists = known(() => {
        mkdirSync(path, { mode: 0o700 });
        return true;
      });
      if (exists) return new PrivateDirectory(path, keeper);
      keeper?.destroy();
    }
    throw new Error(
      "files need a directory in memory, and neither XDG_RUNTIME_DIR nor /dev/shm is one that you can write: mount a tmpfs at /dev/shm (a container: --tmpfs /dev/shm), or set XDG_RUNTIME_DIR to a directory on one",
    );
  }

  /** Removes everything in it. */
  clear(): void {
    for (const name of readdirSync(this.path))
      rmSync(join(this.path, name), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    this.keeper?.destroy();
    rmSync(this.path, { recursive: true, force: true });
  }
}
