import type { FastifyInstance } from "fastify";
import { givenMetadata } from "../../protocol/metadata.ts";
import { listRequest, namedRequests } from "../../protocol/requests.ts";
import type { VaultContext } from "../context.ts";
import { sendList } from "../etag.ts";
import { authenticatedOperation } from "../operation.ts";
import { protect } from "../secrets/protect.ts";
import { expose, listSecrets, listVersions } from "../secrets/read-secrets.ts";
import { ServiceError } from "../service-error.ts";

/** The unshared family. Source: the interface, "Secrets (not shared)"; the vault contract, "Secrets". */
export function secretRoutes(app: FastifyInstance, context: VaultContext): void {
  const requests = namedRequests(context.limits.nameCharacters);

  const checkSize = ({ key_value }: { readonly key_value: string }): void => {
    const { secretValueBytes } = context.limits;
    if (Buffer.byteLength(key_value, "utf8") <= secretValueBytes) return;
    throw new ServiceError("too_large", `key_value is larger than ${secretValueBytes} bytes`);
  };
  authenticatedOperation(
    app,
    context,
    "protect",
    requests.protect,
    async ({ body, caller }) => {
      const { key_name: name, key_value: value, delete_time: deleteMinutes } = body;
      return { secret: await protect(context, caller, { name, value, metadata: givenMetadata(body), deleteMinutes }) };
    },
    { check: checkSize },
  );

  authenticatedOperation(app, context, "list_no_dup", listRequest, async ({ caller, request, reply }) =>
    sendList(request, reply, { secrets: await listSecrets(context, caller) }),
  );

  authenticatedOperation(app, context, "expose", requests.secret, ({ body, caller }) => expose(context, caller, body.key_name));

  authenticatedOperation(app, context, "version_list", requests.secret, async ({ body, caller, request, reply }) => {
    const versions = await listVersions(context, caller, body.key_name);
    return sendList(request, reply, { key_name: body.key_name, versions });
  });

  authenticatedOperation(app, context, "version_expose", requests.secretVersion, ({ body, caller }) =>
    expose(context, caller, body.key_name, body.key_version),
  );
}
