import type { Redacted } from "../../../lib/redacted.ts";

/** Where a connection's right to log in comes from. More kinds may join. */
export type CredentialSource = {
  readonly kind: "password";
  /** Asked for at each log-in, so that a changed password is found. What it throws, the call that needed it throws. */
  readonly password: () => Promise<Redacted<string>>;
};
