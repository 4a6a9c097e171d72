import type { Clock } from "../../lib/clock.ts";
import { IGNORED_FORWARDED_HEADER } from "../../protocol/headers.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../vault-client/http/vault-transport.ts";

/**
 * Measures how far the vault's clock is ahead, by the Date header of its responses (RFC 9110), and
 * notes whether it ignores a proxy.
 */
export class DatedTransport implements VaultTransport {
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
