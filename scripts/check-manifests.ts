import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { startControlPlane } from "../test/lab/control-plane/start.ts";
import {
  type Findings,
  kubeconform,
  kubeScore,
} from "../test/lab/tools/manifests/check-manifests.ts";
import { writeSchemas } from "../test/lab/tools/manifests/write-schemas.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean" } },
});
if (values.help === true) {
  process.stdout.write(`Check manifests with kube-score and kubeconform.

npm test -- manifests [DIRECTORY]…

  DIRECTORY  directory with a kustomization (default: each overlay in deploy/overlays)

The schemas of kubeconform are those of a control plane that this command starts.
`);
  process.exit(0);
}

const root = join(import.meta.dirname, "..");
const schemas = await mkdtemp(join(tmpdir(), "vaultsync-schemas-"));
await using running = new AsyncDisposableStack();
running.defer(() => rm(schemas, { recursive: true }));
const plane = running.use(await startControlPlane({ progress: terminalProgress() }));
await writeSchemas(plane, schemas);

const report = (overlay: string, program: string, { isClean, output }: Findings): void => {
  process.stdout.write(`${overlay}: ${program}: ${isClean ? "clean" : `\n${output}`}\n`);
  if (!isClean) process.exitCode = 1;
};
const overlays = join(root, "deploy/overlays");
const all = async (): Promise<string[]> =>
  (await readdir(overlays)).map((overlay) => join(overlays, overlay));
for (const directory of positionals.length > 0 ? positionals : await all()) {
  const manifests = await plane.kubectlOutput(["kustomize", directory]);
  report(basename(directory), "kube-score", await kubeScore(manifests));
  report(basename(directory), "kubeconform", await kubeconform(manifests, schemas));
}
