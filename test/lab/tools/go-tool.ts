import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { findGo, requiredGo } from "./go-command.ts";
import { install, missingFiles, goPlatform, userCacheDirectory } from "./install.ts";

/** The programs, each a module in the folder go/ that pins its version. */
export const packages = {
  actionlint: "github.com/rhysd/actionlint/cmd/actionlint",
  health: "vaultsync.dev/tools/health",
  helm: "helm.sh/helm/v3/cmd/helm",
  "kube-score": "github.com/zegl/kube-score/cmd/kube-score",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform",
  promtool: "github.com/prometheus/prometheus/cmd/promtool",
} as const;

export type GoToolName = keyof typeof packages;

export const goToolNames = Object.keys(packages) as readonly GoToolName[];

/**
 * Returns the path of a program of the version that its module pins: from the user's cache, or
 * built once in about a minute on two cores. Installed programs are not used, because their version
 * and with it their results differ.
 * @throws Error if it is not in the cache and there is no Go, or the build failed
 */
export async function goTool(
  name: GoToolName,
  progress: Progress = silentProgress,
): Promise<string> {
  const module = join(import.meta.dirname, "go", name);
  const { os, arch } = goPlatform();
  const cache = join(
    userCacheDirectory(),
    "tools",
    `${name}-${await fingerprint(module)}-${os}-${arch}`,
  );
  if ((await missingFiles(cache, [name])).length > 0) await build(name, module, cache, progress);
  return join(cache, name);
}

async function build(
  name: GoToolName,
  module: string,
  cache: string,
  progress: Progress,
): Promise<void> {
  const go = await findGo(process.env);
  if ("why" in go)
    throw new Error(`${name} is built with ${requiredGo}, which is not available: ${go.why}`);
  progress.note(`Building ${name} with ${go.version}, once.`);
  await install({ cache, names: [name], progress }, (directory) =>
    // Service discovery is most of Prometheus, and promtool's tests need none of it.
    go.build(module, [
      "-tags=remove_all_sd",
      "-ldflags",
      "-s -w",
      "-o",
      join(directory, name),
      packages[name],
    ]),
  );
}

/**
 * Returns a hash of the sources of a module: another version has another directory in the cache.
 */
async function fingerprint(module: string): Promise<string> {
  const hash = createHash("sha256");
  for (const file of (await readdir(module)).toSorted())
    hash.update(file).update(await readFile(join(module, file)));
  return hash.digest("hex").slice(0, 12);
}
