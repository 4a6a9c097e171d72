import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";

/** An empty directory for each test of a file, removed after the test. */
export class TestDirectory {
  #path = "";

  constructor() {
    beforeEach(async () => {
      this.#path = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
    });
    afterEach(() => rm(this.#path, { recursive: true, force: true }));
  }

  get path(): string {
    return this.#path;
  }

  /** @throws Error outside of a test: a path would be relative to the checkout */
  join(...names: readonly string[]): string {
    if (this.#path === "") throw new Error("a test directory exists in a test only");
    return join(this.#path, ...names);
  }
}
