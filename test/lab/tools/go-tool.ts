import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { findGo, type GoCommand, requiredGo } from "./go-command.ts";
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

/** A program is not in the cache, and this machine cannot build it. */
export class GoMissingError extends Error {
  override readonly name = "GoMissingError";
}

/** Programs of one module, built and stored together. */
export interface GoModule {
  readonly name: string;
  /** Directory of its go.mod. */
  readonly directory: string;
  /** The package of each program. */
  readonly programs: Readonly<Record<string, string>>;
  /** Further arguments of `go build`. */
  readonly flags: readonly string[];
  /** Adds files to the directory of the built programs. */
  readonly finish?: (directory: string, go: GoCommand) => Promise<void>;
}

/**
 * Returns the path of a program of the version that its module pins: from the user's cache, or
 * built once in about a minute on two cores. Installed programs are not used, because their version
 * and with it their results differ.
 * @throws GoMissingError if it is not in the cache and there is no Go
 * @throws Error if the build failed
 */
export async function goTool(
  name: GoToolName,
  progress: Progress = silentProgress,
): Promise<string> {
  const directory = join(import.meta.dirname, "go", name);
  const programs = { [name]: packages[name] };
  // Service discovery is most of Prometheus, and promtool's tests need none of it.
  const flags = ["-tags=remove_all_sd", "-ldflags", "-s -w"];
  return join(await goPrograms({ name, directory, programs, flags }, progress), name);
}

/** Returns the directory of a module's programs, as `goTool` does for a single one. */
export async function goPrograms(module: GoModule, progress: Progress): Promise<string> {
  const { os, arch } = goPlatform();
  const cache = join(
    userCacheDirectory(),
    "tools",
    `${module.name}-${await fingerprint(module.directory)}-${os}-${arch}`,
  );
  const names = Object.keys(module.programs);
  if ((await missingFiles(cache, names)).length > 0) await build(module, cache, progress);
  return cache;
}

async function build(module: GoModule, cache: string, progress: Progress): Promise<void> {
  const { name, directory: source, programs, flags, finish } = module;
  const go = await findGo(process.env);
  if ("why" in go)
    throw new GoMissingError(
      `${name} is built with ${requiredGo}, which is not available: ${go.why}`,
    );
  progress.note(`Building ${name} with ${go.version}, once.`);
  await install({ cache, names: Object.keys(programs), progress }, async (directory) => {
    for (const [program, path] of Object.entries(programs)) {
      let packagesBuilt = 0;
      await go.build(source, [...flags, "-o", join(directory, program), path], () => {
        packagesBuilt++;
        progress.update(`Building ${program}: ${packagesBuilt} packages`);
      });
    }
    await finish?.(directory, go);
  });
}

/**
 * Returns a hash of the sources of a module: another version has another directory in the cache.
 */
async function fingerprint(module: string): Promise<string> {
  const hash = createHash("sha256");
  const files = (await readdir(module, { recursive: true })).filter((file) =>
    /\.(?:go|mod|sum)$/u.test(file),
  );
  for (const file of files.toSorted()) hash.update(file).update(await readFile(join(module, file)));
  return hash.digest("hex").slice(0, 12);
}
