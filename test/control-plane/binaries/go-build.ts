import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import type { Progress } from "../progress.ts";
import { install } from "./install.ts";
import { unavailable, type Source } from "./source.ts";
import { goPlatform, kubernetesVersion } from "./version.ts";
import { codeOf } from "../../../src/lib/error-code.ts";

const run = promisify(execFile);
const minimumMinor = 26;
const packages = {
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  etcd: "go.etcd.io/etcd/server/v3",
};

/** The last source: a build that requires only Go and its module proxy, and takes about ten minutes on two cores, once. */
export const goBuild: Source = {
  name: `a build from source with Go 1.${minimumMinor} or later`,
  async find({ environment, cache, progress }) {
    const env = buildEnvironment(environment);
    const version = await goVersion(env);
    if (typeof version !== "string") return unavailable(version.why);
    try {
      await install(cache, progress, (directory) => build(directory, env, version, progress));
    } catch (error) {
      return unavailable(error instanceof Error ? error.message : String(error));
    }
    return { kind: "binaries", directory: cache };
  },
};

/** Returns an environment in which the caller's workspace, target platform or cgo settings do not affect the build. */
function buildEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { os, arch } = goPlatform();
  return { ...environment, CGO_ENABLED: "0", GOWORK: "off", GO111MODULE: "on", GOOS: os, GOARCH: arch };
}

async function goVersion(env: NodeJS.ProcessEnv): Promise<string | { why: string }> {
  try {
    const { stdout } = await run("go", ["env", "GOVERSION"], { cwd: import.meta.dirname, env });
    const minor = /go1\.(\d+)/.exec(stdout)?.[1];
    if (Number(minor) >= minimumMinor) return stdout.trim();
    return { why: `found ${stdout.trim() || "an unknown version"}` };
  } catch (error) {
    const missing = codeOf(error) === "ENOENT";
    return { why: missing ? "no go command" : `cannot run go: ${lastLine(error)}` };
  }
}

async function build(directory: string, env: NodeJS.ProcessEnv, version: string, progress: Progress): Promise<void> {
  progress.note(
    `Building Kubernetes ${kubernetesVersion} and etcd with ${version}, once; this takes about ten minutes on two cores.`,
  );
  const started = performance.now();
  progress.update("Fetching the modules");
  // -mod=readonly overrides a -mod in GOFLAGS, which may require a missing vendor directory.
  const list = ["list", "-mod=readonly", "-deps", ...Object.values(packages)];
  const { stdout } = await run("go", list, { cwd: import.meta.dirname, env, maxBuffer: 1 << 26 });
  const total = stdout.trim().split("\n").length;
  const done = new Set<string>();
  for (const [name, path] of Object.entries(packages)) {
    const report = (): void => {
      const seconds = Math.round((performance.now() - started) / 1000);
      progress.update(`Building ${name}: ${done.size} of at most ${total} packages, ${seconds} s`);
    };
    report();
    await compile(["-o", join(directory, name), path], env, (compiled) => {
      done.add(compiled);
      report();
    });
  }
}

async function compile(target: string[], env: NodeJS.ProcessEnv, onPackage: (path: string) => void): Promise<void> {
  const stamp = "k8s.io/component-base/version";
  const [major, minor] = kubernetesVersion.slice(1).split(".");
  // Without the stamp the server reports v0.0.0, which clients reject.
  const ldflags = `-s -w -X ${stamp}.gitVersion=${kubernetesVersion} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`;
  const args = ["build", "-mod=readonly", "-trimpath", "-v", "-ldflags", ldflags, ...target];
  const child = spawn("go", args, { cwd: import.meta.dirname, env, stdio: ["ignore", "ignore", "pipe"] });
  const errors: string[] = [];
  const lines = createInterface({ input: child.stderr });
  lines.on("line", (line) => {
    if (/^[\w.\-/]+$/.test(line)) onPackage(line);
    else if (!line.startsWith("go: downloading")) errors.push(line);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`go build failed: ${errors.slice(-5).join(" / ")}`);
}

function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? "";
}
