/** Values that were never recorded: written `unknown`, seen by every preview, refused by `up`. */
import { pathOf, type Problem } from "./problems";
import { entriesOf, type View } from "./references";
import { NAMESPACE, UNKNOWN } from "./schema";

interface Place {
  readonly path: (string | number)[];
  readonly value: string | undefined;
  /** Where the value can be had. */
  readonly fix: string;
}

/** The host's address as far as it is known. */
function addressOf(view: View): string {
  const address = view.host?.address;
  return address === undefined || address === UNKNOWN ? "HOST" : address;
}

function places(view: View): Place[] {
  const { host, driver } = view;
  const address = addressOf(view);
  return [
    { path: ["host", "address"], value: host?.address, fix: "ask whoever runs the host" },
    {
      path: ["host", "hostKey"],
      value: host?.hostKey,
      fix: `\`ssh-keyscan -t ed25519 ${address}\` prints it; compare it on the host's console`,
    },
    {
      path: ["driver", "installer", "sha256"],
      value: driver?.installer?.sha256,
      fix: "download the installer, compare it with what NVIDIA publishes for it, and take `sha256sum` of the file",
    },
    ...entriesOf(view.toolkits).map(([name, toolkit]) => ({
      path: ["toolkits", name, "installer", "sha256"],
      value: toolkit.installer?.sha256,
      fix: "download the installer, compare it with what NVIDIA publishes for it, and take `sha256sum` of the file",
    })),
    ...entriesOf(view.gpus).flatMap(([name, gpu]) => [
      {
        path: ["gpus", name, "uuid"],
        value: gpu.uuid,
        fix: `\`ssh root@${address} nvidia-smi -L\` prints the UUIDs of the cards`,
      },
      {
        path: ["gpus", name, "pci"],
        value: gpu.pci,
        fix: `\`ssh root@${address} lspci -Dd 10de:\` prints the PCI addresses of the cards`,
      },
    ]),
    ...entriesOf(view.containers).flatMap(([name, container]) => [
      {
        path: ["containers", name, "template", "sha256"],
        value: container.template?.sha256,
        fix: "download the template, verify its publisher's signature, and take `sha256sum` of the file",
      },
      {
        path: ["containers", name, "network", "address"],
        value: container.network?.address,
        fix: "take a free address of the network",
      },
      {
        path: ["containers", name, "network", "gateway"],
        value: container.network?.gateway,
        fix: `\`ssh root@${address} ip route show default\` prints it`,
      },
    ]),
    ...entriesOf(view.models).map(([name, model]) => ({
      path: ["models", name, "revision"],
      value: model.revision,
      fix: `take the commit from the hub's list of commits of ${model.repo ?? "the repository"}`,
    })),
  ];
}

/** One warning for each `unknown`, which blocks `up`. */
export function unknownPinProblems(view: View): Problem[] {
  return places(view)
    .filter((place) => place.value === UNKNOWN)
    .map((place) => ({
      id: "unknown-pin",
      severity: "warning",
      blocksUp: true,
      path: pathOf(NAMESPACE, place.path),
      value: UNKNOWN,
      message: "was not recorded: a preview is possible, `up` is refused until it is filled in",
      fix: place.fix,
    }));
}
