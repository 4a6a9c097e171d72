import { encodeBase64, hashSync, truncates } from "bcryptjs";
import { TemplateFault } from "../template-fault.ts";
import type { Value } from "../value.ts";
import type { TemplateFunction, Tools } from "./template-function.ts";

const BCRYPT_COST = 10;
const SALT_BYTES = 16;
/** Work of one hash, some 60 ms. */
const BCRYPT_UNITS = 512 * 1024;

function htpasswd(password: Value, user: Value | undefined, { salt, spend }: Tools): string {
  const name = user?.text ?? "";
  if (name === "" || /[:\p{Cc}]/u.test(name)) {
    throw new TemplateFault(
      "htpasswd: the user must not be empty or contain a colon or control characters",
    );
  }
  if (password.text === "" || password.text.includes("\0") || truncates(password.text)) {
    throw new TemplateFault(
      `htpasswd: bcrypt takes passwords of 1 to 72 bytes without NUL, and ${password.label} is none`,
    );
  }
  spend(BCRYPT_UNITS);
  const encoded = encodeBase64(
    salt("bcrypt", SALT_BYTES, Buffer.from(name), password.bytes),
    SALT_BYTES,
  );
  // Web servers know the same algorithm as 2y.
  return `${name}:${hashSync(password.text, `$2b$${BCRYPT_COST}$${encoded}`).replace("$2b$", "$2y$")}`;
}

function dockerconfigjson(password: Value, [registry, user]: readonly Value[]): string {
  const server = registry?.text ?? "";
  const username = user?.text ?? "";
  if (server === "" || username === "" || username.includes(":")) {
    throw new TemplateFault(
      "dockerconfigjson: the registry and the user must not be empty, and the user must not contain a colon",
    );
  }
  const auth = Buffer.from(`${username}:${password.text}`).toString("base64");
  // Entries, because `__proto__` would not be a member of an object literal.
  return JSON.stringify({
    auths: Object.fromEntries([[server, { username, password: password.text, auth }]]),
  });
}

/** Functions that turn a password into the format of a program. */
export const credentialFunctions: Readonly<Record<string, TemplateFunction>> = {
  htpasswd: {
    arguments: [1, 1],
    run: (password, [user], tools) => htpasswd(password, user, tools),
  },
  dockerconfigjson: { arguments: [2, 2], run: dockerconfigjson },
};
