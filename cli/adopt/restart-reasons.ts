/** Why the first `up` must restart an adopted container. */
import { cardsIn, cardsOf } from "../inventory/cards";
import { nvidiaDevices, parseGuest } from "../inventory/guest-configuration";
import type { HostFacts } from "../inventory/host-facts";

/** Device nodes that a container with cards gets beside the cards'. */
const SHARED_NODES = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];

function deviceReasons(configuration: string, facts: HostFacts): string[] {
  const devices = nvidiaDevices(parseGuest(configuration));
  const cards = cardsIn(configuration, cardsOf(facts));
  if (cards.length === 0 && devices.length === 0) return [];
  const wanted = [...cards.map(({ minor }) => `/dev/nvidia${minor}`), ...SHARED_NODES];
  const missing = wanted.filter((node) => devices.every(({ path }) => path !== node));
  const surplus = devices.filter(({ path }) => !wanted.includes(path)).map(({ path }) => path);
  const mode = devices[0]?.mode ?? "0666";
  const others = devices.filter((device) => wanted.includes(device.path) && device.mode !== mode);
  return [
    ...(missing.length > 0 ? [`it lacks ${missing.join(", ")}`] : []),
    ...(surplus.length > 0 ? [`it has ${surplus.join(", ")}, which CUDA does not need`] : []),
    ...(others.length > 0
      ? [`${others.map(({ path }) => path).join(", ")} get the mode ${mode}, as ${devices[0]?.path} has`]
      : []),
  ];
}

/** One text each; empty: it keeps running. */
export function restartReasons(configuration: string, facts: HostFacts): string[] {
  const guest = parseGuest(configuration);
  const raw = guest
    .options(/^lxc\./)
    .filter(({ value }) => value.includes("nvidia") || value.startsWith("c 195:"));
  return [
    ...(`,${guest.option("features") ?? ""},`.includes(",nesting=1,") ? [] : ["it has no nesting"]),
    ...(raw.length > 0
      ? ["its cards come by raw lxc.* lines: delete them before, `up` refuses them"]
      : deviceReasons(configuration, facts)),
  ];
}
