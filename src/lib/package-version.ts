import manifest from "../../package.json" with { type: "json" };

/** Returns the version in package.json. */
export const packageVersion = (): string => manifest.version;
