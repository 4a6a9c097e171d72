import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import { Redacted } from "../../../lib/redacted.ts";
import type { Access, AccessSource, TlsMaterial } from "./credentials.ts";
import { codeOf } from "../../../lib/errors.ts";

/**
 * Reports a kubeconfig that cannot be used. The message says what to change, without quoting the
 * file.
 */
class KubeConfigError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "KubeConfigError";
  }
}

/** Address that @kubernetes/client-node assumes when it finds no kubeconfig. */
const SERVER_WITHOUT_KUBECONFIG = "http://localhost:8080";

/**
 * Returns the access that a kubeconfig describes, with its exec and OIDC plugins. Import this file
 * dynamically, and only with a kubeconfig: it is the only one that loads @kubernetes/client-node
 * (80 MB, a quarter of a second).
 *
 * @param path the file; by default the files of `KUBECONFIG`, then the one in the home directory
 * @param context the context to use instead of the current one
 * @throws KubeConfigError when it cannot be read or has an unsupported setting
 */
export function kubeconfigSource(path: string | undefined, context?: string): AccessSource {
  let config = read(path, context);
  const cluster = config.getCurrentCluster();
  if (!cluster) {
    throw new KubeConfigError(
      "kubeconfig: the current context has no cluster: select one with kubectl config use-context NAME",
    );
  }
  if (cluster.skipTLSVerify)
    throw new KubeConfigError(
      "kubeconfig: insecure-skip-tls-verify is not supported: set certificate-authority",
    );
  if (cluster.proxyUrl)
    throw new KubeConfigError("kubeconfig: proxy-url is not supported: remove it");
  if (path === undefined && cluster.server === SERVER_WITHOUT_KUBECONFIG) {
    throw new KubeConfigError("no kubeconfig: set KUBECONFIG or give --kubeconfig FILE");
  }
  const server = URL.parse(cluster.server);
  if (server?.protocol !== "https:")
    throw new KubeConfigError("kubeconfig: the server must start with https://");
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    server,
    namespace,
    async load(fresh) {
      if (fresh) config = read(path, context);
      return accessOf(config);
    },
  };
}

function read(path: string | undefined, context?: string): KubeConfig {
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
  } catch (error) {
    // Without the parser's message: it quotes the file, and with it a token.
    const code = codeOf(error) ?? "not a kubeconfig";
    const remedy = path === undefined ? ": set KUBECONFIG or give --kubeconfig FILE" : "";
    throw new KubeConfigError(
      `cannot read the kubeconfig ${path ?? defaultPath()}: ${code}${remedy}`,
    );
  }
  if (context !== undefined) {
    if (config.getContextObject(context) === null)
      throw new KubeConfigError(
        `kubeconfig: there is no context ${JSON.stringify(context)}: kubectl config get-contexts lists them`,
      );
    config.setCurrentContext(context);
  }
  return config;
}

/**
 * Returns the path or paths of the kubeconfig that is read if no file is given, and the variable
 * that names them.
 */
function defaultPath(): string {
  const { KUBECONFIG } = process.env;
  return KUBECONFIG ? `${KUBECONFIG} (from KUBECONFIG)` : "~/.kube/config";
}

async function accessOf(config: KubeConfig): Promise<Access> {
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") headers[name.toLowerCase()] = value.trim();
  }
  if (options.auth)
    headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const tls: Record<string, string> = {};
  for (const name of ["ca", "cert", "key", "servername"] as const) {
    const value = options[name];
    if (typeof value === "string" || Buffer.isBuffer(value)) tls[name] = value.toString();
  }
  return { headers: new Redacted(headers), tls: new Redacted<TlsMaterial>(tls) };
}
