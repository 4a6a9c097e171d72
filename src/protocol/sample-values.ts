import { defaultMetadata } from "./metadata.ts";

const email = "ann@example.com";
const otherEmail = "bob@example.com";
const key_name = "shop-db";
const created = "2026-11-20T10:00:00.000Z";
const metadata = { ...defaultMetadata, project: "shop" };
const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const uploaded = { version: 1, size: 5, sha256 };
const fileVersion = { ...uploaded, created_at: created };

const record = {
  key_name,
  key_version: 2,
  owner: email,
  shared: false,
  permission: "RW",
  metadata,
  delete_time: 525_600_000,
  created_at: created,
  updated_at: created,
  expires_at: "2026-11-30T10:00:00.000Z",
  expired: false,
  delete_at: "3026-03-25T10:00:00.000Z",
};

/** Made-up values that the examples of several operations share. */
export const sample = {
  email,
  otherEmail,
  secret: { email, key_name },
  /** Addresses a received secret. */
  link: { email: otherEmail, key_name, owner: email },
  record,
  sharedRecord: { ...record, shared: true },
  exposed: {
    key_name,
    key_value: "correct horse battery staple",
    key_version: 2,
    metadata,
    owner: email,
    expired: false,
  },
  consumer: {
    name: "db",
    consumer: "prod-eu/shop/VaultSecret/shop-db",
    version: 2,
    last_read_at: created,
    account: email,
  },
  tokens: {
    access_token: "Zk0vX2dTj3hB8wq1rYc5uLn7pE4mA6sFiGtKoQeDxHw",
    expires_in: 86_400,
    id_token: "n1RUq8vO5yYwJc2tLz7bX4dKfM9hS3gPaEiQrTuWxZo",
    refresh_token: "b7TnQ3yWk9Lx2Vd5Jc8Hs1Fg4Mz6Rp0Eu-aIoYtGvBw",
    scope: "cloud_type:*,environment_type:dev,application_type:*,classification:*,secret_name:*",
    token_type: "access",
  },
  team: { group_id: "shop-team", creator: email, members: [email, otherEmail] },
  teamMembers: { email, group_id: "shop-team", members: [otherEmail] },
  credential: {
    id: "9f86d081884c7d659a2feaa0",
    kind: "token",
    name: "curl",
    scope: "cloud_type:*,environment_type:dev,application_type:*,classification:*,secret_name:*",
    created_at: created,
    last_used_at: created,
    expires_at: "2026-11-21T10:00:00.000Z",
    refreshable_until: "2027-02-18T10:00:00.000Z",
    current: false,
  },
  upload: { filename: "hello.txt", ...uploaded },
  file: { filename: "hello.txt", ...fileVersion, versions: [fileVersion] },
  trashed: { id: "0b5c1d4e-6a72-4f0f-9c39-2d1a8e7b5f60", name: key_name },
  confirmation: "Hh5Wd0pQm2Xr7Yc9Ez4Tb6Nv1Lk3Js8Fg-aUiOqPeRt",
  session: { email, csrf_token: "Qm3kV8sYw1Zr5Tn9Lb2Xc7Hd4Jf6Gp0Ou-eIaRtKvBy" },
} as const;
