import type { Clock } from "../../src/lib/clock.ts";
import type { OperatorConfig } from "../../src/operator/config.ts";
import { refusalOf } from "../../src/operator/vault-client/http/host-policy.ts";
import type {
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "../../src/operator/vault-client/http/vault-transport.ts";
import {
  type RefusedCode,
  RefusedError,
  TransientError,
} from "../../src/operator/vault-client/vault-error.ts";

/** A proxy that ends every request that takes longer, like the proxies in front of a vault. */
export interface Proxy {
  readonly cutMs: number;
  readonly how: "504" | "reset";
}

export interface PathToVaultOptions {
  readonly inner: VaultTransport;
  readonly url: string;
  readonly config: OperatorConfig;
  readonly clock: Clock;
  /** Returns the proxy in front of the vault, if there is one now. */
  readonly proxy: () => Proxy | undefined;
}

/**
 * The path between an operator and a vault without any fault: the flags that limit addresses, and a
 * proxy.
 */
export class PathToVault implements VaultTransport {
  readonly #options: PathToVaultOptions;
  readonly #refused: RefusedCode | undefined;

  constructor(options: PathToVaultOptions) {
    this.#options = options;
    const { url, config } = options;
    this.#refused = refusalOf(new URL(url), {
      allowHttp: config.allowHttp,
      allowedHosts: config.vaultHosts,
    });
  }

  updateCa(ca: string | undefined): void {
    this.#options.inner.updateCa(ca);
  }

  async request(request: VaultRequest): Promise<VaultResponse> {
    const { inner, proxy } = this.#options;
    if (this.#refused !== undefined) throw new RefusedError(request.operation, this.#refused);
    const current = proxy();
    return current === undefined ? inner.request(request) : this.#proxied(request, current);
  }

  async #proxied(request: VaultRequest, { cutMs, how }: Proxy): Promise<VaultResponse> {
    const { inner, clock } = this.#options;
    const cut = new AbortController();
    using _timer = clock.timer(cutMs, () => cut.abort());
    try {
      return await inner.request({
        ...request,
        signal: AbortSignal.any([request.signal, cut.signal]),
      });
    } catch (error) {
      if (!cut.signal.aborted || request.signal.aborted) throw error;
      if (how === "reset") throw new TransientError(request.operation, "reset");
      return {
        status: 504,
        body: Buffer.from("<html>gateway timeout</html>"),
        header: () => undefined,
      };
    }
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#options.inner[Symbol.asyncDispose]();
  }
}
