import { z } from "zod";
import type { ImageConfig } from "../../test/lab/images/oci-archive.ts";

const Strings = z.array(z.string()).min(1);

/** The last stage of a Dockerfile: what it copies into the empty image, and the image's settings. */
export interface LastStage {
  /** Directories of the stage before, and the user that owns their files in the image. */
  readonly copies: readonly { readonly source: string; readonly owner: number }[];
  readonly config: ImageConfig;
}

/**
 * Reads the last stage of a Dockerfile. It permits only what an image consists of that no program
 * has to build: directories of an earlier stage, copied to the root, and settings.
 * @throws Error that names any other instruction
 */
export function lastStage(dockerfile: string): LastStage {
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const start = lines.findLastIndex((line) => line.startsWith("FROM "));
  if (lines[start] !== "FROM scratch")
    throw new Error(`Dockerfile: expected FROM scratch, found ${lines[start]}`);
  const copies: { source: string; owner: number }[] = [];
  const env: string[] = [];
  let settings: Partial<ImageConfig> = {};
  for (const line of lines.slice(start + 1)) {
    const [, instruction = "", rest = ""] = /^([A-Z]+) (.*)$/u.exec(line) ?? [];
    const copy = /^--from=\w+ (?:--chown=(\d+):\1 )?(\S+) \/$/u.exec(rest);
    if (instruction === "COPY" && copy?.[2] !== undefined)
      copies.push({ source: copy[2], owner: Number(copy[1] ?? 0) });
    else if (instruction === "ENV") env.push(rest);
    else if (instruction === "USER") settings = { ...settings, User: rest };
    else if (instruction === "ENTRYPOINT")
      settings = { ...settings, Entrypoint: Strings.parse(JSON.parse(rest)) };
    else if (instruction === "CMD")
      settings = { ...settings, Cmd: Strings.parse(JSON.parse(rest)) };
    else throw new Error(`Dockerfile: the last stage has an unknown instruction: ${line}`);
  }
  const { Entrypoint, ...others } = settings;
  if (Entrypoint === undefined) throw new Error("Dockerfile: expected an ENTRYPOINT");
  return { copies, config: { Env: env, Entrypoint, ...others } };
}
