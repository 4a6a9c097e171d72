import { randomUUID } from "node:crypto";
import type { UploadedFile } from "../../../protocol/responses.ts";
import { filenameProblem } from "../../../protocol/names.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { currentKey } from "../store/current-key.ts";
import { errors } from "../errors.ts";
import { withinQuota } from "../protection/within-quota.ts";
import type { Transaction } from "../store/store.ts";
import { sealDigest, stageBlob, type StagedBlob } from "./blob.ts";
import { partFilename } from "./disposition.ts";
import { multipartParts, type Part } from "./multipart.ts";

interface Staged {
  readonly filename: string;
  readonly blob: StagedBlob;
}

/** @throws ServiceError `invalid_request` */
function checkPart(part: Part, filename: string, maxCharacters: number): void {
  const fault = filenameProblem(filename, maxCharacters);
  if (fault !== undefined) throw errors.invalidRequest("filename", fault);
  const encoding = part.headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary";
  if (!["binary", "7bit", "8bit"].includes(encoding))
    throw errors.invalidRequest(
      "filename",
      "unsupported transfer encoding: send files without one",
    );
}

async function commitFile(
  context: VaultContext,
  transaction: Transaction,
  owner: string,
  { filename, blob }: Staged,
): Promise<UploadedFile> {
  const { files } = transaction;
  const known = await files.find(owner, filename);
  const file = known ?? {
    id: randomUUID(),
    owner,
    name: filename,
    nextVersion: 1,
  };
  if (!known) await files.insert(file);
  const { file_versions: most } = context.limits.quotas;
  // Counted only when the numbers in use could be too many.
  if (file.nextVersion > most && (await files.countVersions(file.id)) >= most)
    throw errors.quotaExceeded("file_versions", most);
  const version = file.nextVersion;
  const digest = sealDigest(await currentKey(context.keys, transaction), file, version, blob);
  await files.insertVersion(file.id, {
    version,
    size: blob.size,
    createdAt: context.clock.now(),
    blobId: blob.id,
    digest,
  });
  await files.update({ ...file, nextVersion: version + 1 });
  return { filename, version, size: blob.size, sha256: blob.sha256 };
}

/**
 * Stores the files of a multipart body, each as a new version of its name: all of them, or none on
 * any failure.
 * @param body.count expected number of file parts
 * @param begin called with the names when all bytes are stored, before any of them becomes a
 * version
 * @throws ServiceError `invalid_request`, `too_large`, `quota_exceeded`, `invalid_token` when the
 * token or session ends during the upload
 */
export async function upload(
  context: VaultContext,
  caller: Caller,
  body: {
    readonly source: AsyncIterable<Uint8Array>;
    readonly boundary: string;
    readonly count: number;
  },
  begin: (filenames: string[]) => Promise<void>,
): Promise<UploadedFile[]> {
  using _open = context.uploads.enter(caller.email);
  const blobIds: string[] = [];
  const staged: Staged[] = [];
  try {
    for await (const part of multipartParts(body.source, body.boundary)) {
      const filename = partFilename(part.headers.get("content-disposition") ?? "");
      if (filename === undefined) continue;
      checkPart(part, filename, context.limits.nameCharacters);
      if (staged.some((file) => file.filename === filename))
        throw errors.invalidRequest("filename", "duplicate filename");
      if (staged.length === body.count)
        throw errors.invalidRequest("CountOfFiles", "more files than announced");
      staged.push({
        filename,
        blob: await stageBlob(context, caller.email, part.content, (id) => blobIds.push(id)),
      });
    }
    if (staged.length < body.count)
      throw errors.invalidRequest("CountOfFiles", "fewer files than announced");
    await begin(staged.map(({ filename }) => filename));
    return await writeAs(context, caller, async (transaction) => {
      const uploaded: UploadedFile[] = [];
      await withinQuota(context, transaction, { owner: caller.email }, async () => {
        for (const file of staged)
          uploaded.push(await commitFile(context, transaction, caller.email, file));
      });
      return uploaded;
    });
  } catch (error) {
    await context.store.write(({ files }) => files.discard(blobIds));
    throw error;
  } finally {
    for (const { blob } of staged) blob.key.fill(0);
  }
}
