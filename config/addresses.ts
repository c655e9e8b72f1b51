/** Addresses as a stack file has them, and where a server is reached. */

/** `10.1.2.129` of `10.1.2.129/24`. */
export function hostPart(address: string): string {
  return address.split("/")[0] ?? "";
}

/** What listens in a container: on one address, or on all of them. */
interface Listener {
  readonly listen: string;
  readonly port: number;
}

/** Where a server is reached from elsewhere. @param address its container's, e.g. `10.1.2.129/24` */
export function urlOf({ listen, port }: Listener, address: string): string {
  return `http://${listen === EVERYWHERE ? hostPart(address) : listen}:${port}`;
}

/** Where a server is reached from inside its container. */
export function localUrlOf({ listen, port }: Listener): string {
  return `http://${listen === EVERYWHERE ? "127.0.0.1" : listen}:${port}`;
}

const EVERYWHERE = "0.0.0.0";
