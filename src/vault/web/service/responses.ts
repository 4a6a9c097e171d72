import type { EmailDelivery, SessionInfo, SignUpMode } from "../../../protocol/schemas/session.ts";
import type {
  ConsumerRecord,
  CredentialRecord,
  ErrorResponse,
  TrashedRecord,
  TrashEntryRecord,
  ExposedSecret,
  FileRecord,
  FileVersionRecord,
  ListedShare,
  Timestamp,
  SecretRecord,
  TeamRecord,
  TokenResponse,
  UnshareRecord,
  VersionRecord,
} from "../../../protocol/responses.ts";
import {
  isBoolean,
  isNumber,
  isString,
  listOf,
  literal,
  oneOf,
  shape,
  type Guard,
} from "./shape.ts";
import { isObject } from "../../../lib/is-object.ts";

const isTimestamp: Guard<Timestamp> = oneOf<Timestamp>(isString, isNumber);
const isPermission = literal("R", "W", "RW");

const secretRecord = {
  key_name: isString,
  key_version: isNumber,
  owner: isString,
  shared: isBoolean,
  permission: isPermission,
  metadata: isObject,
  delete_time: isNumber,
  created_at: isTimestamp,
  updated_at: isTimestamp,
  expires_at: isTimestamp,
  expired: isBoolean,
  delete_at: isTimestamp,
};

export const isSecretRecord = shape<SecretRecord>(secretRecord);

export const isVersionRecord = oneOf<VersionRecord>(
  shape<VersionRecord & { created_by: string }>({ ...secretRecord, created_by: isString }),
  shape<SecretRecord>(secretRecord),
);

export const isExposedSecret = shape<ExposedSecret>({
  key_name: isString,
  key_value: isString,
  key_version: isNumber,
  metadata: isObject,
  owner: isString,
  expired: isBoolean,
});

export const isConsumerRecord = shape<ConsumerRecord>({
  name: isString,
  consumer: isString,
  version: isNumber,
  last_read_at: isTimestamp,
  account: isString,
});

export const isListedShare = shape<ListedShare>({
  to: isString,
  kind: literal("person", "team"),
  permission: isPermission,
  state: literal("active", "invited"),
});

export const isUnshareRecord = shape<UnshareRecord>({ key_name: isString, from: isString });

export const isTeamRecord = shape<TeamRecord>({
  group_id: isString,
  creator: isString,
  members: listOf(isString),
});

const fileVersion = {
  version: isNumber,
  size: isNumber,
  sha256: isString,
  created_at: isTimestamp,
};

export const isFileRecord = shape<FileRecord>({
  ...fileVersion,
  filename: isString,
  versions: listOf(shape<FileVersionRecord>(fileVersion)),
});

export const isTokenResponse = shape<TokenResponse>({
  access_token: isString,
  expires_in: isNumber,
  id_token: isString,
  refresh_token: isString,
  scope: isString,
  token_type: literal("access"),
});

type Detail = NonNullable<ErrorResponse["error"]["details"]>[number];

/** Accepts any code, because proxies and other releases of the server have their own. */
interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly Detail[] | undefined;
}

const isDetails = listOf(shape<Detail>({ path: isString, reason: isString }));
export const isAbsent = (value: unknown): value is undefined => value === undefined;

export const isErrorResponse = shape<{ error: ErrorBody }>({
  error: shape<ErrorBody>({
    code: isString,
    message: isString,
    details: oneOf<ErrorBody["details"]>(isDetails, isAbsent),
  }),
});

export type Session = SessionInfo;

/** Absent from the response of an earlier server. */
export const isEmailDelivery = oneOf<EmailDelivery | undefined>(
  literal<EmailDelivery>("smtp", "files"),
  isAbsent,
);

export const isSignUpMode = literal<SignUpMode>("open", "invited", "closed");

export const isCredentialRecord = shape<CredentialRecord>({
  id: isString,
  kind: literal("token", "session"),
  name: isString,
  scope: isString,
  created_at: isTimestamp,
  last_used_at: isTimestamp,
  expires_at: isTimestamp,
  refreshable_until: oneOf<Timestamp | undefined>(isTimestamp, isAbsent),
  allowed_networks: oneOf<readonly string[] | undefined>(listOf(isString), isAbsent),
  ends_at: oneOf<Timestamp | undefined>(isTimestamp, isAbsent),
  current: isBoolean,
});

export const isSession = shape<Session>({ email: isString, csrf_token: isString });

const trashed = { id: isString, name: isString };

/** Absent from the response of a vault without a trash. */
export const isDeletion = shape<{ trash?: readonly TrashedRecord[] | undefined }>({
  trash: oneOf<readonly TrashedRecord[] | undefined>(
    listOf(shape<TrashedRecord>(trashed)),
    isAbsent,
  ),
});

export const isTrashEntry = shape<TrashEntryRecord>({
  ...trashed,
  kind: literal("secret", "file"),
  version: isNumber,
  size: oneOf<number | undefined>(isNumber, isAbsent),
  deleted_at: isTimestamp,
  ends_at: isTimestamp,
});
