import { GenericContainer, PullPolicy, Wait, type StartedTestContainer } from "testcontainers";
import { z } from "zod";
import { containerLog, docker } from "../../lab/docker/docker.ts";

type BindMount = Parameters<GenericContainer["withBindMounts"]>[0][number];

/** The permissions and resources of a container, as a pod names them. */
export interface Confinement {
  readonly image: string;
  readonly command: readonly string[];
  /** `user:group`; omitted: the image's. */
  readonly user?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly mounts?: readonly BindMount[];
  readonly memoryBytes?: number;
  /** Directories with a memory file system. */
  readonly memoryFileSystems?: readonly string[];
}

const State = z.object({ ExitCode: z.int() });
const units: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** testcontainers has no setter for these two settings of Docker. */
class ReadOnlyContainer extends GenericContainer {
  constructor(image: string, memoryBytes: number | undefined) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    if (memoryBytes !== undefined) this.hostConfig.Memory = memoryBytes;
  }
}

/**
 * A container with a read-only root file system, no capability and no new privileges, on the
 * network of the machine. Disposing it removes it.
 */
export class ConfinedContainer implements AsyncDisposable {
  readonly #container: StartedTestContainer;
  readonly #mountPoints: readonly string[];

  private constructor(container: StartedTestContainer, mountPoints: readonly string[]) {
    this.#container = container;
    this.#mountPoints = mountPoints;
  }

  /** Starts it and does not wait until it is ready. */
  static async start(confinement: Confinement): Promise<ConfinedContainer> {
    const {
      image,
      command,
      user,
      environment = {},
      mounts = [],
      memoryBytes,
      memoryFileSystems = [],
    } = confinement;
    const container = new ReadOnlyContainer(image, memoryBytes)
      .withPullPolicy(PullPolicy.neverPull())
      // The container that would remove others after a kill -9 has to be pulled; these are removed
      // when they are disposed.
      .withAutoCleanup(false)
      .withAutoRemove(false)
      .withNetworkMode("host")
      .withDroppedCapabilities("ALL")
      .withSecurityOpt("no-new-privileges")
      .withCommand([...command])
      .withEnvironment({ ...environment })
      .withBindMounts([...mounts])
      .withTmpFs(Object.fromEntries(memoryFileSystems.map((path) => [path, "rw"])))
      .withWaitStrategy(Wait.forLogMessage(/./u));
    if (user !== undefined) container.withUser(user);
    const mountPoints = [...mounts.map(({ target }) => target), ...memoryFileSystems];
    return new ConfinedContainer(await container.start(), mountPoints);
  }

  get #id(): string {
    return this.#container.getId();
  }

  /** Returns everything that it has written to standard output and standard error. */
  log(): Promise<string> {
    return containerLog(this.#id);
  }

  /** Returns the files that differ from the image, except the mount points that Docker creates. */
  async changedFiles(): Promise<string[]> {
    const lines = (await docker(["diff", this.#id])).split("\n").filter((line) => line !== "");
    return lines.filter(
      (line) => !this.#mountPoints.some((point) => `${point}/`.startsWith(`${line.slice(2)}/`)),
    );
  }

  /**
   * Returns the memory in use in bytes, without the cache of files: what Kubernetes compares with
   * the limit.
   */
  async memory(): Promise<number> {
    const usage = await docker(["stats", "--no-stream", "--format", "{{.MemUsage}}", this.#id]);
    const [, amount = "", unit = ""] = /^([\d.]+)(\w+)/u.exec(usage) ?? [];
    return Number(amount) * (units[unit] ?? Number.NaN);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. Returns the exit code. */
  async stop(graceMs: number): Promise<number> {
    await this.#container.stop({ timeout: graceMs, remove: false });
    const { ExitCode } = State.parse(
      JSON.parse(await docker(["inspect", "--format", "{{json .State}}", this.#id])),
    );
    return ExitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await docker(["rm", "--force", "--volumes", this.#id]);
  }
}
