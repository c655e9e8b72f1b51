import { text } from "./fields";

/** Key `retired`. */
export const retiredSchema = text(/^\d{4}-\d{2}-\d{2}$/, 'a date such as "2026-11-30"')
  .describe(
    "Day on which the stack was taken out of service; `./stack decommission` writes it. The stack still previews, renders and can be rehomed; " +
      "`up` is refused. Take the key out to bring the stack back.",
  )
  .meta({ examples: ["2026-11-30"] });
