import { request } from "node:https";

/** Where an API server is and how to be known to it. */
export interface ApiAccess {
  readonly server: string;
  /** PEM of the certificate authority. */
  readonly ca: string;
  readonly token: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: string;
}

/**
 * One JSON call on a connection of its own. Any HTTP status is an answer.
 * @throws Error when there is no whole answer within `timeoutMs`.
 */
export function apiRequest(
  access: ApiAccess,
  call: { method?: string; path: string; body?: unknown; timeoutMs?: number },
): Promise<ApiAnswer> {
  const payload = call.body === undefined ? undefined : JSON.stringify(call.body);
  return new Promise((resolve, reject) => {
    const sent = request(new URL(call.path, access.server), {
      method: call.method ?? "GET",
      ca: access.ca,
      agent: false,
      signal: AbortSignal.timeout(call.timeoutMs ?? 10_000),
      headers: {
        authorization: `Bearer ${access.token}`,
        accept: "application/json",
        "user-agent": "vaultsync-test",
        ...(payload === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }));
    });
    sent.end(payload);
  });
}
