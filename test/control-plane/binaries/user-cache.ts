import { missingComponents } from "./missing-components.ts";
import { unavailable, type Source } from "./source.ts";

/** The binaries that an earlier run downloaded or built. */
export const userCache: Source = {
  name: "the user's cache directory",
  async find({ cache }) {
    const missing = await missingComponents(cache);
    return missing.length === 0 ? { kind: "binaries", directory: cache } : unavailable(`${cache} is empty`);
  },
};
