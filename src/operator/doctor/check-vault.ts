import type { Clock } from "../../lib/clock.ts";
import { IGNORED_FORWARDED_HEADER } from "../../protocol/headers.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../vault-client/http/vault-transport.ts";
import { Deadline } from "../lib/deadline.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { Random } from "../../lib/random.ts";
import type { ConnectionFacts } from "../connection/connection-facts.ts";
import { connectionProblem } from "../connection/connection-problem.ts";
import type { ConnectionSettings } from "../connection/connection-settings.ts";
import type { CredentialSource } from "../vault-client/auth/credentials.ts";
import { LoginGate } from "../vault-client/auth/login-gate.ts";
import { connect } from "../vault-client/connect.ts";
import type { Connection, Health, SecretRecord } from "../vault-client/connection.ts";
import { ListGate } from "../vault-client/http/list-gate.ts";
import { ResponseMemory } from "../vault-client/http/response-memory.ts";
import { valueMemory } from "../vault-client/vault-api.ts";
import { ValueCache } from "../vault-client/values/value-cache.ts";
import { type Check, type Checks, someOf } from "./check.ts";
import { isUntrusted, type Trust } from "../api/received-secrets.ts";
import { type NamedReferences, withUsers } from "./references-of.ts";

/**
 * Measures how far the vault's clock is ahead, by the Date header of its responses (RFC 9110), and
 * notes whether it ignores a proxy.
 */
class DatedTransport implements VaultTransport {
  readonly #inner: VaultTransport;
  readonly #clock: Clock;
  /**
   * Milliseconds by which the vault's clock is ahead; NaN without a Date header, `undefined`
   * without a response.
   */
  aheadMs: number | undefined;
  /** The vault ignored the client's address that a proxy on the way forwards. */
  ignoresForwarded = false;

  constructor(inner: VaultTransport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
  }

  async request(request: VaultRequest): Promise<VaultResponse> {
    const response = await this.#inner.request(request);
    this.aheadMs = Date.parse(response.header("date") ?? "") - this.#clock.now();
    this.ignoresForwarded ||= response.header(IGNORED_FORWARDED_HEADER) !== undefined;
    return response;
  }

  updateCa(ca: string | undefined): void {
    this.#inner.updateCa(ca);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]();
  }
}

export interface VaultCheckOptions {
  readonly settings: ConnectionSettings;
  readonly facts: ConnectionFacts;
  readonly credentials: CredentialSource;
  /** The accounts whose secrets the connection uses. */
  readonly trust: Trust;
  /** The names that the resources of the connection refer to. */
  readonly references: NamedReferences;
  readonly transport: VaultTransport;
  /** Longest list in bytes that is read. */
  readonly maxListBytes: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Difference between the clocks of this machine and of the vault that is reported, in milliseconds.
 */
const MAX_SKEW_MS = 60_000;
/** Time for a login and a list, in addition to the timeout of one request, in milliseconds. */
const EXTRA_MS = 20_000;

/**
 * Logs in and lists once, with the client of the operator: checks the network, TLS, the clock, the
 * login and the references.
 */
export async function* checkVault(
  checks: Checks,
  options: VaultCheckOptions,
  signal: AbortSignal,
): AsyncGenerator<Check, void> {
  const { settings, facts, clock, references, trust } = options;
  using deadline = new Deadline(clock, settings.timeoutMs + EXTRA_MS, signal);
  const transport = new DatedTransport(options.transport, clock);
  const { promise, resolve } = Promise.withResolvers<Health | undefined>();
  deadline.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  await using connection = open({ ...options, transport }, (health) => {
    if (health.state !== "starting") resolve(health);
  });
  connection.setReferences(references);
  const health = await promise;
  signal.throwIfAborted();
  if (transport.aheadMs !== undefined) yield checkClock(checks, transport.aheadMs);
  if (transport.ignoresForwarded) yield checkProxy(checks);
  if (health?.state !== "healthy") {
    const { check, cause, remedy } = connectionProblem(health?.error, facts);
    return yield checks.failed(check, cause, remedy);
  }
  yield checks.ok("login", `the vault lists ${connection.snapshot?.secretCount ?? 0} secrets`);
  if (references.files.size > 0 && connection.snapshot?.fileCount === undefined)
    await connection.listAgain("file", deadline.signal);
  yield checkReferences(checks, connection, references);
  yield checkOwners(checks, connection, references, trust);
}

const ignore = (): void => undefined;

function open(
  { settings, credentials, transport, maxListBytes, clock, random }: VaultCheckOptions,
  onHealth: (health: Health) => void,
): Connection {
  return connect({
    ...settings,
    follow: "Interval",
    credentials,
    logins: new LoginGate(clock).account(settings.url, settings.email, ""),
    transport,
    valueCache: new ValueCache(0),
    listGate: new ListGate(clock),
    listMemory: new ResponseMemory(maxListBytes, maxListBytes),
    valueMemory: valueMemory(),
    tenant: "",
    clock,
    random,
    logger: silentLogger,
    onChange: ignore,
    onListed: ignore,
    onTokenChange: ignore,
    onHealth,
  });
}

function checkClock({ ok, failed, skipped }: Checks, aheadMs: number): Check {
  if (Number.isNaN(aheadMs)) return skipped("clock", "the vault sends no Date header");
  if (Math.abs(aheadMs) <= MAX_SKEW_MS)
    return ok("clock", "the clocks of this machine and of the vault agree");
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  const message = `the clock of the vault is ${seconds} s ${aheadMs > 0 ? "ahead of" : "behind"} that of this machine`;
  return failed(
    "clock",
    message,
    "set both clocks by NTP: removal times and token lifetimes depend on them",
  );
}

function checkProxy({ failed }: Checks): Check {
  return failed(
    "proxy",
    "the vault ignores the address that a proxy in front of it forwards: its users share one address, and can lock each other out",
    "have the operator of the vault list the address of the proxy in --trust-proxy of `vaultsync vault serve`",
  );
}

/** Returns the names without which a resource lacks a source. */
const requiredNames = (items: NamedReferences["items"]): ReadonlySet<string> =>
  new Set(items.filter(({ isOptional }) => isOptional !== true).map(({ source }) => source));

function checkReferences(
  { ok, failed }: Checks,
  { snapshot }: Connection,
  { items, fileItems }: NamedReferences,
): Check {
  const [secrets, files] = [requiredNames(items), requiredNames(fileItems)];
  const missing = [
    ...[...secrets]
      .filter((name) => snapshot?.secrets(name).length === 0)
      .map((name) => withUsers(name, items)),
    ...[...files]
      .filter((name) => snapshot?.file(name) === undefined)
      .map((name) => withUsers(name, fileItems)),
  ];
  const count = secrets.size + files.size;
  if (missing.length === 0)
    return ok("references", `the vault lists all ${count} names that resources refer to`);
  return failed(
    "references",
    `the vault does not list ${someOf(missing)}, of ${count} names that resources refer to`,
    "create them, have their owner share them with the account, widen spec.scope, or correct the names in the resources",
  );
}

/**
 * Checks that each listed name has a secret of an account that the connection trusts or the
 * reference names.
 */
function checkOwners(
  { ok, failed }: Checks,
  { snapshot }: Connection,
  { items }: NamedReferences,
  trust: Trust,
): Check {
  const refused = new Set(
    items.flatMap((item) => {
      const records: readonly SecretRecord[] = snapshot?.secrets(item.source) ?? [];
      const isUsable =
        records.length === 0 || records.some((record) => !isUntrusted(record, item, trust));
      return isUsable
        ? []
        : [
            `${item.source} (shared by ${records.map(({ owner = "an unnamed owner" }) => owner).join(", ")})`,
          ];
    }),
  );
  if (refused.size === 0)
    return ok(
      "owners",
      "the connection or the resources name the owners of all shared secrets that they use",
    );
  return failed(
    "owners",
    `no owner is named for ${someOf([...refused])}`,
    "add the owner to spec.trustedOwners of the connection, or to remoteRef.owner of the resources, if it is the right one",
  );
}
