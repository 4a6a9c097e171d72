import { stringify } from "yaml";

/** Formats an object as JSON or YAML. */
export const formatObject = (object: object, output: "json" | "yaml"): string =>
  output === "json" ? `${JSON.stringify(object, undefined, 2)}\n` : stringify(object);
