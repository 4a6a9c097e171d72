import type { VaultResponse } from "../../../test/lab/vault/vault-client.ts";

/**
 * A client with a separate secret, on connections that are kept open. Each request resolves with a
 * response as expected.
 */
export interface BenchClient {
  health(): Promise<void>;
  /** Reads its secret. */
  read(): Promise<void>;
  /** Writes a new version of its secret. */
  write(): Promise<void>;
  /** Lists all secrets of the content. */
  list(): Promise<void>;
  /**
   * Lists them as a client that knows the list does: conditionally, where the server has
   * conditional lists.
   */
  poll(): Promise<void>;
}

/** A server that is measured, with its processes and files. */
export interface BenchServer extends AsyncDisposable {
  readonly label: string;
  readonly clients: readonly BenchClient[];
  /** Returns the CPU time of its processes, a database included, since their start in seconds. */
  cpuSeconds(): Promise<number>;
}

export interface BenchContent {
  /** Number of clients. */
  readonly clients: number;
  /** Number of secrets in a list. */
  readonly listed: number;
}

/** The value of each secret: 64 bytes. */
export const VALUE = "v".repeat(64);

/** Returns a response that has the status. @throws Error with its beginning when it has another */
export function expectStatus(response: VaultResponse, status: number): VaultResponse {
  if (response.status !== status)
    throw new Error(
      `expected status ${status}, received ${response.status}: ${response.bytes.toString().slice(0, 200)}`,
    );
  return response;
}

/** Resolves when the response arrives with the status. */
export async function expectResponse(
  response: Promise<VaultResponse>,
  status = 200,
): Promise<void> {
  expectStatus(await response, status);
}
