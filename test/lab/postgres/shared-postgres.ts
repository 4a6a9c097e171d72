import { Client } from "pg";
import type { TestProject } from "vitest/node";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresCluster } from "./postgres-cluster.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { PostgreSqlContainer } from "@testcontainers/postgresql";
import { PullPolicy } from "testcontainers";
import { freePort } from "../control-plane/supervisor/free-port.ts";
import { dockerDaemon, hasBridge, provideImage, prepareTestcontainers } from "../docker/docker.ts";
import { messageOf } from "../../../src/lib/errors.ts";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Server for test databases: its URL, and the name of a template database with the schema only.
     */
    postgres: { readonly url: string; readonly template: string };
  }
}

async function withAdmin(url: string, ...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * Starts the server of all tests, in a container or else from npm packages, and says which. Returns
 * its URL.
 */
async function startServer(owned: AsyncDisposableStack): Promise<string> {
  const container = await PostgresContainer.start();
  if ("unavailable" in container) {
    process.stderr.write(
      `PostgreSQL from npm packages, not in a container: ${container.unavailable}\n`,
    );
    return owned.use(await PostgresCluster.start()).url();
  }
  process.stderr.write(`PostgreSQL in a container of ${container.image}\n`);
  return owned.use(container).url;
}

/**
 * Global set-up of Vitest: starts one PostgreSQL server for all tests of a run.
 * VAULTSYNC_TEST_POSTGRES=postgres://… selects an existing server instead; its user must be allowed
 * to create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using starting = new AsyncDisposableStack();
  const given = process.env["VAULTSYNC_TEST_POSTGRES"];
  const url = given ?? (await startServer(starting));
  const template = `vaultsync_template_${process.pid}`;
  // The database sorts by a language: code point order can only come from the tables.
  const language = "LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'";
  await withAdmin(
    url,
    `CREATE DATABASE ${template} TEMPLATE template0 ENCODING 'UTF8' ${language}`,
  );
  starting.defer(() => withAdmin(url, `DROP DATABASE ${template} WITH (FORCE)`));
  const templateUrl = new URL(url);
  templateUrl.pathname = `/${template}`;
  await (await openPostgresStore(templateUrl.href))[Symbol.asyncDispose]();
  project.provide("postgres", { url, template });
  const running = starting.move();
  return () => running.disposeAsync();
}

/** The release of the npm packages: both sources have the same server. */
const publishedImage = "postgres:18.4";
const pullMs = 60_000;
const database = "postgres";
const user = "test";

/**
 * As for the server from npm packages: the operating system survives the tests, and many files of
 * tests connect.
 */
const settings = ["-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"];

/** Removes the container when its standard input closes, however the tests end, even by SIGKILL. */
const guardScript = `read _; docker rm --force --volumes "$1"`;

/**
 * testcontainers publishes the port of the server; on the network of the machine it is one of that.
 */
class HostNetworkPostgres extends PostgreSqlContainer {
  constructor(image: string, port: number) {
    super(image);
    this.withNetworkMode("host")
      .withEnvironment({ PGPORT: String(port) })
      .withCommand(["postgres", ...settings, "-c", "listen_addresses=127.0.0.1"]);
    this.exposedPorts = [];
    this.hostConfig.PortBindings = {};
  }
}

/** A PostgreSQL server in a container. Disposing it removes the container. */
export class PostgresContainer implements AsyncDisposable {
  readonly url: string;
  readonly image: string;
  readonly #guard: ChildProcess;

  private constructor(url: string, image: string, guard: ChildProcess) {
    this.url = url;
    this.image = image;
    this.#guard = guard;
  }

  /**
   * Starts the image in VAULTSYNC_TEST_POSTGRES_IMAGE, or the published one. Returns why there is
   * no server where no daemon responds, the image cannot be pulled within a minute, or the server
   * does not start.
   */
  static async start(): Promise<PostgresContainer | { readonly unavailable: string }> {
    if ((await dockerDaemon()) === undefined) return { unavailable: "no Docker daemon responds" };
    const image = process.env["VAULTSYNC_TEST_POSTGRES_IMAGE"] ?? publishedImage;
    const failure = await provideImage(image, pullMs);
    if (failure !== undefined) return { unavailable: failure };
    await prepareTestcontainers();
    const name = `vaultsync-postgres-${randomBytes(6).toString("hex")}`;
    const guard = spawn("sh", ["-c", guardScript, "sh", name], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    try {
      return new PostgresContainer(await run(name, image), image, guard);
    } catch (error) {
      guard.stdin.end();
      return {
        unavailable: `${image} does not start: ${messageOf(error)}`,
      };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#guard, "exit");
    this.#guard.stdin?.end();
    await ended;
  }
}

/** Starts a container and returns the URL of its server. */
async function run(name: string, image: string): Promise<string> {
  const password = randomBytes(12).toString("hex");
  const published = await hasBridge();
  const port = await freePort();
  const container = published
    ? new PostgreSqlContainer(image).withCommand(["postgres", ...settings])
    : new HostNetworkPostgres(image, port);
  container
    .withName(name)
    .withDatabase(database)
    .withUsername(user)
    .withPassword(password)
    .withPullPolicy(PullPolicy.neverPull())
    .withAutoCleanup(false)
    .withStartupTimeout(60_000);
  const started = await container.start();
  return published
    ? started.getConnectionUri()
    : `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
}
