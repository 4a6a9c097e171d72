import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Progress } from "../control-plane/progress.ts";
import { type GoModule, goPrograms } from "../tools/go-tool.ts";

const modules = join(import.meta.dirname, "go");
const flags = ["-ldflags", "-s -w"];

export const fluxControllers = ["source-controller", "kustomize-controller"] as const;
export type FluxController = (typeof fluxControllers)[number];

const packageOf = (controller: FluxController): string => `github.com/fluxcd/${controller}`;

const flux: GoModule = {
  name: "flux",
  directory: join(modules, "flux"),
  programs: Object.fromEntries(fluxControllers.map((name) => [name, packageOf(name)])),
  flags,
  finish: async (directory, go) => {
    await mkdir(join(directory, "crds"));
    for (const name of fluxControllers) {
      const source = join(
        await go.moduleDirectory(join(modules, "flux"), packageOf(name)),
        "config/crd/bases",
      );
      for (const file of await readdir(source))
        await copyFile(join(source, file), join(directory, "crds", file));
    }
  },
};

const argoDiff: GoModule = {
  name: "argo-diff",
  directory: join(modules, "argo-diff"),
  programs: { "argo-diff": "vaultsync.dev/argo-diff" },
  flags,
};

/** Programs of GitOps tools. */
export interface GitOpsPrograms {
  /** Directory of Flux's controllers, with their CRDs in `crds`. */
  readonly flux: string;
  /** Directory of `argo-diff`. */
  readonly argo: string;
}

/** Returns the programs from the user's cache, built once in minutes. */
export async function gitOpsPrograms(progress: Progress): Promise<GitOpsPrograms> {
  return { argo: await goPrograms(argoDiff, progress), flux: await goPrograms(flux, progress) };
}
