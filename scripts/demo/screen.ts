import { terminalProgress } from "../../test/control-plane/progress.ts";

/** Everything the demo says goes through here, so that a line that is rewritten on a terminal never gets into the next one. */
export const screen = terminalProgress(process.stdout);
