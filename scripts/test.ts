/** Runs the whole suite, or the tests that the first argument names. */
import { spawnSync } from "node:child_process";
import { runAll, runAside, runNamed, type Menu, type Program } from "./menu/menu.ts";

const vitest = (project: string, description: string): Program => ({
  description,
  node: ["node_modules/vitest/vitest.mjs", "run", "--project", project],
});

const asRoot = (project: string, description: string): Program => ({
  description,
  node: ["scripts/test-as-root.ts", project],
});

/** They run one after the other; {@link aside} runs next to them. */
const inFront: Menu = {
  postgres: vitest("postgres", "the vault server's tests on PostgreSQL"),
  integration: vitest("integration", "single modules and the charts against a control plane"),
  faults: vitest("faults", "faults between real processes"),
  e2e: vitest("e2e", "whole operators against a control plane, each in its own namespace"),
  cluster: vitest("cluster", "an operator for the whole cluster, one test after the other"),
};

/** They mostly wait for pods and for a browser. Each of them, and nothing else, builds into dist. */
const aside: Menu = {
  image: asRoot("image", "the image, in containers: Linux, as root"),
  node: asRoot("node", "a node of this machine: mounts, faults, upgrades, policies, alerts"),
  web: vitest("web", "the web application, in a browser"),
};

const suite: Menu = { ...inFront, ...aside };

const onRequest: Menu = {
  matrix: {
    description: "integration, e2e and cluster on the oldest and the newest Kubernetes",
    node: ["scripts/matrix.ts"],
  },
  migration: vitest("migration", "from the real External Secrets Operator (ESO_PROGRAM, ESO_CRDS)"),
  gitops: {
    description: "Flux and Argo CD's comparison, next to a control plane (--minutes N)",
    node: ["scripts/test-gitops.ts"],
  },
  rbac: vitest("rbac", "an operator without each single permission"),
  manifests: {
    description: "kube-score and kubeconform on overlays, or on the directories that follow",
    node: ["scripts/check-manifests.ts"],
  },
  schemathesis: {
    description: "the vault server's API against its OpenAPI document",
    node: ["scripts/schemathesis.ts"],
  },
};

/** `npm run check` has the unit tests. */
async function runSuite(): Promise<number> {
  const { status } = spawnSync("npm", ["run", "check"], { stdio: "inherit" });
  if (status !== 0) return status ?? 1;
  const names = Object.keys(aside).join(", ");
  process.stdout.write(`Next to the following: ${names}; what each prints comes at its end.\n`);
  const besides = runAll(aside, runAside);
  const code = await runAll(inFront);
  process.stdout.write(`Waiting for the end of ${names}.\n`);
  const codeOfBesides = await besides;
  return code === 0 ? codeOfBesides : code;
}

const unit = vitest("unit", "functions and modules, without a control plane");
process.exitCode =
  process.argv.length === 2
    ? await runSuite()
    : await runNamed(
        "npm test [-- NAME [OPTIONS]]    (without NAME: check, then all from postgres to web)",
        { unit, ...suite, ...onRequest },
      );
