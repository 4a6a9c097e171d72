import { parseArgs } from "node:util";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { dockerDaemon } from "../test/lab/docker/docker.ts";
import { packageVersion } from "../src/lib/package-version.ts";
import { writeImageArchive } from "./image/archive.ts";
import { provideBase } from "./image/base.ts";
import { buildImage, type BuiltImage } from "./image/build.ts";
import { measureVault } from "./image/start-time.ts";
import { messageOf } from "../src/lib/errors.ts";

const help = `Build the image of the operator and the vault, start it once, and print its size, layers and start time.

Usage: npm run image [-- --tag NAME] [-- --base IMAGE] [-- --verify]

  --tag NAME     name of the image (default: vaultsync:${packageVersion()})
  --base IMAGE   Debian with Node 26 and npm, for the build stages (default: the one of the Dockerfile; where it cannot be pulled,
                 one made by debootstrap, which requires root on Debian)
  --verify       build everything a second time, and fail unless all layers are equal
  --archive FILE write the image to an archive of the OCI image layout, without Docker; requires Debian
  --help         show this help

Requires a network for npm ci and, except with --archive, a Docker daemon. Exit codes: 0 built, 1 failed, 2 usage.
`;

const options = {
  tag: { type: "string", default: `vaultsync:${packageVersion()}` },
  base: { type: "string" },
  verify: { type: "boolean", default: false },
  archive: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

const progress = terminalProgress();
const print = (line: string): void => void process.stdout.write(`${line}\n`);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;

function parse() {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    return messageOf(error);
  }
}

/** @throws Error when a second build has other layers */
async function verify(first: BuiltImage, base: string): Promise<void> {
  progress.note("Building everything a second time.");
  const second = await buildImage({ tag: `${first.tag}-verify`, base, fresh: true }, progress);
  const equal = first.layers.join() === second.layers.join();
  if (!equal)
    throw new Error(
      `the same sources gave other layers:\n  ${first.layers.join("\n  ")}\n  ${second.layers.join("\n  ")}`,
    );
  print("verified     a second build has the same layers");
}

async function run({
  tag,
  base: given,
  verify: twice,
}: {
  tag: string;
  base?: string;
  verify: boolean;
}): Promise<void> {
  const daemon = await dockerDaemon();
  if (daemon === undefined)
    throw new Error("no Docker daemon responds: start one, then run npm run image again");
  const base = await provideBase(given, progress);
  progress.note(`Building ${tag} on ${base}, with Docker ${daemon}.`);
  const image = await buildImage({ tag, base }, progress);
  print(`image        ${image.tag}`);
  print(`size         ${(image.bytes / 1e6).toFixed(1)} MB`);
  for (const layer of image.layers) print(`layer        ${layer}`);
  const { healthy, ready } = await measureVault(tag);
  print(
    `vault        /healthz after ${seconds(healthy)}, /readyz after ${seconds(ready)} (npm test -- image measures the operator)`,
  );
  if (twice) await verify(image, base);
}

async function archive(file: string, tag: string): Promise<void> {
  const image = await writeImageArchive({ name: `docker.io/library/${tag}`, file }, progress);
  print(`image        ${tag} in ${file}`);
  print(`manifest     ${image.digest}`);
  for (const layer of image.layers) print(`layer        ${layer}`);
}

const values = parse();
if (typeof values === "string") {
  process.stderr.write(`${values}\n\n${help}`);
  process.exitCode = 2;
} else if (values.help) {
  process.stdout.write(help);
} else {
  const done = values.archive === undefined ? run(values) : archive(values.archive, values.tag);
  await done.catch((error: unknown) => {
    progress.note(`image: ${messageOf(error)}`);
    process.exitCode = 1;
  });
}
