import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { PostgreSqlContainer } from "@testcontainers/postgresql";
import { PullPolicy } from "testcontainers";
import { freePort } from "../control-plane/supervisor/free-port.ts";
import { dockerDaemon, hasBridge, provideImage } from "../docker/docker.ts";
import { prepareTestcontainers } from "../docker/prepare-testcontainers.ts";

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
        unavailable: `${image} does not start: ${error instanceof Error ? error.message : String(error)}`,
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
