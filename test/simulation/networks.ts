import type { Random } from "../../src/lib/random.ts";
import { KubeError } from "../../src/operator/kube/kube-error.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";
import type { ApiRequest, Network } from "../lab/simulated/api-server/api-client.ts";
import { StatusError } from "../lab/simulated/api-server/status-error.ts";
import type { VaultNetwork } from "../lab/simulated/vault/in-memory-transport.ts";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import type { ProcessClock } from "./replica.ts";

/** Faults between the operator and the API server. */
export const apiFaults = [
  "refused",
  "lost-response",
  "throttled",
  "unavailable",
  "timeout",
  "slow",
] as const;
export type ApiFault = (typeof apiFaults)[number];

/** Faults between the operator and a vault. */
export const vaultFaults = [
  "unreachable",
  "reset",
  "500",
  "429",
  "401",
  "404",
  "html",
  "empty",
  "other-json",
  "garbage",
  "truncated",
  "old-list",
  "slow",
] as const;
export type VaultFault = (typeof vaultFaults)[number];

/**
 * Responses of a gateway or a maintenance page instead of a list: valid JSON, and no evidence that
 * anything was removed.
 */
const otherJson = [
  '{"data":[]}',
  '{"items":[]}',
  '{"message":"ok","result":{}}',
  '{"data":[],"status":"maintenance"}',
  '{"secrets":null}',
  '{"files":null}',
  "[]",
  "{}",
] as const;

/** The longest delay of a request to the API server, in milliseconds, while it is slow. */
export const SLOWEST_MS = 20_000;
/** The longest delay otherwise. */
export const USUAL_MS = 50;

/** The faults that currently occur, each with the share of the requests that it concerns. */
export interface Faults {
  readonly api: Map<ApiFault, number>;
  readonly vault: Map<string, { readonly fault: VaultFault; readonly share: number }>;
  /** Times at which the last fault of a vault ended, in monotonic milliseconds. */
  readonly vaultEndedAt: Map<string, number>;
  /** Time at which the last fault of the API server ended, in monotonic milliseconds. */
  apiEndedAt: number;
  watchLagMs: number;
}

/** Returns the network of one process to the API server. `onSend` is called with each request. */
export function apiNetwork(
  faults: Faults,
  clock: ProcessClock,
  random: Random,
  onSend: () => void,
): Network {
  const occurs = (fault: ApiFault): boolean =>
    faults.api.size > 0 && random() < (faults.api.get(fault) ?? 0);
  /**
   * A request whose process is suspended on the way is lost: no fence of the process could stop it.
   */
  const delay = async (ms: number, request: ApiRequest): Promise<void> => {
    const start = clock.monotonic();
    await clock.sleep(ms, request.signal);
    if (clock.monotonic() - start > ms + 1_000) throw unavailable(request, "ECONNRESET");
  };
  const fail = (request: ApiRequest): Promise<void> | undefined => {
    if (occurs("refused")) throw unavailable(request, "ECONNREFUSED");
    if (occurs("throttled")) throw new StatusError(429, "TooManyRequests", "", [], 2);
    if (occurs("unavailable")) throw new StatusError(503, "ServiceUnavailable");
    return occurs("timeout") ? clock.sleep(60_000, request.signal) : undefined;
  };
  const sendAfter = async (ms: number, request: ApiRequest): Promise<void> => {
    if (ms > 0) await delay(ms, request);
    const timeout = fail(request);
    if (timeout) await timeout;
  };
  return {
    running: () => clock.running(),
    send(request) {
      onSend();
      const isSlow = occurs("slow");
      if (isSlow || random() < 0.1)
        return sendAfter(1 + random() * (isSlow ? SLOWEST_MS : USUAL_MS), request);
      // Most requests neither wait nor fail.
      return faults.api.size > 0 ? sendAfter(0, request) : undefined;
    },
    async respond(request) {
      if (random() < 0.1) await clock.sleep(1 + random() * 50, request.signal);
      await clock.running();
      if (occurs("lost-response")) throw unavailable(request, "ECONNRESET");
    },
    watchLagMs: () => Math.floor(random() * faults.watchLagMs),
  };
}

function unavailable({ verb, resource }: ApiRequest, reason: string): KubeError {
  return new KubeError({ kind: "Unavailable", operation: `${verb} ${resource.plural}`, reason });
}

/** Returns the network of one process to the vault `name`. */
export function vaultNetwork(
  faults: Faults,
  name: string,
  clock: ProcessClock,
  random: Random,
): VaultNetwork {
  const lists = new Map<string, InMemoryResponse>();
  const current = (): VaultFault | undefined => {
    const found = faults.vault.get(name);
    return found && random() < found.share ? found.fault : undefined;
  };
  return {
    async send({ operation }, signal) {
      await clock.running();
      if (random() < 0.1) await clock.sleep(1 + random() * 50, signal);
      switch (current()) {
        case "unreachable":
          throw new TransientError(operation, "unreachable", { detail: "ECONNREFUSED" });
        case "slow":
          await clock.sleep(random() * 20_000, signal);
          return undefined;
        case "500":
          return response(500, "internal error");
        case "429":
          return { ...response(429, ""), headers: { "retry-after": "7" } };
        case "401":
          return response(401, JSON.stringify({ error: { code: "invalid_token", message: "" } }));
        case "404":
          return response(404, "<html>not found</html>");
        case "html":
          return response(200, "<html>Please log in</html>");
        case "empty":
          return response(200, "");
        case "other-json":
          return response(200, otherJson[Math.floor(random() * otherJson.length)]!);
        default:
          return undefined;
      }
    },
    async respond({ operation, body }, sent, signal) {
      if (random() < 0.1) await clock.sleep(1 + random() * 50, signal);
      await clock.running();
      const isList = operation === "list_no_dup" || operation === "list_file";
      const key = isList ? `${operation} ${JSON.stringify(body)}` : "";
      const older = lists.get(key);
      if (isList && sent.status === 200) lists.set(key, sent);
      switch (current()) {
        case "reset":
          throw new TransientError(operation, "reset");
        case "garbage":
          return response(200, JSON.stringify([null, { a: [1, "x"] }]));
        case "truncated":
          return { ...sent, body: sent.body.subarray(0, Math.floor(sent.body.byteLength / 2)) };
        case "old-list":
          return isList && older ? older : sent;
        default:
          return sent;
      }
    },
  };
}

function response(status: number, text: string): InMemoryResponse {
  return { status, headers: {}, body: Buffer.from(text) };
}
