import type { Consumer } from "../../../src/operator/vault-client/connection.ts";

/** A resource that values are read for. */
export const CONSUMER: Consumer = { namespace: "shop", kind: "VaultSecret", name: "db" };
