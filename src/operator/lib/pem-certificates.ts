import { X509Certificate } from "node:crypto";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the PEM certificates in a text, and nothing else of it. @throws if one is unreadable */
export function pemCertificates(text: string): readonly string[] {
  const certificates = text.match(CERTIFICATE) ?? [];
  for (const certificate of certificates) void new X509Certificate(certificate);
  return certificates;
}
