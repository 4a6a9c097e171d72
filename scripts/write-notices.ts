import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { thirdPartyNotices } from "./supply/notices.ts";

const root = join(import.meta.dirname, "..");
writeFileSync(join(root, "THIRD_PARTY_NOTICES"), thirdPartyNotices(root));
