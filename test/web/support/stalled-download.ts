import type { Page } from "playwright-core";
import type { TestVault } from "../../lab/vault/test-vault.ts";
import { FaultProxy } from "../../lab/real/fault-proxy.ts";

/** Downloads of a page that stop at the half of the file until `end` is called. */
export interface StalledDownloads extends AsyncDisposable {
  /** Resolves when the page has closed the connection of a download. */
  readonly closed: Promise<void>;
  readonly end: () => Promise<void>;
}

/** Lets only the first half of a file arrive. */
export async function stallDownloads(page: Page, vault: TestVault): Promise<StalledDownloads> {
  const proxy = await FaultProxy.start(vault);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  proxy.inject(async ({ response, forward }) => {
    response.once("close", resolve);
    const { statusCode = 0, headers } = await forward();
    response.writeHead(statusCode, headers);
    response.write(Buffer.alloc(Math.floor(Number(headers["content-length"]) / 2)));
  });
  const path = "**/download_file";
  await page.route(path, async (route) => {
    const url = route.request().url().replace(vault.url, proxy.url);
    await route.continue({ url });
  });
  return {
    closed,
    end: () => page.unroute(path),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}
