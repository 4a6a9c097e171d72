import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Prints the URL of each module that is loaded. */
const PRINT_MODULES = `import { registerHooks } from "node:module";
registerHooks({ load: (url, context, next) => (process.stderr.write(url + "\\n"), next(url, context)) });`;

/**
 * Returns the modules that a command loads: paths such as `src/main.ts`, and names such as
 * `package:zod`.
 */
async function modulesOf(...args: readonly string[]): Promise<string[]> {
  const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`];
  const { stderr } = await VaultsyncProcess.run(args, { nodeArgs });
  const modules = stderr.split("\n").flatMap((url) => {
    const [, name] = /^file:.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//u.exec(url) ?? [];
    if (name !== undefined) return `package:${name}`;
    const root = `${pathToFileURL(ROOT).href}/`;
    return url.startsWith(root) ? url.slice(root.length) : [];
  });
  return [...new Set(modules)].sort();
}

/** Returns the modules that the files of the commands import when an action runs. */
function actionModules(): string[] {
  const folders = ["src/operator/cli", "src/vault/cli"];
  const files = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => join(folder, name)),
  );
  return ["src/program.ts", ...files].flatMap((file) => {
    const imports = readFileSync(join(ROOT, file), "utf8").matchAll(/\bimport\("([^"]+)"\)/gu);
    return [...imports].map(([, path = ""]) => join(file, "..", path));
  });
}

describe("the definitions of the commands", () => {
  test("load no module of an action, and of all packages only commander", async () => {
    const loaded = await modulesOf("--version");
    const actions = actionModules();
    expect(new Set(actions).size).toBeGreaterThan(15);
    expect(loaded.filter((module) => actions.includes(module))).toEqual([]);
    expect(loaded.filter((module) => module.startsWith("package:"))).toEqual(["package:commander"]);
  });

  test("load of both programs only what parses the values of options", async () => {
    const loaded = await modulesOf("vault", "serve", "--help");
    const ofPrograms = /^src\/(?:operator|vault)\/(?!cli\/)/u;
    expect(loaded.filter((module) => ofPrograms.test(module))).toEqual([
      "src/operator/api/kinds.ts",
      "src/operator/lib/duration.ts",
      "src/vault/server/audit/forward-target.ts",
      "src/vault/server/http/ip-networks.ts",
      "src/vault/server/limits.ts",
      "src/vault/server/mail/smtp-url.ts",
      "src/vault/server/store/postgres/postgres-location.ts",
    ]);
  });
});

/** Modules that only a vault server needs. They take 16 MiB. */
const SERVER =
  /^(?:src\/vault\/server\/(?:vault-server|routes|store\/open)|package:(?:fastify|pg|nodemailer)$)/u;
const OPERATOR = /^src\/operator\/(?:controllers|runtime|operator)\b/u;
const CLUSTER = /^(?:src\/operator\/kube\/client\/|package:@kubernetes\/client-node$)/u;
const CLIENT = /^package:undici$/u;

test.each([
  {
    args: ["operator", "--kubeconfig", "/absent"],
    action: "src/operator/operator.ts",
    without: [SERVER],
  },
  {
    args: ["status", "--kubeconfig", "/absent"],
    action: "src/operator/cli/status/status.ts",
    without: [SERVER, OPERATOR],
  },
  {
    args: ["release", "--kubeconfig", "/absent"],
    action: "src/operator/cli/release/release.ts",
    without: [SERVER, OPERATOR],
  },
  {
    args: ["plan", "--offline", "--filename", "/absent"],
    action: "src/operator/cli/plan/plan.ts",
    without: [SERVER, OPERATOR, CLUSTER, CLIENT],
  },
  {
    args: ["render", "--json", "--filename", "/absent"],
    action: "src/operator/cli/local/render.ts",
    without: [SERVER, OPERATOR, CLUSTER],
  },
  {
    args: ["run", "--filename", "/absent", "--", "true"],
    action: "src/operator/cli/local/run.ts",
    without: [SERVER, OPERATOR, CLUSTER],
  },
  {
    args: ["secret", "list", "--account", "/absent"],
    action: "src/vault/cli/account/secret.ts",
    without: [SERVER, OPERATOR, CLUSTER],
  },
  {
    args: ["vault", "key", "list", "/absent"],
    action: "src/vault/cli/key.ts",
    without: [SERVER, OPERATOR, CLUSTER, CLIENT],
  },
  {
    args: ["vault", "serve"],
    action: "src/vault/server/vault-server.ts",
    without: [OPERATOR, CLUSTER],
  },
])(
  "vaultsync $args.0 $args.1 loads its action and nothing of the other programs",
  async (command) => {
    const loaded = await modulesOf(...command.args);
    expect(loaded).toContain(command.action);
    const unneeded = command.without.flatMap((some) =>
      loaded.filter((module) => some.test(module)),
    );
    expect(unneeded).toEqual([]);
  },
);
