/** What to run after `adopt` has written its files. */
import { NAMESPACE } from "../../config/schema";
import type { Adopted } from "./entries";
import { providerUrn } from "./import-file";

export interface AdoptionFiles {
  /** Name of the stack. */
  readonly stack: string;
  readonly stackFile: string;
  readonly importFile: string;
}

/** The commands in their order, as a text of lines; `containers` are their names in the stack file. */
export function nextCommands(
  { stack, stackFile, importFile }: AdoptionFiles,
  containers: readonly string[],
  { list }: Adopted,
): string {
  const set = `pulumi config set --stack ${stack}`;
  const lines = [
    "Next:",
    `  pulumi stack init ${stack}`,
    `  ${set} --secret ${NAMESPACE}:apiToken                             # or apiPassword`,
    `  ${set} --secret ${NAMESPACE}:sshPrivateKey < ~/.ssh/id_ed25519    # without it: the SSH agent`,
    `  ./stack check ${stackFile}    # until it has no problem: fill in what it calls unknown`,
    "",
    "  # The container into the stack's state. Neither command changes it.",
    `  pulumi up --stack ${stack} --target '${providerUrn(stack)}'`,
    `  pulumi import --stack ${stack} --file ${importFile} --generate-code=false`,
    "",
    `  pulumi preview --stack ${stack} --diff`,
    `  pulumi up --stack ${stack}`,
    ...containers.map(
      (name) => `  pulumi config rm --stack ${stack} --path '${NAMESPACE}:containers.${name}.adopt'`,
    ),
    ...(list.length > 0
      ? ["", "The switch, when one loading of the model without service is all right:"]
      : []),
    ...list.map(({ name }) => `  ${set} --path '${NAMESPACE}:services.${name}.enabled' true`),
    ...(list.length > 0 ? [`  pulumi up --stack ${stack}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}
