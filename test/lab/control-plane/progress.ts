import { clearLine, cursorTo } from "node:readline";

/** Reports the progress of a long preparation. */
export interface Progress {
  /** Prints a line that stays on the screen. */
  note(line: string): void;
  /** Prints the current state; a terminal shows only the latest one. */
  update(line: string): void;
}

const quietSeconds = 10;

/**
 * Prints updates on one rewritten line of a terminal; elsewhere (CI logs) at most one line in ten
 * seconds.
 */
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
