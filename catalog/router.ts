/** What SGLang's router (package `sglang-router`) knows, by release. Read in the wheels' own router_args.py. */

/** Every policy of any release, for the schema. */
export const ROUTER_POLICIES = ["cache_aware", "power_of_two", "round_robin", "random", "manual"] as const;

export type RouterPolicy = (typeof ROUTER_POLICIES)[number];

const BEFORE_MANUAL: readonly RouterPolicy[] = ["cache_aware", "power_of_two", "round_robin", "random"];

/**
 * Policies of the releases that can be used. Those before 0.3.0 do not know `--shutdown-grace-period-secs`; 0.3.2 is the
 * newest one and was tried in front of real HTTP servers.
 */
const RELEASES: Readonly<Record<string, readonly RouterPolicy[]>> = {
  "0.3.0": BEFORE_MANUAL,
  "0.3.1": ROUTER_POLICIES,
  "0.3.2": ROUTER_POLICIES,
};

/** Releases of the router that a stack can use. */
export const ROUTER_RELEASES = Object.keys(RELEASES);

/** The policies of a release; undefined for one that is not known. */
export function routerPolicies(release: string): readonly RouterPolicy[] | undefined {
  return RELEASES[release];
}
