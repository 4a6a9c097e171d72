import { access, constants, mkdtemp, mkdir, rename, rm } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { docker, dockerDaemon, hasBridge, hasImage, provideImage } from "../../docker/docker.ts";
import { unavailable, type Source } from "./source.ts";

const pullMs = 300_000;

/**
 * One container instead of three processes (see supervisor/k3s-cluster.ts), with kubectl from the
 * path or the image.
 */
export const k3sImage: Source = {
  name: "a k3s container",
  async find({ environment, release, cache, progress }) {
    const image = `rancher/k3s:${release.version}-k3s1`;
    if ((await dockerDaemon()) === undefined) return unavailable("no Docker daemon is running");
    if (!(await hasBridge())) return unavailable("the Docker daemon has no bridge network");
    if (!(await hasImage(image))) progress.note(`Pulling ${image}.`);
    const failure = await provideImage(image, pullMs);
    if (failure !== undefined) return unavailable(failure);
    try {
      const kubectl =
        (await onPath("kubectl", environment["PATH"] ?? "")) ??
        (await kubectlFromImage(image, `${cache}-k3s`));
      return kubectl === undefined
        ? unavailable("no kubectl on the path")
        : { kind: "k3s", image, kubectl };
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

/** Copies the binary of k3s. Named kubectl, it acts as kubectl. It runs on Linux only. */
async function kubectlFromImage(image: string, directory: string): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  const kubectl = join(directory, "kubectl");
  if (await isExecutable(kubectl)) return kubectl;
  await mkdir(dirname(directory), { recursive: true });
  const temporary = await mkdtemp(`${directory}.tmp-`);
  const container = await docker(["create", image]);
  try {
    await docker(["cp", `${container}:/bin/k3s`, join(temporary, "kubectl")]);
    await rm(directory, { recursive: true, force: true });
    await rename(temporary, directory);
    return kubectl;
  } finally {
    await docker(["rm", "--force", "--volumes", container]);
    await rm(temporary, { recursive: true, force: true });
  }
}

function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
