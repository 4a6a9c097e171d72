import { X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * TLS 1.2 or later, trusting the given PEM bundle *instead of* the public authorities, or these when none is given.
 * @throws Error when the bundle holds no certificate or an unreadable one (`createSecureContext` would silently trust nothing)
 */
export function trust(ca: string | undefined): SecureContext {
  if (ca === undefined) return createSecureContext({ minVersion: "TLSv1.2" });
  const certificates = ca.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error("the CA bundle holds no certificate");
  for (const certificate of certificates) void new X509Certificate(certificate);
  return createSecureContext({ minVersion: "TLSv1.2", ca: certificates });
}
