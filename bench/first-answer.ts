/** When a service answers its first question, asked from this machine all the while. */
import { request } from "../test/lab/stack/lab-stack";
import { QUESTION } from "./flag";

const LOOK_EVERY_MS = 100;

/** Whether a server answers the question now. */
async function answers(endpoint: string): Promise<boolean> {
  try {
    const response = await request(`${endpoint}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: QUESTION,
      signal: AbortSignal.timeout(10_000),
    });
    return response.ok && /"content": ?"[^"]*4/.test(await response.text());
  } catch {
    return false;
  }
}

/** Resolves with the seconds until the first right answer. */
export async function secondsToFirstAnswer(endpoint: string, stop: AbortSignal): Promise<number> {
  const begun = Date.now();
  while (!stop.aborted) {
    if (await answers(endpoint)) return (Date.now() - begun) / 1000;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`${endpoint} never answered`);
}
