import { systemClock } from "../../../lib/clock.ts";
import type {
  FileRecord,
  FileVersionRecord,
  SecretRecord,
  Timestamp,
} from "../../../protocol/responses.ts";
import { formatAge } from "../../../command-line/table.ts";
import type { Rows } from "./print.ts";

const ms = (time: Timestamp): number => (typeof time === "number" ? time : Date.parse(time));
const age = (time: Timestamp): string => formatAge(systemClock.now() - ms(time));
const until = (time: Timestamp): string => {
  const left = ms(time) - systemClock.now();
  return left < 0 ? `${formatAge(-left)} ago` : formatAge(left);
};

export const secretRows: Rows<SecretRecord> = {
  header: ["NAME", "VERSION", "OWNER", "PERMISSION", "SHARED", "AGE", "EXPIRES"],
  row: ({ key_name, key_version, owner, permission, shared, created_at, expires_at }) => [
    key_name,
    String(key_version),
    owner,
    permission,
    shared ? "yes" : "no",
    age(created_at),
    until(expires_at),
  ],
};

export const versionRows: Rows<SecretRecord> = {
  header: ["VERSION", "AGE", "EXPIRES"],
  row: ({ key_version, created_at, expires_at }) => [
    String(key_version),
    age(created_at),
    until(expires_at),
  ],
};

export const fileRows: Rows<FileRecord> = {
  header: ["FILENAME", "VERSION", "BYTES", "AGE"],
  row: ({ filename, version, size, created_at }) => [
    filename,
    String(version),
    String(size),
    age(created_at),
  ],
};

export const fileVersionRows: Rows<FileVersionRecord> = {
  header: ["VERSION", "BYTES", "AGE", "SHA256"],
  row: ({ version, size, created_at, sha256 }) => [
    String(version),
    String(size),
    age(created_at),
    sha256,
  ],
};
