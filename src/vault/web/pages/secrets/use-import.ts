import { useMemo, useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { addVersion, createSecret, exposeLatest } from "../../service/secrets.ts";
import type { VaultClient } from "../../service/vault-client.ts";
import { useClient } from "../../session/client-context.ts";
import { parseEnvFile } from "../../text/env-file.ts";
import { nameProblem } from "./secret-name.ts";
import { useSecrets } from "./secrets-context.ts";
import { secretCount } from "../../text/formats.ts";

/** Fate of a variable. `version` is the one it was compared with. */
type Plan =
  | { readonly kind: "new" }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "existing"; readonly secret: SecretRecord }
  | { readonly kind: "equal"; readonly version: number }
  | { readonly kind: "changed"; readonly secret: SecretRecord; readonly version: number }
  | { readonly kind: "done" };

/** A variable of the text as the secret that it becomes. */
export interface Planned {
  readonly name: string;
  readonly value: string;
  readonly plan: Plan;
}

/** Outcome of a comparison. It holds for the compared value only. */
interface Comparison {
  readonly value: string;
  readonly version: number;
  readonly equal: boolean;
}

interface EnvImport {
  readonly planned: readonly Planned[];
  /** Numbers of the lines that are not understood. */
  readonly unreadable: readonly number[];
  /** Names with several values. */
  readonly repeated: readonly string[];
  /** Number of entries that the work in progress has handled. */
  readonly progress: number;
  /** Fetches the values of the names in use, and compares them. @throws RequestError */
  readonly compare: (signal: AbortSignal) => Promise<void>;
  /** @throws RequestError that names what was not stored, also after an abort */
  readonly store: (
    wanted: readonly Planned[],
    metadata: Metadata,
    signal: AbortSignal,
  ) => Promise<void>;
}

/** Stores one entry. A version that is newer than the compared one is not replaced. */
async function storeOne(
  client: VaultClient,
  { name, value, plan }: Planned,
  metadata: Metadata,
): Promise<void> {
  if (plan.kind === "changed") await addVersion(client, plan.secret, value, plan.version);
  else await createSecret(client, { key_name: name, key_value: value, metadata });
}

/** Returns why an entry was not stored. */
function failureText({ name, plan }: Planned, { code, message }: RequestError): string {
  const isNewer = plan.kind === "changed" && code === "version_changed";
  return `${name}: ${isNewer ? `changed after version ${plan.version}. Compare again.` : message}`;
}

/** Returns what becomes of each variable of the text, and stores the chosen ones. */
export function useImport(text: string, prefix: string): EnvImport {
  const client = useClient();
  const { list } = useSecrets();
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const [compared, setCompared] = useState<ReadonlyMap<string, Comparison>>(new Map());
  const [progress, setProgress] = useState(0);
  const { loaded } = list;
  const { variables, unreadable, repeated } = useMemo(() => parseEnvFile(text), [text]);
  const planned = useMemo(() => {
    const own = new Map(
      (loaded.kind === "ready" ? loaded.value : [])
        .filter(({ owner }) => owner === client.email)
        .map((secret) => [secret.key_name, secret]),
    );
    const planOf = (name: string, value: string): Plan => {
      if (done.has(name)) return { kind: "done" };
      const secret = own.get(name);
      const reason = nameProblem(name);
      if (!secret) return reason === undefined ? { kind: "new" } : { kind: "skipped", reason };
      const found = compared.get(name);
      if (found?.value !== value) return { kind: "existing", secret };
      const { version, equal } = found;
      return equal ? { kind: "equal", version } : { kind: "changed", secret, version };
    };
    return variables.map(({ name: variable, value }): Planned => {
      const name = prefix.trim() + variable;
      return { name, value, plan: planOf(name, value) };
    });
  }, [variables, prefix, loaded, done, compared, client]);
  const compare = async (signal: AbortSignal): Promise<void> => {
    const next = new Map(compared);
    setProgress(0);
    try {
      for (const { name, value, plan } of planned) {
        if (signal.aborted) break;
        if (plan.kind !== "existing") continue;
        const { key_value: stored, key_version: version } = await exposeLatest(client, plan.secret);
        next.set(name, { value, version, equal: stored === value });
        setProgress((count) => count + 1);
      }
    } finally {
      setCompared(next);
    }
  };
  const store: EnvImport["store"] = async (wanted, metadata, signal) => {
    const failed: string[] = [];
    let stored = 0;
    setProgress(0);
    for (const entry of wanted) {
      if (signal.aborted) break;
      try {
        await storeOne(client, entry, metadata);
        stored += 1;
        setProgress(stored);
        setDone((names) => new Set([...names, entry.name]));
      } catch (error) {
        failed.push(failureText(entry, toRequestError(error)));
        // What it was compared with may be another version by now.
        setCompared((map) => new Map([...map].filter(([name]) => name !== entry.name)));
      }
    }
    await list.reload();
    if (stored === wanted.length) return;
    const stopped = signal.aborted ? "Stopped: stored" : "Stored";
    const reasons = failed.length > 0 ? ` Not stored: ${failed.join(" ")}` : "";
    throw new RequestError(
      "import_failed",
      `${stopped} ${stored} of ${secretCount(wanted.length)}.${reasons}`,
    );
  };
  return { planned, unreadable, repeated, progress, compare, store };
}
