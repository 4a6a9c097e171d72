import { dockerDaemon } from "../test/lab/docker/docker.ts";
import { runProgram } from "./menu/menu.ts";

const help = `Build the image and test it in containers, next to a real control plane (Vitest project "image").

Usage: npm test -- image [VITEST OPTIONS]

Where no Docker daemon responds, it says so and exits with 0. Otherwise the exit code is Vitest's.
`;

const args = process.argv.slice(2);

if (args.includes("--help")) {
  process.stdout.write(help);
} else if ((await dockerDaemon()) === undefined) {
  process.stdout.write(
    "NOT RUN: the tests of the image need a Docker daemon, and none responds on this machine.\n",
  );
} else {
  const node = ["node_modules/vitest/vitest.mjs", "run", "--project", "image"];
  process.exitCode = await runProgram({ description: "", node }, args);
}
