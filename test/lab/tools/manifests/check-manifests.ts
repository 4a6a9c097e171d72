import { runToEnd } from "../../processes/run-to-end.ts";
import { goTool } from "../go-tool.ts";
import { schemaLocation } from "./write-schemas.ts";

/** The result of a program that checked manifests. */
export interface Findings {
  readonly isClean: boolean;
  /** The text that the program printed. */
  readonly output: string;
}

/** Flags of kube-score for the manifests of this project. */
const kubeScoreFlags = [
  "--exit-one-on-warning",
  // The oldest version that we support.
  "--kubernetes-version=v1.30",
  "--enable-optional-test=container-seccomp-profile",
  "--enable-optional-test=container-ports-check",
  // A limit of the CPU throttles an operator while other pods need the CPU, and it loses its lease;
  // a request shares the CPU fairly.
  "--ignore-container-cpu-limit",
  // A tag of ours is immutable. With Always, a pod could not restart while the registry cannot be
  // reached.
  "--ignore-test=container-image-pull-policy",
];

/** Checks manifests against the rules of kube-score. */
export async function kubeScore(manifests: string): Promise<Findings> {
  return run(
    await goTool("kube-score"),
    ["score", "--color=never", ...kubeScoreFlags, "-"],
    manifests,
  );
}

/** Checks manifests against the schemas that `writeSchemas` wrote. */
export async function kubeconform(manifests: string, schemas: string): Promise<Findings> {
  return run(
    await goTool("kubeconform"),
    ["-strict", "-summary", "-schema-location", schemaLocation(schemas), "-"],
    manifests,
  );
}

async function run(program: string, args: readonly string[], input: string): Promise<Findings> {
  const { stdout, stderr, code } = await runToEnd(program, args, { input });
  return { isClean: code === 0, output: stdout + stderr };
}
