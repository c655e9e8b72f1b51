/** Stacks that must not be deployed side by side. */
import { BlockList, isIPv4 } from "node:net";
import { hostPart } from "../../config/addresses";
import { UNKNOWN, type StackConfig } from "../../config/schema";

export interface Member {
  readonly name: string;
  readonly config: StackConfig;
}

/** An address, and the network that is known to be the one of the machine that has it. */
interface Holder {
  readonly stack: string;
  readonly what: string;
  readonly address: string;
  /** `10.77.0.0/24` as its own machine writes it; undefined: the address can be had from here. */
  readonly cidr: string | undefined;
  /** Address of the host. */
  readonly host: string;
}

const hostOf = ({ config: { host } }: Member): string => `${host.address}:${host.sshPort}`;

function holders({ name, config: { host, containers } }: Member): Holder[] {
  const own = { stack: name, what: `host ${host.node}`, address: host.address, cidr: undefined };
  const inside = Object.entries(containers)
    .filter(([, { network }]) => network.address !== UNKNOWN)
    .map(([container, { network }]) => ({
      stack: name,
      what: `container ${container}`,
      address: hostPart(network.address),
      cidr: network.address,
    }));
  return [own, ...inside].map((holder) => ({ ...holder, host: host.address }));
}

function contains(cidr: string, address: string): boolean {
  const [network = "", length] = cidr.split("/");
  const list = new BlockList();
  list.addSubnet(network, Number(length));
  return isIPv4(address) && list.check(address);
}

/**
 * Whether two machines with one address are on one network. Two hosts are told apart by their ports already. Containers behind
 * their host's own bridge may have the addresses of others elsewhere: only those in their host's network are certain to meet.
 */
function meet(a: Holder, b: Holder): boolean {
  if (a.cidr === undefined && b.cidr === undefined) return false;
  return [a, b].every(({ cidr, host }) => cidr === undefined || contains(cidr, host));
}

const pairs = <T>(items: readonly T[]): [T, T][] =>
  items.flatMap((a, index) => items.slice(index + 1).map((b): [T, T] => [a, b]));

/**
 * One message for each pair of stacks on one host, and for each address that two stacks give away on one network. Ids of
 * containers are no clash: each host, or cluster, has its own, and the claim step looks there.
 */
export function clashes(members: readonly Member[]): string[] {
  const shared = pairs(members).flatMap(([a, b]) =>
    hostOf(a) === hostOf(b)
      ? [
          `${a.name} and ${b.name} both name the host ${hostOf(a)}: side by side they would fight over its packages and its driver\n  fix: one after the other: ./stack fleet up ${a.name}, then ./stack fleet up ${b.name}`,
        ]
      : [],
  );
  const twice = pairs(members).flatMap(([a, b]) =>
    hostOf(a) === hostOf(b)
      ? []
      : holders(a).flatMap((one) =>
          holders(b)
            .filter((other) => one.address === other.address && meet(one, other))
            .map(
              (other) =>
                `${one.address} is the address of ${one.what} in ${one.stack} and of ${other.what} in ${other.stack}\n  fix: give one of them another address`,
            ),
        ),
  );
  return [...shared, ...twice];
}
