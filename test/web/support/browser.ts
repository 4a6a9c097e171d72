import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { launchChromium } from "../../lab/chromium.ts";
import type { TestVault } from "../../lab/vault/test-vault.ts";

export interface Visit extends BrowserContextOptions {
  /** Email address of a user of the vault, logged in from the start. */
  readonly as?: string;
}

/** A page in its own browser profile. */
export interface Visitor {
  readonly page: Page;
  readonly vault: TestVault;
  /** Opens a page of the application: `/secrets`. */
  readonly go: (route: string) => Promise<void>;
}

/** Records script errors, console errors and violations of the Content-Security-Policy. */
function recordFaults(page: Page, faults: string[]): void {
  page.on("pageerror", (error) => faults.push(`page error: ${error.message}`));
  page.on("console", (message) => {
    // The browser logs this for a 401 that the application handles.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
}

/**
 * One Chromium for all tests of a file. A test fails when a page reported a fault that `takeFaults`
 * did not take.
 */
export class TestBrowser {
  #kept = new AsyncDisposableStack();
  #browser: Browser | undefined;
  #faults: string[] = [];

  constructor() {
    beforeAll(async () => {
      this.#browser = await launchChromium();
    });
    afterEach(async () => {
      await this.#kept.disposeAsync();
      this.#kept = new AsyncDisposableStack();
      const faults = this.takeFaults();
      if (faults.length > 0) throw new Error(`pages reported: ${faults.join("; ")}`);
    });
    afterAll(() => this.#browser?.close());
  }

  /** Disposes of `opened` at the end of the test. */
  keep<T extends AsyncDisposable>(opened: T): T {
    return this.#kept.use(opened);
  }

  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  async visit(vault: TestVault, { as, ...options }: Visit = {}): Promise<Visitor> {
    if (!this.#browser) throw new Error("the browser is not up");
    const context = this.keep(
      await this.#browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options }),
    );
    context.setDefaultTimeout(15_000);
    if (as !== undefined) {
      const data = { email: as, password: vault.passwords.get(as) };
      const response = await context.request.post(`${vault.url}/app/log_in`, { data });
      if (!response.ok()) throw new Error(`login failed: ${response.status()}`);
    }
    const page = await context.newPage();
    recordFaults(page, this.#faults);
    const go = async (route: string): Promise<void> =>
      void (await page.goto(`${vault.url}/#${route}`));
    return { page, vault, go };
  }
}
