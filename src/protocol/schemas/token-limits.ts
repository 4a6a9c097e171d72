import { z } from "zod";
import { characters } from "../names.ts";
import { expirationHours } from "./request-fields.ts";

/** Maximum number of networks of a token. */
const MAX_NETWORKS = 32;

/** Networks that a token may be used from; the server checks their form. */
export const allowedNetworks = z.array(characters(64)).min(1).max(MAX_NETWORKS).meta({
  description:
    "Addresses and networks (CIDR) from which the tokens can be used and refreshed; all when omitted.",
});

/** Hours until everything that comes from a token ends. */
export const lifetimeHours = expirationHours.meta({
  type: "integer",
  description:
    "Hours after which neither token is valid, nor any that comes from them by refresh; no limit when omitted.",
});
