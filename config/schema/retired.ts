import { text } from "./fields";

const DATE = 'a date such as "2026-11-30"';

/** Whether a day of that date exists. */
function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

/** Key `retired`. */
export const retiredSchema = text(/^\d{4}-\d{2}-\d{2}$/, DATE)
  .refine(isDay, { error: DATE })
  .describe(
    "Day on which the stack was taken out of service; `./stack decommission` writes it. The stack still previews, renders and can be rehomed; " +
      "`up` is refused. Take the key out to bring the stack back.",
  )
  .meta({ examples: ["2026-11-30"] });
