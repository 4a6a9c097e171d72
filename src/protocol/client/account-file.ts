import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { codeOf } from "../../lib/errors.ts";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { Redacted } from "../../lib/redacted.ts";
import { replaceFile } from "../../lib/replace-file.ts";

const storedAccount = z.object({
  /** Base address of the vault, without `/v1`. */
  url: z.url(),
  email: z.string(),
  /** PEM bundle trusted instead of the public authorities. */
  ca: z.string().optional(),
  access_token: z.string(),
  refresh_token: z.string(),
});

/** A login that the next commands use. */
export interface Account extends Omit<
  z.infer<typeof storedAccount>,
  "access_token" | "refresh_token"
> {
  readonly accessToken: Redacted<string>;
  readonly refreshToken: Redacted<string>;
}

/** The file of a login, readable by its user only. */
export class AccountFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** @throws Error that says to log in, when there is no login or the file is malformed */
  async read(): Promise<Account> {
    const text = await readFile(this.path, "utf8").catch((error: unknown) => {
      if (codeOf(error) === "ENOENT") throw new Error("not logged in: run vaultsync login");
      throw error;
    });
    const parsed = storedAccount.safeParse(jsonOrUndefined(text));
    if (!parsed.success) throw new Error(`${this.path} is malformed: run vaultsync login`);
    const { access_token: access, refresh_token: refresh, ...rest } = parsed.data;
    return { ...rest, accessToken: new Redacted(access), refreshToken: new Redacted(refresh) };
  }

  /** Replaces the file in one step: a command that reads it at the same time sees a whole login. */
  async write({ accessToken, refreshToken, ...rest }: Account): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    const stored = {
      ...rest,
      access_token: accessToken.reveal(),
      refresh_token: refreshToken.reveal(),
    };
    await replaceFile(this.path, `${JSON.stringify(stored, undefined, 2)}\n`);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
  }
}
