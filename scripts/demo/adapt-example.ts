import { demoNamespace } from "./vault-account.ts";

/**
 * Replaces the address of the vault in a file of examples/demo by one with TLS, and adds the
 * ConfigMap with the authority of its certificate.
 */
export function adaptToTls(
  text: string,
  { url, ca }: { readonly url: string; readonly ca: string },
): string {
  if (!text.includes("kind: VaultConnection")) return text;
  const reference = "  caBundleRef: { kind: ConfigMap, name: vault-ca }\n";
  const bundle = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "vault-ca", namespace: demoNamespace },
    data: { "ca.crt": ca },
  };
  const adapted = text.replace(/^ {2}url: .*\n/mu, `  url: ${url}\n${reference}`);
  return `${adapted}---\n${JSON.stringify(bundle)}\n`;
}
