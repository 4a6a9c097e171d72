import { z } from "zod";
import { isTimeZone, parseCron } from "../lib/cron.ts";
import { DURATION_PATTERN, parseDuration } from "../lib/duration.ts";
import { withRule } from "./validation.ts";
import { messageOf } from "../../lib/errors.ts";

/** Maximum number of windows of a resource. */
const MAX_WINDOWS = 8;
/** Longest window. */
const MAX_DURATION = "168h";

/** The API server cannot check a schedule or the name of a zone: an invalid one gives InvalidSpec. */
const schedule = z
  .string()
  .max(100)
  .superRefine((text, context) => {
    try {
      parseCron(text);
    } catch (error) {
      context.addIssue(messageOf(error));
    }
  });

const duration = withRule(z.string().max(32), {
  cel: `self.matches('${DURATION_PATTERN.replaceAll("\\", "\\\\")}') && duration(self) >= duration('1m') && duration(self) <= duration('${MAX_DURATION}')`,
  message: `must be a duration from 1m to ${MAX_DURATION}, for example 2h or 30m`,
  check: (text) => {
    const ms = new RegExp(DURATION_PATTERN).test(text) ? parseDuration(text) : 0;
    return ms >= parseDuration("1m") && ms <= parseDuration(MAX_DURATION);
  },
});

const timeWindow = z.object({
  schedule: schedule.describe(
    "Times at which the window opens: five fields as in a CronJob, for example 0 2 * * MON-FRI.",
  ),
  duration: duration.describe("Time for which it stays open, at most 168h."),
  timeZone: z
    .string()
    .max(64)
    .refine(isTimeZone, "must be a time zone of IANA, for example Europe/Berlin")
    .optional()
    .describe(
      "Time zone of the schedule, for example Europe/Berlin. A time that daylight saving skips opens no window, one that it repeats opens it twice. Defaults to UTC.",
    ),
});

/** Times in which changes are made; any time by default. */
export const windows = z.array(timeWindow).max(MAX_WINDOWS).optional();

/** When a target follows newer versions. */
export const updates = z
  .object({
    approval: z
      .enum(["None", "Required"])
      .optional()
      .describe(
        "Required: the target follows newer versions only when the annotation vaultsync.dev/approve has the digest in status.approvalDigest. Defaults to None.",
      ),
    windows: windows.describe(
      "Times in which the target follows newer versions. Defaults to always.",
    ),
  })
  .optional()
  .describe(
    "When the target follows newer versions. All of its keys follow together. First contents, repairs, removals and changed specs do not wait.",
  );

export type UpdatesSpec = NonNullable<z.output<typeof updates>>;
