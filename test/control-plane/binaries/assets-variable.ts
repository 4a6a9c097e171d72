import { missingComponents } from "./missing-components.ts";
import { unavailable, type Source } from "./source.ts";

/** Envtest's convention. Its own archives lack the controller manager, so such a directory is used only when it is whole. */
export const assetsVariable: Source = {
  name: "KUBEBUILDER_ASSETS, a directory with the binaries",
  async find({ environment }) {
    const directory = environment["KUBEBUILDER_ASSETS"];
    if (!directory) return unavailable("not set");
    const missing = await missingComponents(directory);
    return missing.length === 0 ? { kind: "binaries", directory } : unavailable(`${directory} lacks ${missing.join(", ")}`);
  },
};
