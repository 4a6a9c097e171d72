import { certificatePem, certificatesIn, privateKeyIn, privateKeyPem } from "../keystores/pem.ts";
import type { TemplateFunction } from "./template-function.ts";

/** Work of reading one certificate or key. */
const PARSE_UNITS = 8 * 1024;

const certificates = (from: number, to: number): TemplateFunction => ({
  arguments: [0, 0],
  run({ text }, _, { spend }) {
    const chain = certificatesIn(text);
    spend(chain.length * PARSE_UNITS);
    return chain
      .slice(from, to)
      .map(({ raw }) => certificatePem(raw))
      .join("");
  },
});

/** Functions that return parts of PEM text. */
export const pemFunctions: Readonly<Record<string, TemplateFunction>> = {
  pem_certificates: certificates(0, Infinity),
  pem_leaf: certificates(0, 1),
  pem_chain: certificates(1, Infinity),
  pem_key: {
    arguments: [0, 0],
    run({ text }, _, { spend }) {
      spend(PARSE_UNITS);
      return privateKeyPem(privateKeyIn(text).export({ type: "pkcs8", format: "der" }));
    },
  },
};
