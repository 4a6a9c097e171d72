import { MAX_FILE_BYTES } from "../../protocol/limits.ts";

/** Maximum amounts of one account (docs/design/vault-contract.md#quotas). */
export interface Quotas {
  readonly secrets: number;
  /** Versions of one secret. */
  readonly secret_versions: number;
  /** Versions of one file. */
  readonly file_versions: number;
  /** Versions of all secrets and files. */
  readonly versions: number;
  /** Bytes of all values, their metadata and files. */
  readonly bytes: number;
  /** Logins with a live access token; idle ones end when there are more. */
  readonly tokens: number;
  readonly teams: number;
  /** Shares of an account's secrets with users and teams, and shares of one secret. */
  readonly grants: number;
  readonly secret_grants: number;
  /** Entries in the trash of an account; the oldest ones are removed when there are more. */
  readonly trash: number;
  /** Senders that one user has blocked. */
  readonly blocked_senders: number;
  /** Members of one team. */
  readonly members: number;
  /** Uploads in progress at one server process. */
  readonly uploads: number;
  /**
   * Secrets, and bytes of their metadata, of one sender in the list of a recipient who has not
   * accepted the sender.
   */
  readonly unaccepted_secrets: number;
  readonly unaccepted_bytes: number;
  /** Bytes of the metadata of all such senders in one list. */
  readonly unaccepted_total: number;
}

export type QuotaName = keyof Quotas;

export const defaultQuotas: Quotas = {
  secrets: 100_000,
  secret_versions: 10_000,
  file_versions: 10_000,
  versions: 1_000_000,
  // Below a third of the smallest volume in deploy/: one account does not fill it.
  bytes: 1024 ** 3,
  tokens: 2_000,
  teams: 100,
  grants: 10_000,
  secret_grants: 1_000,
  trash: 5_000,
  blocked_senders: 1_000,
  members: 1_000,
  uploads: 20,
  unaccepted_secrets: 100,
  unaccepted_bytes: 256 * 1024,
  unaccepted_total: 1024 * 1024,
};

/** Names of the amounts, for messages. */
export const quotaTexts: Readonly<Record<QuotaName, string>> = {
  secrets: "secrets of an account",
  secret_versions: "versions of a secret",
  file_versions: "versions of a file",
  versions: "versions of an account's secrets and files",
  bytes: "bytes of an account's values and files",
  tokens: "logins with a live token of an account",
  teams: "teams of an account",
  grants: "shares of an account's secrets",
  secret_grants: "shares of a secret",
  trash: "entries in the trash of an account",
  blocked_senders: "blocked senders of a user",
  members: "members of a team",
  uploads: "simultaneous uploads of an account",
  unaccepted_secrets: "secrets shared with a recipient who has shared nothing with you",
  unaccepted_bytes: "bytes of metadata shared with a recipient who has shared nothing with you",
  unaccepted_total:
    "bytes of metadata that a recipient has from those with whom nothing was shared",
};

/** Sizes and times of one request of any client. */
interface RequestLimits {
  readonly jsonBodyBytes: number;
  /** Maximum nesting of a JSON body, including the body itself. */
  readonly jsonDepth: number;
  /** Maximum number of members, elements, arrays and objects in a JSON body. */
  readonly jsonValues: number;
  /** Maximum size of a secret value in UTF-8. */
  readonly secretValueBytes: number;
  /**
   * Maximum size of a version's metadata as JSON in UTF-8, and maximum number of its names, the
   * standard ones included.
   */
  readonly metadataBytes: number;
  readonly metadataNames: number;
  readonly fileBytes: number;
  readonly filesPerRequest: number;
  /** Maximum length of the name of a secret, file or team, in code points. */
  readonly nameCharacters: number;
  /** Maximum number of entries of a list in a request. */
  readonly entriesPerRequest: number;
  /** Maximum number of shares that one request creates: names times recipients. */
  readonly sharesPerRequest: number;
  /** Timeout for a JSON body, in milliseconds. */
  readonly bodyTimeoutMs: number;
  /**
   * Timeout for reading a response, in addition to one second per 32 KiB, and for reading a
   * streamed one, in milliseconds.
   */
  readonly responseTimeoutMs: number;
  readonly streamTimeoutMs: number;
  /** Timeout for reading each 32 KiB of a file or a list, in milliseconds. */
  readonly progressTimeoutMs: number;
  /** Timeout for a whole request, for example a slow upload, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Amounts that an account, or one of its tokens, may store, or use in a time. */
export interface AccountLimits {
  readonly quotas: Quotas;
  /** Sustained request rate per token; `requestBurst` requests may arrive simultaneously. */
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
  /**
   * Maximum number of bytes that the requests of one account may add to the audit log in an hour.
   */
  readonly auditBytesPerHour: number;
  /**
   * Sustained rate of requests per account while the disk space is low, deletions excepted;
   * `lowSpaceBurst` may arrive simultaneously.
   */
  readonly lowSpaceRequestsPerSecond: number;
  readonly lowSpaceBurst: number;
  /**
   * Maximum number of invitations that one sender causes in an hour; further shares send no email.
   */
  readonly invitationsPerHour: number;
  /**
   * Maximum number of strangers of whom one account may ask in an hour, with `invite: false`,
   * whether they would be invited.
   */
  readonly strangersAskedPerHour: number;
  /** Maximum number of downloads in progress of one account. */
  readonly downloadsPerAccount: number;
}

/** Failed logins, password emails, and the queue for hashing passwords. */
export interface LoginLimits {
  /**
   * Failed logins within `loginWindowMs` after which further logins are throttled: to an account,
   * and from a network.
   */
  readonly loginFailuresPerAccount: number;
  readonly loginFailuresPerNetwork: number;
  readonly loginWindowMs: number;
  /** Maximum number of password emails that one IP address may request within `loginWindowMs`. */
  readonly emailsPerAddress: number;
  /**
   * Minimum interval between the first two password emails to one recipient, doubled by each
   * further one within a day, and its maximum, in milliseconds.
   */
  readonly emailIntervalMs: number;
  readonly maxEmailIntervalMs: number;
  /**
   * Maximum number of logins waiting for password hashing; further ones are rejected with
   * `rate_limited`.
   */
  readonly loginQueue: number;
  /** The part of `loginQueue` for accounts in networks that they have not logged in from. */
  readonly loginQueueUnknown: number;
  /** The part of `loginQueue` that one network, and one account in a network, may take. */
  readonly loginQueuePerNetwork: number;
  readonly loginQueuePerAccount: number;
}

/** Amounts that a network may use before its requests have valid credentials. */
export interface NetworkLimits {
  /** Maximum size of a JSON body without valid credentials. */
  readonly unauthenticatedBodyBytes: number;
  /**
   * Sustained rate of failed requests without valid credentials per network; `unauthenticatedBurst` may
   * arrive simultaneously.
   */
  readonly unauthenticatedFailuresPerSecond: number;
  readonly unauthenticatedBurst: number;
  /**
   * Sustained rate of lines in the audit log about requests without valid credentials, for all
   * networks together, and its burst.
   */
  readonly unauthenticatedLinesPerSecond: number;
  readonly unauthenticatedLinesBurst: number;
  /**
   * Sustained rate of rejections that are sent immediately, per network or account;
   * `rejectionBurst` may be sent simultaneously.
   */
  readonly rejectionsPerSecond: number;
  readonly rejectionBurst: number;
  /**
   * Time that further rejections are delayed, in milliseconds, and maximum number of them, of one
   * network or account and in total.
   */
  readonly rejectionDelayMs: number;
  readonly delayedRejectionsPerParty: number;
  readonly delayedRejections: number;
  /**
   * Sustained rate of pages, scripts and API descriptions that are sent immediately, per network;
   * `pageBurst` may be sent simultaneously. Further ones are delayed like rejections.
   */
  readonly pagesPerSecond: number;
  readonly pageBurst: number;
  /** Maximum number of open connections, in total and of one network. */
  readonly connections: number;
  readonly connectionsPerNetwork: number;
  /**
   * Maximum number of connections without valid credentials of a network whose rejections are delayed.
   */
  readonly unauthenticatedConnections: number;
}

/** Lists that wait for a change, and lists that clients read. */
interface ListLimits {
  /**
   * Maximum number of lists that wait for a change, in total, of one account, and of one login;
   * further ones do not wait.
   */
  readonly waitingLists: number;
  readonly waitingListsPerAccount: number;
  readonly waitingListsPerLogin: number;
  /**
   * Maximum size of the lists that are in memory while clients read them, and maximum number of
   * them per account.
   */
  readonly listBytes: number;
  readonly listsPerAccount: number;
  /** Maximum number of responses of one account that send a list in memory of more than 64 KiB. */
  readonly listResponsesPerAccount: number;
  /**
   * Size of a list from which it is streamed instead of being kept in memory for all clients that
   * read it.
   */
  readonly sharedListBytes: number;
  /**
   * Maximum number of lists that wait for a place, in total and of one account, and the time that
   * they wait, in milliseconds.
   */
  readonly queuedLists: number;
  readonly queuedListsPerAccount: number;
  readonly listTimeoutMs: number;
}

/** Limits of a server (docs/design/vault-contract.md#limits), by what is limited. */
export interface Limits
  extends RequestLimits, AccountLimits, LoginLimits, NetworkLimits, ListLimits {}

export const defaultLimits: Limits = {
  jsonBodyBytes: 2 * 1024 * 1024,
  jsonDepth: 64,
  jsonValues: 40_000,
  secretValueBytes: 1024 * 1024,
  metadataBytes: 64 * 1024,
  metadataNames: 100,
  fileBytes: MAX_FILE_BYTES,
  filesPerRequest: 100,
  nameCharacters: 256,
  entriesPerRequest: 10_000,
  sharesPerRequest: 200,
  requestsPerSecond: 50,
  requestBurst: 200,
  // The bytes that one token adds by reading at its full rate.
  auditBytesPerHour: 128 * 1024 * 1024,
  lowSpaceRequestsPerSecond: 1,
  lowSpaceBurst: 20,
  loginFailuresPerAccount: 5,
  loginFailuresPerNetwork: 20,
  loginWindowMs: 15 * 60_000,
  emailsPerAddress: 20,
  invitationsPerHour: 50,
  strangersAskedPerHour: 20,
  emailIntervalMs: 60_000,
  maxEmailIntervalMs: 4 * 3_600_000,
  unauthenticatedBodyBytes: 16 * 1024,
  unauthenticatedFailuresPerSecond: 5,
  unauthenticatedBurst: 100,
  unauthenticatedLinesPerSecond: 10,
  unauthenticatedLinesBurst: 1_000,
  rejectionsPerSecond: 2,
  rejectionBurst: 20,
  rejectionDelayMs: 1_000,
  delayedRejectionsPerParty: 50,
  delayedRejections: 5_000,
  pagesPerSecond: 20,
  pageBurst: 300,
  connections: 30_000,
  connectionsPerNetwork: 5_000,
  unauthenticatedConnections: 100,
  bodyTimeoutMs: 30_000,
  responseTimeoutMs: 30_000,
  streamTimeoutMs: 30 * 60_000,
  progressTimeoutMs: 10_000,
  downloadsPerAccount: 20,
  requestTimeoutMs: 300_000,
  waitingLists: 20_000,
  waitingListsPerAccount: 200,
  waitingListsPerLogin: 50,
  listBytes: 64 * 1024 * 1024,
  listsPerAccount: 4,
  listResponsesPerAccount: 20,
  sharedListBytes: 8 * 1024 * 1024,
  queuedLists: 5_000,
  queuedListsPerAccount: 200,
  listTimeoutMs: 10_000,
  loginQueue: 500,
  loginQueueUnknown: 400,
  loginQueuePerNetwork: 100,
  loginQueuePerAccount: 4,
  quotas: defaultQuotas,
};

/** Limits of an ephemeral server: ten times the request rate, the same login throttling. */
export const devLimits: Limits = {
  ...defaultLimits,
  requestsPerSecond: 500,
  requestBurst: 2000,
  auditBytesPerHour: 10 * defaultLimits.auditBytesPerHour,
  unauthenticatedFailuresPerSecond: 50,
  unauthenticatedBurst: 1000,
  rejectionsPerSecond: 50,
  rejectionBurst: 1000,
  pagesPerSecond: 200,
  pageBurst: 3000,
};

/** Cost of one argon2id hash. */
export interface PasswordCost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The minimum that OWASP recommends for argon2id. */
export const defaultPasswordCost: PasswordCost = { memoryKib: 19_456, passes: 2, lanes: 1 };
