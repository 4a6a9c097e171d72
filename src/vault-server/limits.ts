/** What one server accepts. Sources: the vault contract, "Transport" and "Fine print". */
export interface Limits {
  readonly jsonBodyBytes: number;
  /** Levels of nesting in a JSON body, the body itself counted. */
  readonly jsonDepth: number;
  /** Of one secret value, in UTF-8. */
  readonly secretValueBytes: number;
  readonly fileBytes: number;
  readonly filesPerRequest: number;
  /** Code points of a secret's, file's or team's name. */
  readonly nameCharacters: number;
  /** Entries of a list in a request, and grants that one request may make. */
  readonly entriesPerRequest: number;
  /** Sustained rate per token, and how many may come at once. */
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  /** Failed log-ins within the window after which further ones are slowed. */
  readonly loginFailuresPerAccount: number;
  readonly loginFailuresPerAddress: number;
  readonly loginWindowMs: number;
  /** Letters for setting a password that one address on the network may ask for within that window. */
  readonly emailsPerAddress: number;
  /** Between two such letters to one recipient. */
  readonly emailIntervalMs: number;
  /** The longest a whole request, a slow upload for one, may take to arrive. */
  readonly requestTimeoutMs: number;
  /** Log-ins that may wait for their turn at hashing; more are told to come back. */
  readonly loginQueue: number;
}

export const defaultLimits: Limits = {
  jsonBodyBytes: 2 * 1024 * 1024,
  jsonDepth: 64,
  secretValueBytes: 1024 * 1024,
  fileBytes: 64 * 1024 * 1024,
  filesPerRequest: 100,
  nameCharacters: 256,
  entriesPerRequest: 10_000,
  requestsPerSecond: 50,
  requestBurst: 200,
  loginFailuresPerAccount: 5,
  loginFailuresPerAddress: 20,
  loginWindowMs: 15 * 60_000,
  emailsPerAddress: 20,
  emailIntervalMs: 60_000,
  requestTimeoutMs: 300_000,
  loginQueue: 500,
};

/** A throw-away server for development is ten times as wide, failed log-ins excepted. */
export const devLimits: Limits = { ...defaultLimits, requestsPerSecond: 500, requestBurst: 2000 };

/** Cost of one argon2id hash. */
export interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The minimum that OWASP recommends for argon2id. */
export const defaultPasswordCost: PasswordCost = { memoryKib: 19_456, passes: 2, lanes: 1 };
