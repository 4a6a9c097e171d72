import { sendRequest } from "../../../../test/lab/vault/vault-client.ts";
import type { AttackCase } from "../attack-case.ts";
import { shotLoop } from "../shot-loop.ts";

const LOOPS = 20;
const SCRIPT = /src="\.?(\/assets\/[^"]+)"/u;

/** Compressed documents that strangers can request without limit. */
export const pages: AttackCase = {
  name: "pages",
  title: "compressed GETs of strangers: the script of the page, the API description",
  prepare: async (site) => {
    const page = await sendRequest(`${site.url}/`, { method: "GET" });
    const script = SCRIPT.exec(page.bytes.toString())?.[1];
    if (script === undefined)
      throw new Error("the case pages needs the web application: npm run build -- web");
    const shots = [script, script, "/v1/openapi.json"].map((path) => () => ({
      method: "GET" as const,
      path,
      headers: { "accept-encoding": "br" },
      body: "",
    }));
    return {
      run: async (round) => {
        await Promise.all(
          Array.from({ length: LOOPS }, (_, loop) =>
            shotLoop(site.url, shots, site.address(loop), round),
          ),
        );
      },
    };
  },
};
