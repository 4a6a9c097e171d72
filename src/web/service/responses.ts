import type { AppSession } from "../../protocol/session-operations.ts";
import type {
  ErrorResponse,
  ExposedSecret,
  FileRecord,
  FileVersionRecord,
  ListedShare,
  Timestamp,
  SecretRecord,
  TeamRecord,
  TokenResponse,
  UnshareRecord,
} from "../../protocol/responses.ts";
import { isFlag, isNumber, isObject, isText, listOf, literal, oneOf, shape, type Guard } from "./shape.ts";

const isTimestamp: Guard<Timestamp> = oneOf<Timestamp>(isText, isNumber);
const isPermission = literal("R", "W", "RW");

export const isSecretRecord = shape<SecretRecord>({
  key_name: isText,
  key_version: isNumber,
  owner: isText,
  shared: isFlag,
  permission: isPermission,
  metadata: isObject,
  delete_time: isNumber,
  created_at: isTimestamp,
  updated_at: isTimestamp,
  expires_at: isTimestamp,
  expired: isFlag,
  delete_at: isTimestamp,
});

export const isExposedSecret = shape<ExposedSecret>({
  key_name: isText,
  key_value: isText,
  key_version: isNumber,
  metadata: isObject,
  owner: isText,
  expired: isFlag,
});

export const isListedShare = shape<ListedShare>({
  to: isText,
  kind: literal("person", "team"),
  permission: isPermission,
  state: literal("active", "invited"),
});

export const isUnshareRecord = shape<UnshareRecord>({ key_name: isText, from: isText });

export const isTeamRecord = shape<TeamRecord>({ group_id: isText, creator: isText, members: listOf(isText) });

const fileVersion = { version: isNumber, size: isNumber, sha256: isText, created_at: isTimestamp };

export const isFileRecord = shape<FileRecord>({
  ...fileVersion,
  filename: isText,
  versions: listOf(shape<FileVersionRecord>(fileVersion)),
});

export const isTokenAnswer = shape<TokenResponse>({
  access_token: isText,
  expires_in: isNumber,
  id_token: isText,
  refresh_token: isText,
  scope: isText,
  token_type: literal("access"),
});

type Detail = NonNullable<ErrorResponse["error"]["details"]>[number];

/** Any code: a proxy in between, or a server of another release, may have its own. */
interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly Detail[] | undefined;
}

const isDetails = listOf(shape<Detail>({ path: isText, reason: isText }));
const isAbsent = (value: unknown): value is undefined => value === undefined;

export const isErrorAnswer = shape<{ error: ErrorBody }>({
  error: shape<ErrorBody>({ code: isText, message: isText, details: oneOf<ErrorBody["details"]>(isDetails, isAbsent) }),
});

export type Session = AppSession;

export const isSession = shape<Session>({ email: isText, csrf_token: isText });
