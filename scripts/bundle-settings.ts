import { join } from "node:path";

/** Settings of all bundles: none from files of settings, of the environment or of the user. */
export const bundleSettings = {
  configFile: false,
  envDir: false,
  publicDir: false,
  logLevel: "warn",
} as const;

/** The modules that start a thread of their own file. */
export const threadModules = [
  "operator/sync/check-value-aside",
  "operator/template/render-aside",
  "operator/vault-client/mirror/list-reader",
].map((name) => ({ name, path: join(import.meta.dirname, "../src", `${name}.ts`) }));
