/**
 * Checks the files that no compiler reads: workflows, Dockerfile, shell scripts. A linter that
 * cannot be installed here is named and skipped; with `--strict` it is a failure. Exits with 1 when
 * a linter reports something.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { goTool } from "../test/lab/tools/go-tool.ts";
import { pythonTool } from "../test/lab/tools/python-tool.ts";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { lintFiles, type Linter } from "./lint-files/lint-files.ts";

const progress = terminalProgress();
const root = new URL("..", import.meta.url);

/** Without the network, because the result must depend on the files only. */
const zizmor = ["--offline", "--pedantic", "--no-progress", "--quiet", "."];

const recipes = ["vaultsync", "vaultsync-backup", "vaultsync-restore-drill"].map(
  (name) => `deploy/self-hosting/${name}`,
);

const linters: readonly Linter[] = [
  // Where shellcheck is installed, actionlint starts it: then the result depends on the machine.
  {
    name: "actionlint",
    find: () => goTool("actionlint", progress),
    args: ["-shellcheck=", "-pyflakes="],
  },
  { name: "zizmor", find: () => pythonTool("zizmor", { progress }), args: zizmor },
  { name: "hadolint", find: () => pythonTool("hadolint", { progress }), args: ["Dockerfile"] },
  {
    name: "shellcheck",
    find: () => pythonTool("shellcheck", { progress }),
    args: [".ci/run", ...recipes],
  },
];

const { strict } = parseArgs({ options: { strict: { type: "boolean", default: false } } }).values;
const outcomes = await lintFiles(linters, (program, args) =>
  spawnSync(program, args, { cwd: root, encoding: "utf8" }),
);
for (const { text } of outcomes) process.stderr.write(`${text}\n`);
const failed = outcomes.some(
  ({ kind }) => kind === "reported" || (strict && kind === "unavailable"),
);
process.exitCode = failed ? 1 : 0;
