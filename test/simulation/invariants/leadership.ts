import { type KubeObject, LEASES } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../support/kube/in-memory/collection.ts";
import { SYSTEM_NAMESPACE, Violation, type World } from "../world.ts";

/** Time for which the last holder of the Lease may write, in milliseconds: the duration of the Lease. */
const LEASE_MS = 15_000;

/** Follows who holds the Lease. */
export class Leadership {
  readonly #world: World;
  #holder = "";
  /** By the name of the replica. */
  readonly #former = new Map<string, { readonly mayWriteUntil: number; readonly wasDeleted: boolean }>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes in a change of any object. */
  remember({ resource, before, after }: Change): void {
    if (resource.kind !== LEASES.kind || !isLeaseOfLeader((after ?? before)!)) return;
    const { holderIdentity = "" } = (after?.["spec"] ?? {}) as { holderIdentity?: string };
    if (holderIdentity === this.#holder) return;
    const now = this.#world.clock.monotonic();
    if (this.#holder !== "") this.#former.set(this.#holder, { mayWriteUntil: now + LEASE_MS, wasDeleted: !after });
    this.#holder = holderIdentity;
  }

  /** Only the holder of the Lease writes, or a former one while there is none. A user who deletes the Lease makes two leaders (I7). */
  check(name: string, user: string): void {
    const former = this.#former.get(user);
    const mayStillWrite = former && this.#world.clock.monotonic() < former.mayWriteUntil;
    if (user === this.#holder || (mayStillWrite && (this.#holder === "" || former.wasDeleted))) return;
    throw new Violation("I7", `${user} wrote ${name} while ${this.#holder || "no replica"} held the Lease`);
  }
}

const isLeaseOfLeader = ({ metadata }: KubeObject): boolean =>
  metadata.namespace === SYSTEM_NAMESPACE && metadata.name === "vaultsync";
