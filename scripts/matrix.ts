import {
  newest,
  oldest,
  type Release,
  releaseVariable,
} from "../test/lab/control-plane/binaries/version.ts";
import { runProgram } from "./menu/menu.ts";

const help = `Run the tests against a control plane on the oldest and on the newest supported Kubernetes.

Usage: npm test -- matrix [oldest | newest] [integration | e2e | cluster] [VITEST OPTIONS]

KUBEBUILDER_ASSETS is used for the newest one only. A failure does not end the run: the last lines say what failed.
`;

const releases = [oldest, newest];
const projects = ["integration", "e2e", "cluster"];
const options = process.argv.slice(2);

/** Returns the candidates that the next option names, or all when it names none. */
function chosen<T>(candidates: readonly T[], nameOf: (candidate: T) => string): readonly T[] {
  const named = candidates.filter((candidate) => nameOf(candidate) === options[0]);
  if (named.length === 0) return candidates;
  options.shift();
  return named;
}

function run({ name }: Release, project: string): Promise<number> {
  const environment = {
    [releaseVariable]: name,
    VAULTSYNC_CONTROL_PLANE: undefined,
    ...(name !== newest.name && { KUBEBUILDER_ASSETS: undefined }),
  };
  const node = ["node_modules/vitest/vitest.mjs", "run", "--project", project];
  return runProgram({ description: "", node, environment }, options);
}

if (options[0] === "--help") {
  process.stdout.write(help);
} else {
  const rows: string[] = [];
  const chosenReleases = chosen(releases, ({ name }) => name);
  const chosenProjects = chosen(projects, (name) => name);
  for (const release of chosenReleases) {
    for (const project of chosenProjects) {
      const code = await run(release, project);
      rows.push(`Kubernetes ${release.version}  ${project}  ${code === 0 ? "passed" : "FAILED"}`);
      if (code !== 0) process.exitCode = 1;
    }
  }
  process.stdout.write(`\n${rows.join("\n")}\n`);
}
