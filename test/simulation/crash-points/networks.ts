import { KubeError } from "../../../src/operator/kube/kube-error.ts";
import {
  keyOf,
  type ObjectRef,
  type ResourceDescriptor,
} from "../../../src/operator/kube/resource.ts";
import type { VaultRequest } from "../../../src/operator/vault-client/http/vault-transport.ts";
import { RefusedError, TransientError } from "../../../src/operator/vault-client/vault-error.ts";
import type { Network } from "../../lab/simulated/api-server/api-client.ts";
import { StatusError } from "../../lab/simulated/api-server/status-error.ts";
import { InMemoryTransport } from "../../lab/simulated/vault/in-memory-transport.ts";
import type { InMemoryResponse, InMemoryVault } from "../../lab/simulated/vault/in-memory-vault.ts";
import type { EffectTap } from "./effect-tap.ts";
import type { MortalClock } from "./mortal-clock.ts";

/** A process and its surroundings, as the networks see them. */
export interface Process {
  readonly clock: MortalClock;
  readonly tap: EffectTap;
  readonly vault: InMemoryVault;
  /** Ends the process. Never resolves. */
  crash(): Promise<never>;
  /** Reports whether an object is a target, or would be one. */
  isTarget(resource: ResourceDescriptor, ref: Partial<ObjectRef>): boolean;
  /** Gives an object to a user. */
  takeOver(resource: ResourceDescriptor, name: string): void;
  /** Called with the token of each request to the vault. */
  onToken(token: string): void;
  /** Reports whether a bundle of authorities fits the certificate of the vault. */
  trusts(ca: string | undefined): boolean;
}

type ApiRequest = Parameters<NonNullable<Network["send"]>>[0];

const READS = new Set(["get", "list", "watch"]);
/**
 * Time between a change and its event on a watch, in milliseconds: every view of the cluster is
 * old.
 */
const WATCH_LAG_MS = 200;
/** Longer than the deadline of any request, in milliseconds. */
const FOREVER_MS = 600_000;

const nameOf = ({ verb, resource, ref }: ApiRequest): string =>
  `${verb} ${resource.plural} ${ref.name === undefined ? "" : keyOf({ ...ref, name: ref.name })}`.trim();

/** Returns the network between a process and the API server. */
export function apiNetwork(process: Process): Network {
  const { clock, tap } = process;
  return {
    async send(request) {
      await clock.alive();
      const { verb, resource, ref } = request;
      const isRead = READS.has(verb);
      switch (tap.sent(request, nameOf(request), !isRead && process.isTarget(resource, ref))) {
        case "crash-before":
          return process.crash();
        case "taken-over":
          return process.takeOver(resource, ref.name ?? "");
        case "unavailable":
          throw new StatusError(503, "ServiceUnavailable");
        case "rejected":
          throw isRead
            ? new StatusError(429, "TooManyRequests", "", [], 2)
            : new StatusError(409, "Conflict");
        default:
      }
    },
    watchLagMs: () => WATCH_LAG_MS,
    async respond(request) {
      await clock.alive();
      const operation = nameOf(request);
      switch (tap.responded(request, operation)) {
        case "crash-after":
          return process.crash();
        case "lost-response":
          throw new KubeError({ kind: "Unavailable", operation, reason: "ECONNRESET" });
        case "timeout":
          return clock.sleep(FOREVER_MS, request.signal);
        default:
      }
    },
  };
}

/** The transport between a process and the vault. It trusts one bundle of authorities. */
export class TappedTransport extends InMemoryTransport {
  #ca: string | undefined;

  constructor(process: Process, ca: string | undefined) {
    const { vault, clock } = process;
    const send = (request: VaultRequest): Promise<InMemoryResponse | undefined> =>
      sendToVault(process, request, this.#ca);
    const respond = (
      request: VaultRequest,
      response: InMemoryResponse,
      signal: AbortSignal,
    ): Promise<InMemoryResponse> => respondOfVault(process, request, response, signal);
    super({ vault, clock, network: { send, respond } });
    this.#ca = ca;
  }

  override updateCa(ca: string | undefined): void {
    this.#ca = ca;
  }
}

async function sendToVault(
  process: Process,
  request: VaultRequest,
  ca: string | undefined,
): Promise<InMemoryResponse | undefined> {
  const { operation, token } = request;
  await process.clock.alive();
  if (token) process.onToken(token.reveal());
  switch (process.tap.sent(request, `vault ${operation}`)) {
    case "crash-before":
      return process.crash();
    case "unavailable":
      return { status: 503, headers: {}, body: new Uint8Array() };
    case "rejected":
      return { status: 500, headers: {}, body: Buffer.from("internal error") };
    default:
  }
  if (!process.trusts(ca)) throw new RefusedError(operation, "tls", "SELF_SIGNED_CERT_IN_CHAIN");
  return undefined;
}

async function respondOfVault(
  process: Process,
  request: VaultRequest,
  response: InMemoryResponse,
  signal: AbortSignal,
): Promise<InMemoryResponse> {
  const { clock, tap } = process;
  await clock.alive();
  switch (tap.responded(request, `vault ${request.operation}`)) {
    case "crash-after":
      return process.crash();
    case "lost-response":
      throw new TransientError(request.operation, "reset");
    case "timeout":
      await clock.sleep(FOREVER_MS, signal);
      return response;
    default:
      return response;
  }
}
