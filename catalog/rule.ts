/** What a rule is, and the facts that rules look at. */
import type { Arguments } from "./flags";
import type { Release } from "./releases";
import type { Settings } from "./settings";
import type { Gpu, ModelFacts, Severity } from "./types";
import type { Build, BuildRange } from "./versions";

/** Everything that the rules about a service look at: plain data, no machine needed. */
export interface Facts {
  /** Path of the service in its stack file; a finding's path is this and the setting. */
  readonly path: string;
  readonly build: Build;
  /** Flags, pins and environment that count for the build (`releaseOf`). */
  readonly release: Release;
  readonly arguments: Arguments;
  /** Arguments that the owner wrote out, for the path of findings about them. */
  readonly extraArgs?: readonly string[];
  readonly settings: Settings;
  readonly env: Readonly<Record<string, string>>;
  /** The model of the service's cards; undefined: not in the catalog. */
  readonly gpu: Gpu | undefined;
  readonly gpuCount: number;
  /** The model's facts; undefined: not known, rules that need them do not fire. */
  readonly model: (ModelFacts & { readonly name?: string; readonly minimumRelease?: string }) | undefined;
  readonly draftModel?: ModelFacts | undefined;
  /** Names of the patches in the environment. */
  readonly patches: readonly string[];
  /** Packages of the lock, normalised name to version; undefined: no lock at hand. */
  readonly packages?: Readonly<Record<string, string>> | undefined;
  /** Python of the environment, "3.11". */
  readonly python?: string | undefined;
}

/** What the rules about a host look at. */
export interface HostFacts {
  /** Path of the driver in the stack file. */
  readonly path: string;
  readonly driver: { readonly version: string; readonly modules: "open" | "proprietary" };
  /** Models of the host's cards, one entry a card. */
  readonly gpus: readonly Gpu[];
  /** The builds that the host's services run. */
  readonly builds: readonly Build[];
}

/** A text, or how it comes from the facts and the subject (see `each`). */
type Text<F> = string | ((facts: F, subject: string) => string);

/** One way in which a rule applies. */
export interface RuleCase<F> {
  /** The builds it holds for; absent: all. */
  readonly builds?: BuildRange;
  readonly when: (facts: F) => boolean;
  /** What it applies to, one finding each; absent: one finding. */
  readonly each?: (facts: F) => readonly string[];
  readonly severity: Severity;
  /** Setting of the stack file that the finding points at, for example "attentionBackend". */
  readonly setting: Text<F>;
  /** What happens, in the server's own words where it has any. */
  readonly message: Text<F>;
  /** What to do instead. */
  readonly fix: Text<F>;
}

/** Something that is known to fail or to mislead. Every case that applies is a finding of its own. */
export interface Rule<F = Facts> {
  readonly id: string;
  /** The condition in words. */
  readonly subject: string;
  readonly cases: readonly RuleCase<F>[];
  /** Source lines, changes and reports; file names are below python/sglang/srt/ unless longer. */
  readonly evidence: string;
}
