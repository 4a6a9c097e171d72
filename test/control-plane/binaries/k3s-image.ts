import { execFile } from "node:child_process";
import { access, constants, mkdtemp, mkdir, rename, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { unavailable, type Source } from "./source.ts";
import { kubernetesVersion } from "./version.ts";

const run = promisify(execFile);
const image = `rancher/k3s:${kubernetesVersion}-k3s1`;
const daemonTimeoutMs = 3000;
const pullMs = 300_000;

/** One container instead of three processes (see supervisor/k3s-cluster.ts), with kubectl from the path or the image. */
export const k3sImage: Source = {
  name: "a k3s container",
  async find({ environment, cache, progress }) {
    try {
      await run("docker", ["info", "--format", "{{.ServerVersion}}"], { timeout: daemonTimeoutMs });
    } catch {
      return unavailable("no Docker daemon is running");
    }
    try {
      await run("docker", ["image", "inspect", image], { timeout: daemonTimeoutMs });
    } catch {
      progress.note(`Pulling ${image}.`);
      try {
        await run("docker", ["pull", "--quiet", image], { timeout: pullMs });
      } catch {
        return unavailable(`${image} cannot be pulled`);
      }
    }
    try {
      const kubectl = (await onPath("kubectl", environment["PATH"] ?? "")) ?? (await kubectlFromImage(`${cache}-k3s`));
      return kubectl === undefined ? unavailable("no kubectl on the path") : { kind: "k3s", image, kubectl };
    } catch {
      return unavailable(`no kubectl on the path, and none from ${image}`);
    }
  },
};

async function onPath(name: string, path: string): Promise<string | undefined> {
  for (const directory of path.split(delimiter)) {
    const file = join(directory, name);
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

/** Copies the binary of k3s, which is kubectl under that name. It runs on Linux only. */
async function kubectlFromImage(directory: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const kubectl = join(directory, "kubectl");
  if (await isExecutable(kubectl)) return kubectl;
  await mkdir(dirname(directory), { recursive: true });
  const temporary = await mkdtemp(`${directory}.tmp-`);
  const { stdout } = await run("docker", ["create", image]);
  const container = stdout.trim();
  try {
    await run("docker", ["cp", `${container}:/bin/k3s`, join(temporary, "kubectl")]);
    await rm(directory, { recursive: true, force: true });
    await rename(temporary, directory);
    return kubectl;
  } finally {
    await run("docker", ["rm", "--force", "--volumes", container]);
    await rm(temporary, { recursive: true, force: true });
  }
}

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
