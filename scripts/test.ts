/** Runs the whole suite, or the tests that the first argument names. */
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { runAll, runNamed, type Menu, type Program } from "./menu/menu.ts";

const vitest = (project: string, description: string): Program => ({
  description,
  node: ["node_modules/vitest/vitest.mjs", "run", "--project", project],
});

const asRoot = (project: string, description: string): Program => ({
  description,
  node: ["scripts/test-as-root.ts", project],
});

const suite: Menu = {
  postgres: vitest("postgres", "the vault server's tests on PostgreSQL"),
  web: vitest("web", "the web application, in a browser"),
  integration: vitest("integration", "single modules and the charts against a control plane"),
  faults: vitest("faults", "faults between real processes"),
  e2e: vitest("e2e", "whole operators against a control plane, each in its own namespace"),
  cluster: vitest("cluster", "an operator for the whole cluster, one test after the other"),
  image: asRoot("image", "the image, in containers: Linux, as root"),
  mounts: asRoot("mounts", "pods that mount targets, on a node of this machine: Linux, as root"),
};

const onRequest: Menu = {
  node: asRoot("node", "the same, and all else on a node: faults, upgrades, policies, alerts"),
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

/** Builds what the last tests need while the first ones run, until it is disposed. */
function buildPrograms(): Disposable {
  const program = join(import.meta.dirname, "build-test-programs.ts");
  const child = spawn(process.execPath, [program], {
    detached: true,
    stdio: ["pipe", "inherit", "inherit"],
  });
  child.unref();
  return { [Symbol.dispose]: () => child.stdin.destroy() };
}

/** `npm run check` has the unit tests. */
async function runSuite(): Promise<number> {
  using _programs = buildPrograms();
  const { status } = spawnSync("npm", ["run", "check"], { stdio: "inherit" });
  return status === 0 ? await runAll(suite) : (status ?? 1);
}

const unit = vitest("unit", "functions and modules, without a control plane");
process.exitCode =
  process.argv.length === 2
    ? await runSuite()
    : await runNamed(
        "npm test [-- NAME [OPTIONS]]    (without NAME: check, then all from postgres to mounts)",
        { unit, ...suite, ...onRequest },
      );
