import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { packageVersion } from "../src/lib/package-version.ts";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { writeArtifacts } from "./release/artifacts.ts";
import { withSection } from "./release/changelog.ts";
import { command } from "./release/command.ts";
import { releaseProblems } from "./release/problems.ts";
import { setVersion } from "./release/version-places.ts";
import { messageOf } from "../src/lib/errors.ts";

const help = `Check this commit, write the files of a release, and tag it. docs/release.md describes the whole procedure.

Usage: npm run release -- [OPTIONS]

  --dry-run        change nothing: print what keeps the commit from being released, and what would be done
  --bump VERSION   write another version to every place and the section of the changelog, and do nothing else
  --image NAME     repository of the image in install.yaml (default: REGISTRY/vaultsync, a placeholder)
  --executables D  folder of the executables of other platforms, packed by the workflow \`executables\`
  --url URL        address of the files of this release, for krew.yaml (default: a placeholder)
  --output DIR     folder of the files (default: dist-release)
  --skip-checks    do not run npm run check
  --push           push the tag
  --help           show this help

Exit codes: 0 released, or could be; 1 a problem.
`;

const options = {
  "dry-run": { type: "boolean", default: false },
  bump: { type: "string" },
  image: { type: "string", default: "REGISTRY/vaultsync" },
  executables: { type: "string" },
  url: { type: "string", default: "https://HOST/vaultsync" },
  output: { type: "string", default: "dist-release" },
  "skip-checks": { type: "boolean", default: false },
  push: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const root = join(import.meta.dirname, "..");
const print = (line: string): void => void process.stdout.write(`${line}\n`);

function bump(version: string): void {
  if (!/^\d+\.\d+\.\d+$/u.test(version))
    throw new Error(`--bump ${version}: expected a version such as 1.2.3`);
  const changelog = join(root, "CHANGELOG.md");
  writeFileSync(
    changelog,
    withSection(readFileSync(changelog, "utf8"), version, new Date().toISOString().slice(0, 10)),
  );
  const files = command("git", ["ls-files"], root).trim().split("\n");
  for (const file of ["CHANGELOG.md", ...setVersion(root, files, version)])
    print(`changed      ${file}`);
  print(`next         npm run generate, read the section [${version}] of CHANGELOG.md, commit`);
}

/** Creates the tag, or prints the commands that do. */
function tag(version: string, isDryRun: boolean, push: boolean): void {
  const create = ["tag", "--annotate", "--message", `Vaultsync ${version}`, `v${version}`];
  const send = ["push", "origin", `v${version}`];
  if (!isDryRun) command("git", create, root);
  print(`${isDryRun ? "would run   " : "done        "} git ${create.join(" ")}`);
  if (push && !isDryRun) command("git", send, root);
  const state = isDryRun ? "would run   " : "done        ";
  print(`${push ? state : "next        "} git ${send.join(" ")}`);
}

async function release(
  values: ReturnType<typeof parseArgs<{ options: typeof options }>>["values"],
): Promise<number> {
  const version = packageVersion();
  const progress = terminalProgress();
  const isDryRun = values["dry-run"];
  const problems = releaseProblems(root, version);
  if (!isDryRun && values.image === options.image.default)
    problems.push("--image is missing: the repository of the image");
  for (const problem of problems) print(`problem      ${problem}`);
  if (problems.length > 0 && !isDryRun) return 1;
  if (!values["skip-checks"]) {
    progress.note("Running npm run check.");
    command("npm", ["run", "check"], root);
    print("checked      npm run check");
  }
  const output = resolve(root, values.output);
  const { image, url, executables } = values;
  const files = { root, version, image, url, executables, output, progress };
  for (const line of await writeArtifacts(files)) print(`file         ${line}`);
  if (problems.length > 0) return 1;
  tag(version, isDryRun, values.push);
  return 0;
}

try {
  const { values } = parseArgs({ options });
  if (values.help) process.stdout.write(help);
  else if (values.bump === undefined) process.exitCode = await release(values);
  else bump(values.bump);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
