import type { ReconcilerParts } from "../outcome/parts.ts";
import { findCondition, readyIn } from "../../api/conditions.ts";
import { connectionKindOf } from "../../api/connection-key.ts";
import { type ConnectionKind, connectionKinds } from "../../api/kinds.ts";
import {
  type ConnectionSpec,
  connectionStatus,
  type ConnectionStatus,
} from "../../api/vault-connection.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../api/names.ts";
import { isReason } from "../../api/reasons.ts";
import type { Condition } from "../../api/status.ts";
import { type KubeObject, namespaceOf } from "../../kube/resource.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import { GONE, type ReconcileResult } from "../../runtime/controller.ts";
import type { Staleness } from "../../sync/staleness.ts";
import { connectionId, vaultId } from "../../sync/target.ts";
import type { CredentialSource } from "../../vault-client/auth/credentials.ts";
import type { Connection, LoginPause, References } from "../../vault-client/connection.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import { type CaBundle, readCaBundle } from "./ca-bundle.ts";
import { credentialsDueInMs } from "../../connection/credentials-wait.ts";
import { factsOf } from "../../connection/connection-facts.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import type { WantedConnection } from "./connection-state.ts";
import type { ConnectionCallbacks } from "./connection-users.ts";
import { type ConnectionSettings, settingsOf } from "../../connection/connection-settings.ts";
import { nextConnectionStatus } from "../../connection/connection-status.ts";
import { credentialsName } from "../../connection/connection-facts.ts";
import { credentialSource } from "./credential-source.ts";
import { parseConnection } from "../../connection/parse-connection.ts";
import { trustOf } from "../../api/received-secrets.ts";
import { recordConnectionEvents, recordUnconfirmed } from "./record-connection-events.ts";

/** Everything that a client is opened with. */
export interface ConnectionRequest {
  readonly key: string;
  readonly settings: ConnectionSettings;
  readonly credentials: CredentialSource;
  /** Pause after rejected logins that the status shows. */
  readonly loginPause: LoginPause | undefined;
  /** PEM bundle trusted instead of the public authorities. */
  readonly ca: string | undefined;
}

/** Opens the client of one vault. Implemented by the composition root. */
export type ConnectionFactory = (
  request: ConnectionRequest,
  callbacks: ConnectionCallbacks,
) => Connection;

export interface ConnectionReconcilerOptions extends ReconcilerParts {
  /** The connections of both kinds. */
  readonly resources: ReadonlyStore<KubeObject>;
  /**
   * The operator's namespace: it has the Secrets and certificates of each ClusterVaultConnection.
   */
  readonly namespace: string;
  /** Audiences of ServiceAccounts' tokens in addition to the address of each vault. */
  readonly tokenAudiences: readonly string[];
  readonly connections: ConnectionRegistry;
  readonly connectionFactory: ConnectionFactory;
  /** Returns the number of resources that refer to a connection. */
  readonly usersOf: (key: string) => number;
  /** Returns the names that these resources refer to. */
  readonly referencesOf: (key: string) => References;
}

/**
 * Times in milliseconds after which a CA bundle is read again, while the connection works and while
 * it does not.
 */
const CA_RELOAD_MS = { healthy: 300_000, failing: 30_000 };

/**
 * Keeps one client open for each connection of either kind, according to its spec, and writes its
 * status.
 */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #statuses: Readonly<Record<ConnectionKind, StatusWriter>>;
  readonly #credentials = new CredentialsIndex();
  /** CA bundles in use, by connection. */
  readonly #bundles = new Map<string, string>();

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    const { api, clock, logger } = options;
    const { VaultConnection, ClusterVaultConnection } = connectionKinds;
    this.#statuses = {
      VaultConnection: new StatusWriter(api, VaultConnection, clock, logger),
      ClusterVaultConnection: new StatusWriter(api, ClusterVaultConnection, clock, logger),
    };
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { resources, connections, referencesOf } = this.#options;
    const object = resources.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#statusesOf(key).forget(key);
      this.#credentials.set(key, undefined);
      this.#bundles.delete(key);
      await connections.close(key);
      return GONE;
    }
    const problem = await this.#open(key, object, signal);
    const client = connections.client(key);
    client?.setReferences(referencesOf(key));
    connections.pruneRemovals(key);
    // The patch changed the object: its watch event requeues the connection.
    if (await this.#confirmRemovals(key, object, signal)) return { outcome: "done" };
    const dueInMs = this.#credentialsDueInMs(key, object);
    const notReady = (await this.#writeStatus(key, object, problem, signal)) === "False";
    const atMostMs = Math.min(this.#reloadMs(key, problem), dueInMs);
    return {
      outcome: "done",
      notReady,
      ...(atMostMs < Infinity && { wait: { for: "time", atMostMs } }),
    };
  }

  /** Returns the time in milliseconds after which the CA bundle is read again, if there is one. */
  #reloadMs(key: string, problem: string | undefined): number {
    if (problem === undefined && !this.#bundles.has(key)) return Infinity;
    const isHealthy = this.#options.connections.client(key)?.health.state === "healthy";
    return isHealthy ? CA_RELOAD_MS.healthy : CA_RELOAD_MS.failing;
  }

  /**
   * Returns the time in milliseconds after which a connection without credentials becomes Stalled;
   * Infinity if it is, or has them.
   */
  #credentialsDueInMs(key: string, object: KubeObject): number {
    const { connections } = this.#options;
    const connection = connections.client(key);
    if (connection === undefined) return Infinity;
    const { generation = 0 } = object.metadata;
    const openMs = connections.openMs(key);
    const before = this.#status(key, object);
    return credentialsDueInMs(before, { connection, generation, openMs }) || Infinity;
  }

  /**
   * Returns the delay after which to reconcile a resource whose status another process changed; see
   * StatusWriter.
   */
  statusRepairDelay(key: string, before: KubeObject, now: KubeObject): number | undefined {
    return this.#statusesOf(key).repairDelay(key, before, now);
  }

  /** Makes the connections whose credentials are in this Secret use them now. */
  credentialsChanged(secret: string): void {
    for (const key of this.#credentials.connectionsOf(secret))
      this.#options.connections.client(key)?.credentialsChanged();
  }

  /**
   * Makes the removals that are held, if a user confirmed exactly this number of them. Removes the
   * annotation in any case: it must not confirm another loss of as many names later.
   */
  async #confirmRemovals(key: string, object: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { api, connections, events } = this.#options;
    const number = object.metadata.annotations?.[CONFIRM_REMOVALS_ANNOTATION];
    const state = connections.get(key);
    if (
      number === undefined ||
      state.state !== "open" ||
      connections.client(key)?.snapshot === undefined
    )
      return false;
    const { removals } = state;
    if (removals.isResuming) return false;
    const { held } = removals;
    // The annotation is removed first: otherwise it could confirm other removals later. The patch
    // names the version of the object: that excludes a concurrent change.
    const { namespace, name, uid, resourceVersion } = object.metadata;
    const patch = { metadata: { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: null } } };
    await api.patch(
      connectionKinds[connectionKindOf(key)],
      { namespace, name, uid, resourceVersion },
      patch,
      signal,
    );
    if (held > 0 && number === `${held}` && removals.held === held)
      connections.confirmRemovals(key);
    else recordUnconfirmed(events, object, removals.held);
    return true;
  }

  /**
   * Opens the connection that the spec describes. If that is not possible, keeps an open one and
   * returns the reason.
   */
  async #open(key: string, object: KubeObject, signal: AbortSignal): Promise<string | undefined> {
    const { connections } = this.#options;
    const parsed = parseConnection(object);
    const secret = parsed.ok ? credentialsName(parsed.spec) : undefined;
    this.#credentials.set(key, secret && `${this.#namespaceOf(key)}/${secret}`);
    const status = this.#status(key, object);
    const stale = publishedStaleness(object, status);
    if (!parsed.ok) {
      const message = parsed.problem;
      await connections.markInvalid(key, { reason: "InvalidSpec", message }, stale);
      return undefined;
    }
    const { spec, fingerprint } = parsed;
    const wanted = {
      ...wantedConnection(object, spec, fingerprint),
      stale,
      wasHeld: findCondition(status.conditions, "RemovalsHeld") !== undefined,
    };
    const bundle = await this.#readBundle(key, spec, signal);
    if ("problem" in bundle) {
      const message = bundle.problem;
      if (!connections.isOpen(key, wanted.fingerprint))
        await connections.markInvalid(key, { reason: "InvalidCaBundle", message }, stale);
      return message;
    }
    const { pem } = bundle;
    const request = this.#request(key, object, parsed, pem);
    const opened = await connections.open(key, wanted, (callbacks) =>
      this.#options.connectionFactory(request, callbacks),
    );
    if (!opened && pem !== this.#bundles.get(key)) connections.client(key)?.updateCa(pem);
    if (pem !== undefined) this.#bundles.set(key, pem);
    else this.#bundles.delete(key);
    return undefined;
  }

  async #readBundle(
    key: string,
    { caBundleRef }: ConnectionSpec,
    signal: AbortSignal,
  ): Promise<CaBundle> {
    if (caBundleRef === undefined) return { pem: undefined };
    return readCaBundle(this.#options.api, this.#namespaceOf(key), caBundleRef, signal);
  }

  #request(
    key: string,
    object: KubeObject,
    { spec, fingerprint }: { readonly spec: ConnectionSpec; readonly fingerprint: string },
    ca: string | undefined,
  ): ConnectionRequest {
    const { loginPausedUntil, rejectedCredentials } = this.#status(key, object);
    const until = Date.parse(loginPausedUntil ?? "");
    const loginPause =
      Number.isNaN(until) || rejectedCredentials === undefined
        ? undefined
        : { until, credentials: rejectedCredentials };
    const { api, tokenAudiences: audiences } = this.#options;
    const namespace = this.#namespaceOf(key);
    const credentials = credentialSource(spec, { api, namespace, audiences, fingerprint });
    return { key, settings: settingsOf(spec), credentials, loginPause, ca };
  }

  /**
   * Returns the namespace of the Secrets and certificates of a connection. No field of the
   * connection can choose it.
   */
  #namespaceOf(key: string): string {
    return connectionKindOf(key) === "ClusterVaultConnection"
      ? this.#options.namespace
      : namespaceOf(key);
  }

  #statusesOf(key: string): StatusWriter {
    return this.#statuses[connectionKindOf(key)];
  }

  #status(key: string, object: KubeObject): ConnectionStatus {
    return connectionStatus.safeParse(this.#statusesOf(key).current(key, object) ?? {}).data ?? {};
  }

  /** Returns the status of the condition Ready. */
  async #writeStatus(
    key: string,
    object: KubeObject,
    problem: string | undefined,
    signal: AbortSignal,
  ): Promise<Condition["status"] | undefined> {
    const { clock, connections, usersOf, events } = this.#options;
    const state = connections.get(key);
    if (state.state === "absent" || state.state === "opening") return undefined;
    const before = this.#status(key, object);
    const facts = {
      problem,
      generation: object.metadata.generation ?? 0,
      users: usersOf(key),
      openMs: connections.openMs(key),
      now: clock.now(),
    };
    const status = nextConnectionStatus(before, state, facts);
    await this.#statusesOf(key).write(key, object, status, signal);
    recordConnectionEvents(events, object, before, status);
    return readyIn(status)?.status;
  }
}

function wantedConnection(
  { metadata }: KubeObject,
  spec: ConnectionSpec,
  fingerprint: string,
): Omit<WantedConnection, "stale" | "wasHeld"> {
  const { url, refreshIntervalMs } = settingsOf(spec);
  const vault = vaultId(url, spec.email);
  return {
    fingerprint,
    id: connectionId(metadata.uid ?? "", vault, spec.scope),
    vault,
    facts: factsOf(spec),
    ...trustOf(spec),
    intervalMs: refreshIntervalMs,
  };
}

/**
 * Returns the staleness that an earlier process published for this spec: a restart in an outage
 * changes no status.
 */
function publishedStaleness(
  { metadata }: KubeObject,
  { conditions, staleSince }: ConnectionStatus,
): Staleness | undefined {
  const condition = findCondition(conditions, "Stale");
  const since = Date.parse(staleSince ?? "");
  if (
    condition === undefined ||
    condition.observedGeneration !== metadata.generation ||
    Number.isNaN(since)
  )
    return undefined;
  return { since, reason: isReason(condition.reason) ? condition.reason : "VaultUnreachable" };
}

/**
 * Finds the connections whose credentials are in a Secret. The key of the Secret is
 * `namespace/name`.
 */
class CredentialsIndex {
  readonly #secrets = new Map<string, string>();
  readonly #connections = new Map<string, Set<string>>();

  /** Replaces the Secret of a connection. */
  set(connection: string, secret: string | undefined): void {
    const before = this.#secrets.get(connection);
    if (before === secret) return;
    if (before !== undefined) {
      const others = this.#connections.get(before);
      others?.delete(connection);
      if (others?.size === 0) this.#connections.delete(before);
      this.#secrets.delete(connection);
    }
    if (secret === undefined) return;
    this.#secrets.set(connection, secret);
    const connections = this.#connections.get(secret) ?? new Set();
    this.#connections.set(secret, connections.add(connection));
  }

  connectionsOf(secret: string): ReadonlySet<string> {
    return this.#connections.get(secret) ?? new Set();
  }
}
