import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
} from "node:fs";
import { join } from "node:path";

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

/** A directory in memory that only this user can read, until it is disposed. */
export class PrivateDirectory implements Disposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** @throws Error that says what to do when there is no place in memory */
  static create(places: readonly string[] = placesInMemory()): PrivateDirectory {
    const prefix = `vaultsync-run-${namespace()}-${process.pid}-${startOf("self") ?? "0"}-`;
    for (const place of places) {
      const path = known(() => mkdtempSync(join(place, prefix)));
      if (path !== undefined) return new PrivateDirectory(path);
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
    rmSync(this.path, { recursive: true, force: true });
  }
}
