import { missingFiles } from "../../tools/missing-files.ts";
import { unavailable, type Source } from "./source.ts";
import { components } from "./version.ts";

/**
 * The convention of envtest. Its own archives lack the controller manager, so an incomplete
 * directory is not used.
 */
export const assetsVariable: Source = {
  name: "KUBEBUILDER_ASSETS, a directory with the binaries",
  async find({ environment }) {
    const directory = environment["KUBEBUILDER_ASSETS"];
    if (!directory) return unavailable("not set");
    const missing = await missingFiles(directory, components);
    return missing.length === 0
      ? { kind: "binaries", directory }
      : unavailable(`${directory} lacks ${missing.join(", ")}`);
  },
};
