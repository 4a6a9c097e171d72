import { z } from "zod";
import { namespaceSelector } from "./namespace-selector.ts";
import { connectionFields, withConnectionRules } from "./vault-connection.ts";

const glob = z.string().min(1).max(256);
const globs = z.array(glob).max(256).optional();

const accessEntry = z.object({
  namespaceSelector: namespaceSelector.describe("Namespaces whose resources this entry concerns."),
  secrets: globs.describe(
    "Names of the secrets that they may read, for example shop-*; * stands for any characters. Defaults to none.",
  ),
  files: globs.describe("Names of the files that they may read, likewise. Defaults to none."),
});

export const clusterConnectionSpec = withConnectionRules(
  connectionFields("the operator's namespace").extend({
    access: z
      .array(accessEntry)
      .max(64)
      .optional()
      .describe(
        "Namespaces that may use this connection, and the names that each may read: those of every entry that selects it. Defaults to none.",
      ),
  }),
);
export type ClusterConnectionSpec = z.output<typeof clusterConnectionSpec>;
