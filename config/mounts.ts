import type { MountConfig } from "./schema";

function isWithin(directory: string, parent: string): boolean {
  return directory === parent || directory.startsWith(`${parent}/`);
}

/**
 * Where a container sees a path of the host: through the mount with the longest matching source.
 *
 * @returns undefined when no mount reaches the path
 */
export function pathInContainer(
  hostPath: string,
  mounts: readonly Partial<Pick<MountConfig, "source" | "target">>[],
): string | undefined {
  const reaching = mounts
    .filter((mount): mount is { source: string; target: string } => {
      return mount.source !== undefined && mount.target !== undefined && isWithin(hostPath, mount.source);
    })
    .sort((a, b) => b.source.length - a.source.length);
  const mount = reaching[0];
  return mount === undefined ? undefined : mount.target + hostPath.slice(mount.source.length);
}
