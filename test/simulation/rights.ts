import type { Access } from "../lab/simulated/api-server/access.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { SYSTEM_NAMESPACE } from "./cast.ts";
import type { Replicas } from "./replicas.ts";

const LISTS: ReadonlySet<string> = new Set(["list", "watch"]);

/**
 * The permissions of the operator. They follow from its flags as in `deploy`: with `--namespaces`
 * the permissions of Roles that come and go, and with `--target-watch=off` no lists of Secrets.
 */
export class Rights {
  readonly #replicas: Replicas;
  readonly #report: (message: string) => void;
  readonly #denied = new Set<string>();
  /** Monotonic times at which the Roles of namespaces, or the file of namespaces, changed. */
  readonly #changedAt = new Map<string, number>();
  /** The content of the file of `--namespaces-file`, and what it has contained. */
  #listed: readonly string[] = [];
  readonly #everListed = new Set<string>();

  readonly #clock: Pick<Clock, "monotonic">;

  /** @param report called with a request that needs a permission which the flags exclude */
  constructor(
    replicas: Replicas,
    clock: Pick<Clock, "monotonic">,
    report: (message: string) => void,
  ) {
    this.#replicas = replicas;
    this.#clock = clock;
    this.#report = report;
  }

  /** Grants or withdraws the Roles in a namespace. They matter with `--namespaces` only. */
  set(namespace: string, granted: boolean): void {
    this.#changedAt.set(namespace, this.#clock.monotonic());
    if (granted) this.#denied.delete(namespace);
    else this.#denied.add(namespace);
  }

  /** Changes the file of `--namespaces-file`. */
  list(namespaces: readonly string[]): void {
    this.#listed = namespaces;
    for (const namespace of namespaces) this.#everListed.add(namespace);
    for (const namespace of this.#everListed)
      this.#changedAt.set(namespace, this.#clock.monotonic());
  }

  /**
   * Reports whether the operator may not have been able to watch a namespace during the last
   * `withinMs` before `at`.
   */
  wasUnwatched(namespace: string, withinMs: number, at = this.#clock.monotonic()): boolean {
    const { namespaces, namespacesFile } = this.#replicas.config;
    if (namespaces === undefined && namespacesFile === undefined) return false;
    return (
      !this.isServed(namespace) || at - (this.#changedAt.get(namespace) ?? -Infinity) < withinMs
    );
  }

  /** The text of the file of `--namespaces-file`. */
  get file(): string {
    return `${this.#listed.join("\n")}\n`;
  }

  /** Reports whether the flags name a namespace, whether or not the operator may work there. */
  isListed(namespace: string): boolean {
    const { namespaces, namespacesFile } = this.#replicas.config;
    const served = namespacesFile === undefined ? namespaces : this.#listed;
    return served === undefined || served.includes(namespace);
  }

  /** Reports whether the operator, with its current flags, works in a namespace. */
  isServed(namespace: string): boolean {
    const { namespaces, namespacesFile } = this.#replicas.config;
    const isForCluster = namespaces === undefined && namespacesFile === undefined;
    return isForCluster || (this.isListed(namespace) && !this.#denied.has(namespace));
  }

  /** Reports whether a user may send a request. */
  allows({ user, verb, resource, namespace }: Access): boolean {
    if (!user.startsWith("operator-")) return true;
    const { namespaces, namespacesFile, targetWatch } = this.#replicas.configOf(user);
    const served = namespacesFile === undefined ? namespaces : [...this.#everListed];
    if (targetWatch === "off" && resource.kind === SECRETS.kind && LISTS.has(verb)) {
      this.#report(`${user} lists Secrets in spite of --target-watch=off`);
      return false;
    }
    if (served === undefined || namespace === SYSTEM_NAMESPACE) return true;
    if (namespace !== undefined && served.includes(namespace)) return !this.#denied.has(namespace);
    this.#report(
      `${user} asked for ${verb} ${resource.plural} in ${namespace}, which is not one of --namespaces`,
    );
    return false;
  }
}
