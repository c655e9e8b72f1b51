/** All that the facts of a host say about an `up` of a stack; no machine is asked here. */
import type { StackConfig } from "../../config/schema";
import type { HostFacts } from "../inventory/host-facts";
import { cardChecks } from "./card-checks";
import { containerChecks } from "./container-checks";
import { driverChecks } from "./driver-checks";
import type { Finding } from "./finding";
import {
  clockCheck,
  headerChecks,
  identityChecks,
  rebootCheck,
  secureBootCheck,
  versionCheck,
} from "./host-checks";
import { roomChecks } from "./room-checks";

/** @param now seconds since 1970, here */
export function diagnose(
  config: StackConfig,
  facts: HostFacts,
  surroundings: { readonly now: number; readonly projectDirectory: string },
): Finding[] {
  return [
    ...identityChecks(config, facts),
    versionCheck(facts),
    ...headerChecks(facts),
    secureBootCheck(facts),
    ...driverChecks(config, facts),
    rebootCheck(config, facts),
    clockCheck(facts, surroundings.now),
    ...roomChecks(config, facts, surroundings.projectDirectory),
    ...cardChecks(config, facts),
    ...containerChecks(config, facts),
  ];
}
