import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { TestDirectory } from "../../test-directory.ts";
import { silentProgress } from "../progress.ts";
import { k3sImage } from "./k3s-image.ts";
import type { Outcome } from "./source.ts";
import { newest } from "./version.ts";

const image = `rancher/k3s:${newest.version}-k3s1`;

const directory = new TestDirectory();
afterEach(() => vi.unstubAllEnvs());

/**
 * Searches with a `docker` on the path that responds to these commands only, and fails for all
 * others.
 */
async function findWith(
  ...responses: readonly (readonly [command: string, output: string])[]
): Promise<Outcome> {
  const bin = directory.join("bin");
  await mkdir(bin);
  const cases = responses
    .map(([command, output]) => `  "${command}"*) echo "${output}"; exit 0 ;;`)
    .join("\n");
  const script = `#!/bin/sh\ncase "$*" in\n${cases}\nesac\necho "no network" >&2\nexit 1\n`;
  await writeFile(join(bin, "docker"), script, { mode: 0o755 });
  await writeFile(join(bin, "kubectl"), "", { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env["PATH"]}`);
  return k3sImage.find({
    environment: { PATH: bin },
    release: newest,
    cache: directory.join("cache"),
    progress: silentProgress,
  });
}

const daemon = ["version", "28.0.0"] as const;
const bridge = ["network ls", "bridge"] as const;

test("k3s is unavailable without a daemon", async () => {
  expect(await findWith()).toEqual({ kind: "unavailable", why: "no Docker daemon is running" });
});

test("k3s is unavailable when the daemon has no bridge network", async () => {
  const outcome = await findWith(daemon, ["network ls", "host"]);
  expect(outcome).toEqual({ kind: "unavailable", why: "the Docker daemon has no bridge network" });
});

test("k3s is unavailable when its image cannot be pulled", async () => {
  const why = `${image} cannot be pulled (docker pull: no network)`;
  expect(await findWith(daemon, bridge)).toEqual({ kind: "unavailable", why });
});

test("k3s is available with its image and a kubectl on the path", async () => {
  const outcome = await findWith(daemon, bridge, [`image inspect ${image}`, "[]"]);
  expect(outcome).toEqual({ kind: "k3s", image, kubectl: directory.join("bin", "kubectl") });
});
