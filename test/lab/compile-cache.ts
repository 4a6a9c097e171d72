import { join } from "node:path";

/**
 * Directory in which the processes and threads of all tests share the compiled sources: their start
 * takes a third to half less time.
 */
export const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/vaultsync-test");
