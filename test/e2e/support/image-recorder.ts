import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A program `docker` that builds and pushes nothing: `build` requires `--tag` and a folder with a
 * Dockerfile, `push` an image that was built. It stands for Docker where no daemon runs; the tests
 * of the image need one.
 */
const program = `
const { appendFileSync, existsSync, readFileSync } = require("node:fs");
const [command, ...args] = process.argv.slice(2);
const fail = (text) => { console.error("docker: " + text); process.exit(1); };
const record = process.argv[1] + ".record";
const built = () => existsSync(record) ? readFileSync(record, "utf8").split("\\n") : [];
if (command === "build") {
  const [flag, tag, folder, ...more] = args;
  if (flag !== "--tag" || more.length > 0) fail("expected build --tag IMAGE FOLDER");
  if (!existsSync(folder + "/Dockerfile")) fail("no Dockerfile in " + folder);
  appendFileSync(record, "built " + tag + "\\n");
} else if (command === "push") {
  if (args.length !== 1 || !built().includes("built " + args[0])) fail(args.join(" ") + " was not built");
  appendFileSync(record, "pushed " + args[0] + "\\n");
} else fail("expected build or push, not " + command);
`;

export class ImageRecorder {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Writes the program to a folder that is in the `PATH` of the commands. */
  static async install(folder: string): Promise<ImageRecorder> {
    const path = join(folder, "docker");
    await writeFile(path, `#!${process.execPath}\n${program}`, { mode: 0o755 });
    return new ImageRecorder(path);
  }

  /** Returns the pushed images. */
  async pushed(): Promise<ReadonlySet<string>> {
    const lines = (await readFile(`${this.#path}.record`, "utf8").catch(() => "")).split("\n");
    return new Set(lines.flatMap((line) => /^pushed (.+)$/u.exec(line)?.[1] ?? []));
  }
}
