import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { z } from "zod";
import { docker, hasBridge } from "../../test/lab/docker/docker.ts";
import type { Progress } from "../../test/lab/control-plane/progress.ts";

const root = join(import.meta.dirname, "../..");
const shownLines = 30;

export interface BuildOptions {
  readonly tag: string;
  readonly base: string;
  /** Repeats every step, although Docker has the result of an earlier build. */
  readonly fresh?: boolean;
}

export interface BuiltImage {
  readonly tag: string;
  /** Size of the files, uncompressed. */
  readonly bytes: number;
  /** Digests of the layers: equal for equal files, users, modes and times. */
  readonly layers: readonly string[];
}

const Inspected = z.tuple([
  z.object({ Size: z.int(), RootFS: z.object({ Layers: z.array(z.string()) }) }),
]);

/** Builds the Dockerfile of this repository. @throws Error with the end of the build's log */
export async function buildImage(
  { tag, base, fresh = false }: BuildOptions,
  progress: Progress,
): Promise<BuiltImage> {
  const args = [
    "build",
    ...((await hasBridge()) ? [] : ["--network=host"]),
    ...(fresh ? ["--no-cache"] : []),
    `--build-arg=NODE_IMAGE=${base}`,
    "--build-arg=SOURCE_DATE_EPOCH=0",
    `--tag=${tag}`,
    root,
  ];
  const child = spawn("docker", args, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  const lines: string[] = [];
  const read = async (stream: typeof child.stdout): Promise<void> => {
    for await (const line of createInterface({ input: stream })) {
      lines.push(line);
      if (/^(?:Step |#\d+ \[)/u.test(line)) progress.update(line);
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  const [code] = await ended;
  if (code !== 0)
    throw new Error(`docker build failed with ${code}:\n${lines.slice(-shownLines).join("\n")}`);
  return inspectImage(tag);
}

async function inspectImage(tag: string): Promise<BuiltImage> {
  const [{ Size, RootFS }] = Inspected.parse(JSON.parse(await docker(["image", "inspect", tag])));
  return { tag, bytes: Size, layers: RootFS.Layers };
}
