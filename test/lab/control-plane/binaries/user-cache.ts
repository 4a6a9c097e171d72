import { missingFiles } from "../../tools/missing-files.ts";
import { unavailable, type Source } from "./source.ts";
import { components } from "./version.ts";

/** The binaries that an earlier run downloaded or built. */
export const userCache: Source = {
  name: "the user's cache directory",
  async find({ cache }) {
    const missing = await missingFiles(cache, components);
    return missing.length === 0
      ? { kind: "binaries", directory: cache }
      : unavailable(`${cache} is empty`);
  },
};
