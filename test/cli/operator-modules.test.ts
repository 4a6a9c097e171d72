import { expect, test } from "vitest";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";

/** Prints the URL of each module that is loaded. */
const PRINT_MODULES = `import { registerHooks } from "node:module";
registerHooks({ load: (url, context, next) => (process.stderr.write(url + "\\n"), next(url, context)) });`;

test("the operator loads nothing of the vault server, which would take memory", async () => {
  const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`];
  const { stdout, stderr } = await VaultsyncProcess.run(["operator", "--help"], { nodeArgs });
  expect(stdout).toContain("Usage: vaultsync operator [options]");
  const urls = stderr.split("\n");
  expect(urls.filter((url) => url.includes("/src/operator/")).length).toBeGreaterThan(50);
  expect(
    urls.filter((url) =>
      /\/src\/vault\/server\/|\/node_modules\/(?:fastify|pg|nodemailer)\//u.test(url),
    ),
  ).toEqual([]);
});
