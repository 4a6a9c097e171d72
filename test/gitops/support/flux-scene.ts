import { inject } from "vitest";
import { z } from "zod";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import type { AuditEvent } from "../../lab/control-plane/audit.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { startFlux, userOf } from "../../lab/gitops/flux.ts";
import { GitRepository } from "../../lab/gitops/git-repository.ts";
import { conditions } from "../../lab/real/resources.ts";
import { World } from "../../lab/real/world.ts";

const kustomization = z.looseObject({
  status: z
    .looseObject({
      lastAppliedRevision: z.string().optional(),
      lastAttemptedRevision: z.string().optional(),
      conditions,
    })
    .default({ conditions: [] }),
});

/** The report of Flux about a Kustomization. */
interface Report {
  readonly ready: string | undefined;
  readonly reason: string | undefined;
  readonly message: string;
  /** Hashes of commits. */
  readonly applied: string | undefined;
  readonly attempted: string | undefined;
}

/** The time between two comparisons of Flux. */
const INTERVAL = "2s";

/** Flux next to a control plane, the Git repository that it follows, and the world of its objects. */
export class FluxScene implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly repository: GitRepository;
  readonly world: World;
  readonly #stack: AsyncDisposableStack;

  private constructor(
    parts: Pick<FluxScene, "plane" | "repository" | "world">,
    stack: AsyncDisposableStack,
  ) {
    this.plane = parts.plane;
    this.repository = parts.repository;
    this.world = parts.world;
    this.#stack = stack;
  }

  /** @param plane a control plane with the CRDs */
  static async create(plane: ControlPlane): Promise<FluxScene> {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await World.create({ plane }));
    stack.use(await startFlux(plane, inject("gitOpsPrograms").flux));
    const repository = stack.use(await GitRepository.create());
    await plane.apply([source(repository.url)], world.namespace);
    return new FluxScene({ plane, repository, world }, stack.move());
  }

  /**
   * Commits objects, each in a file of the folder `app`, and no other files, and returns the hash
   * of the commit.
   */
  commit(...objects: readonly object[]): Promise<string> {
    const files = objects.map((object, at) => [`app/${at}.yaml`, JSON.stringify(object)]);
    return this.repository.commit("change", Object.fromEntries(files));
  }

  /** Lets Flux apply a folder of the repository to the namespace of the world. */
  async follow(name: string, path: string, more: object = {}): Promise<void> {
    const spec = {
      interval: INTERVAL,
      path,
      prune: true,
      timeout: "1m",
      targetNamespace: this.world.namespace,
      sourceRef: { kind: "GitRepository", name: "source" },
      ...more,
    };
    const [apiVersion, kind] = ["kustomize.toolkit.fluxcd.io/v1", "Kustomization"];
    await this.world.apply({ apiVersion, kind, metadata: { name }, spec });
  }

  /** Waits until Flux reports this about a Kustomization. */
  async until(
    name: string,
    test: (report: Report) => boolean,
    namespace = this.world.namespace,
  ): Promise<Report> {
    let last: Report | undefined;
    const found = async (): Promise<Report | undefined> => {
      last = await this.#report(name, namespace);
      return test(last) ? last : undefined;
    };
    return waitUntil(`Kustomization ${name}`, found, 120_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(last)}`, { cause: error });
    });
  }

  /** Waits until Flux has applied a commit and all that it waits for is healthy. */
  async applied(name: string, commit: string): Promise<void> {
    await this.until(name, ({ ready, applied }) => ready === "True" && applied === commit);
  }

  async #report(name: string, namespace: string): Promise<Report> {
    const path = `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/${namespace}/kustomizations/${name}`;
    const { body } = await this.plane.request("GET", path);
    const { status } = kustomization.parse(JSON.parse(body));
    const ready = status.conditions.find(({ type }) => type === "Ready");
    return {
      ready: ready?.status,
      reason: ready?.reason,
      message: ready?.message ?? "",
      applied: hashOf(status.lastAppliedRevision),
      attempted: hashOf(status.lastAttemptedRevision),
    };
  }

  /**
   * Returns the requests of Flux for objects of its repository since a mark of the audit log: those
   * that only compare, and those that write.
   */
  async requestsOfFlux(since: number): Promise<{ compared: AuditEvent[]; written: AuditEvent[] }> {
    const events = (await this.plane.auditEvents({ since })).filter(
      ({ user, verb, objectRef }) =>
        user.username === userOf("kustomize-controller") &&
        ["create", "update", "patch", "delete"].includes(verb) &&
        objectRef?.apiGroup?.endsWith(".fluxcd.io") !== true &&
        objectRef?.resource !== "events",
    );
    return {
      compared: events.filter(isDryRun),
      written: events.filter((event) => !isDryRun(event)),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const isDryRun = ({ requestURI }: AuditEvent): boolean => requestURI.includes("dryRun=All");

/** A GitRepository of Flux named `source`. */
const source = (url: string): object => ({
  apiVersion: "source.toolkit.fluxcd.io/v1",
  kind: "GitRepository",
  metadata: { name: "source" },
  spec: { interval: INTERVAL, url, ref: { branch: "main" } },
});

/** Returns the hash in a revision of Flux, such as `main@sha1:<hash>`. */
const hashOf = (revision: string | undefined): string | undefined => revision?.split(":").at(-1);
