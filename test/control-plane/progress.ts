import { clearLine, cursorTo } from "node:readline";

/** How a long preparation speaks to whoever waits for it. */
export interface Progress {
  /** A fact worth keeping on the screen. */
  note(line: string): void;
  /** Where things stand; a terminal shows only the latest. */
  update(line: string): void;
}

const quietSeconds = 10;

/** On a terminal one line that is rewritten; elsewhere (CI logs) at most one line in ten seconds. */
export function terminalProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  let open = false;
  let lastUpdate = 0;
  const wipe = (): void => {
    if (!open) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
    open = false;
  };
  return {
    note(line) {
      wipe();
      stream.write(`${line}\n`);
    },
    update(line) {
      if (stream.isTTY) {
        wipe();
        stream.write(line.slice(0, Math.max(20, stream.columns - 1)));
        open = true;
        return;
      }
      const now = performance.now();
      if (lastUpdate !== 0 && now - lastUpdate < quietSeconds * 1000) return;
      lastUpdate = now;
      stream.write(`${line}\n`);
    },
  };
}

export const silentProgress: Progress = { note: () => {}, update: () => {} };
