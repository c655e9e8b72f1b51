/** One row of `./stack doctor`. */
export interface Finding {
  /** Stable name, such as `kernel-headers`. */
  readonly id: string;
  /** `problem` stops an `up`; `warning` does not; `ok` was looked at and is right. */
  readonly state: "ok" | "warning" | "problem";
  /** What was found. */
  readonly message: string;
  /** What to do about it; always there unless it is ok. */
  readonly fix?: string;
}

export const ok = (id: string, message: string): Finding => ({ id, state: "ok", message });
export const warning = (id: string, message: string, fix: string): Finding => ({
  id,
  state: "warning",
  message,
  fix,
});
export const problem = (id: string, message: string, fix: string): Finding => ({
  id,
  state: "problem",
  message,
  fix,
});
