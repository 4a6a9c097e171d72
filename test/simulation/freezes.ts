import { FREEZE_ANNOTATION, FREEZE_CONFIG_MAP } from "../../src/operator/api/names.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES as KUBE_NAMESPACES,
} from "../../src/operator/kube/resource.ts";
import type { Change } from "../lab/simulated/api-server/collection.ts";
import { SYSTEM_NAMESPACE } from "./cast.ts";
import type { NamespaceSelector } from "./selectors.ts";
import type { World } from "./world.ts";

/** A step that freezes all or some namespaces, or one, or ends that. */
export type FreezeCommand =
  | {
      readonly type: "freeze";
      /** Time until its end; one that cannot be parsed has none. */
      readonly minutes: number | "invalid";
      readonly selector?: NamespaceSelector;
    }
  | { readonly type: "unfreeze" }
  /** `null` ends the freeze. */
  | {
      readonly type: "freeze-namespace";
      readonly namespace: string;
      readonly minutes: number | "invalid" | null;
    };

const configMap = { namespace: SYSTEM_NAMESPACE, name: FREEZE_CONFIG_MAP };
const DAY_MS = 24 * 3_600_000;

/** Carries out a command. @throws StatusError when the API server rejects it */
export function performFreeze({ server, clock }: World, command: FreezeCommand): void {
  const end = (minutes: number | "invalid"): string =>
    minutes === "invalid" ? "soon" : new Date(clock.now() + minutes * 60_000).toISOString();
  if (command.type === "unfreeze") return server.delete(CONFIG_MAPS, configMap);
  if (command.type === "freeze-namespace") {
    const { namespace, minutes } = command;
    const annotations = { [FREEZE_ANNOTATION]: minutes === null ? null : end(minutes) };
    server.patch(KUBE_NAMESPACES, { name: namespace }, { metadata: { annotations } });
    return;
  }
  const { minutes, selector } = command;
  const data = {
    until: end(minutes),
    reason: "holidays",
    ...(selector !== undefined && { namespaceSelector: JSON.stringify(selector) }),
  };
  const before = server.find(CONFIG_MAPS, configMap);
  if (before) server.replace(CONFIG_MAPS, { ...before, data });
  else
    server.create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: configMap, data });
}

/** A freeze, and the time for which it was in place, in monotonic milliseconds. */
interface Period {
  readonly from: number;
  to: number;
  /** In milliseconds since the epoch. */
  readonly until: number;
  readonly isValid: boolean;
  readonly selector?: NamespaceSelector;
  /** `undefined`: the ConfigMap. */
  readonly namespace: string | undefined;
}

/** All freezes of a world, and when they were in place. */
export class Freezes {
  readonly #world: World;
  readonly #periods: Period[] = [];

  constructor(world: World) {
    this.#world = world;
    world.server.onCommit((change) => this.#remember(change));
  }

  /** Returns the freezes that were in place at any time since then, in monotonic milliseconds. */
  since(namespace: string, at: number): readonly Period[] {
    return this.#periods.filter(
      (one) => one.to >= at && (one.namespace === undefined || one.namespace === namespace),
    );
  }

  /**
   * Reports whether a replica may take a namespace for frozen, or may have done so within `lagMs`.
   */
  mayHold(namespace: string, lagMs: number): boolean {
    const { clock, greatestSkewMs } = this.#world;
    const delay = lagMs + this.#world.watchDelayMs();
    return this.since(namespace, clock.monotonic() - delay).some(
      ({ until }) => until >= clock.now() - greatestSkewMs - lagMs,
    );
  }

  /** A freeze is in place and has not ended. */
  get isHolding(): boolean {
    const { clock } = this.#world;
    return this.#periods.some(({ to, until }) => to === Infinity && until > clock.now());
  }

  /** Ends the freezes that cannot be parsed: their users correct them. */
  correct(): void {
    for (const { to, isValid, namespace } of this.#periods) {
      if (to < Infinity || isValid) continue;
      performFreeze(
        this.#world,
        namespace === undefined
          ? { type: "unfreeze" }
          : { type: "freeze-namespace", namespace, minutes: null },
      );
    }
  }

  #remember({ resource, before, after }: Change): void {
    const { namespace, name } = (after ?? before)!.metadata;
    if (resource.kind === KUBE_NAMESPACES.kind) {
      const [was, is] = [before, after].map(
        (one) => one?.metadata.annotations?.[FREEZE_ANNOTATION],
      );
      if (was !== is) this.#replace(name, is === undefined ? undefined : { until: is });
    }
    const isFreeze = namespace === SYSTEM_NAMESPACE && name === FREEZE_CONFIG_MAP;
    if (resource.kind === CONFIG_MAPS.kind && isFreeze) this.#replace(undefined, dataOf(after));
  }

  #replace(namespace: string | undefined, now: Readonly<Record<string, string>> | undefined): void {
    const { clock } = this.#world;
    for (const one of this.#periods)
      if (one.namespace === namespace) one.to = Math.min(one.to, clock.monotonic());
    if (now === undefined) return;
    const end = Date.parse(now["until"] ?? "");
    const isValid = !Number.isNaN(end);
    const selector = now["namespaceSelector"];
    this.#periods.push({
      from: clock.monotonic(),
      to: Infinity,
      until: isValid ? end : clock.now() + DAY_MS,
      isValid,
      namespace,
      ...(isValid &&
        selector !== undefined && { selector: JSON.parse(selector) as NamespaceSelector }),
    });
  }
}

const dataOf = (object: KubeObject | undefined): Record<string, string> | undefined =>
  object && (object["data"] as Record<string, string>);
