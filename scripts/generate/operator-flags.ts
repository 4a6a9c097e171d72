import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { programTable } from "./option-cells.ts";

/** Returns the flags of `vaultsync operator` as a table, from their definition. */
export const operatorFlags = (): string => programTable("VAULTSYNC", operatorCommand().options);
