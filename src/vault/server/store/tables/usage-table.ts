/** Amounts that accounts own. */
export interface Usage {
  readonly secrets: number;
  /** Versions of secrets and files. */
  readonly versions: number;
  /** Sealed values, metadata and files. */
  readonly bytes: number;
  /** Shares of the secrets. */
  readonly grants: number;
}

/** Amounts by account. Triggers of the database keep them up to date, whatever changes the rows. */
export interface UsageTable {
  of(email: string): Promise<Usage>;
  /** Returns the sums over all accounts. */
  total(): Promise<Usage>;
}
