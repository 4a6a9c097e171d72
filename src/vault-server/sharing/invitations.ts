/** Somebody who has been given something and would not see it without being told. Addresses are canonical. */
export interface Invitation {
  readonly to: string;
  /** Who shared. */
  readonly from: string;
  /** `sign-up`: there is no account of this address yet; `log-in`: there is one, without a live session. */
  readonly reason: "sign-up" | "log-in";
}

/** How invitations reach people. Source: the interface, "share"; the vault contract, "Sharing, teams, people". */
export interface Invitations {
  /** Takes charge of the invitations of one request, after its grants are in force: a failure does not undo them. */
  invite(invitations: readonly Invitation[]): Promise<void>;
}

/** Nobody is told; what was shared is there after sign-up or log-in all the same. */
export const noInvitations: Invitations = { invite: async () => undefined };
