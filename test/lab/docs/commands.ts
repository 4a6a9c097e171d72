/** A command of a page, verbatim. */
export interface PageCommand {
  /** The nearest heading above. */
  readonly heading: string;
  /** The line without its trailing comment. */
  readonly command: string;
  /** True when the line's comment says "keep running". */
  readonly keepsRunning: boolean;
}

/** Returns the commands in the ```sh blocks of a page, in order. */
export function commandsIn(markdown: string): PageCommand[] {
  const commands: PageCommand[] = [];
  let heading = "";
  let inBlock = false;
  for (const line of markdown.split("\n")) {
    const title = /^#+ (.+)$/.exec(line)?.[1];
    if (!inBlock && title !== undefined) heading = title;
    else if (line.startsWith("```")) inBlock = line === "```sh";
    else if (inBlock && line.trim() !== "") {
      const [command = "", ...comment] = line.split(/\s{2,}# /);
      commands.push({
        heading,
        command: command.trim(),
        keepsRunning: comment.join().startsWith("keep running"),
      });
    }
  }
  return commands;
}

/** Returns the ```yaml blocks of a page. */
export function manifestsIn(markdown: string): string[] {
  return [...markdown.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
}
