import { RELEASES } from "../../../catalog";
import { parseWithRelease, whyUnavailable } from "../../catalog/wheels";
import { LAB, leftToPlan, planned, SYSTEM_A, SYSTEM_B, SYSTEM_C } from "./support";

// The first run downloads the wheels.
jest.setTimeout(300_000);

/**
 * The releases that the stacks use, and those on both sides of a changed spelling. ALL_RELEASES=1 takes all of the
 * catalog, which downloads about 310 MB of wheels once.
 */
const USUAL = ["0.5.9", "0.5.11", "0.5.12.post1", "0.5.13.post1", "0.5.14", "0.5.20", "0.5.23"];
const releases = process.env["ALL_RELEASES"] === "1" ? RELEASES : USUAL;

const SYSTEMS = { A: SYSTEM_A, B: SYSTEM_B, C: SYSTEM_C, lab: LAB };

/** Flags whose value the parser may keep under another name than /server_info's: not compared here. */
const RENAMED = ["tp_size", "speculative_algorithm"];

describe.each(releases)("the planned command lines of %s", (release) => {
  const reason = whyUnavailable(release);
  const check = reason === undefined ? test : test.skip;

  check(
    `are parsed by the release's own parser${reason === undefined ? "" : ` (skipped: ${reason})`}`,
    () => {
      const plans = Object.values(SYSTEMS).flatMap((system) =>
        [system, leftToPlan(system)].map((variant) =>
          planned({ ...variant, service: { ...variant.service, release } }),
        ),
      );
      const parsed = parseWithRelease(
        release,
        plans.map(({ args }) => args),
      );
      expect(parsed.map(({ error }) => error)).toEqual(plans.map(() => undefined));
      for (const [index, { expectedServerInfo }] of plans.entries()) {
        const compared = Object.entries(expectedServerInfo).filter(([name]) => !RENAMED.includes(name));
        expect(parsed[index]?.values).toMatchObject(Object.fromEntries(compared));
      }
    },
  );
});
