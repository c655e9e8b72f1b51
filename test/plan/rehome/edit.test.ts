import { parse } from "yaml";
import { withAdditions } from "../../../plan/rehome/edit";
import { stackText } from "./support";

const TEXT = `# A host.
config:
  proxmox-gpu-stack:gpus: # not recorded
    a: { model: x,   uuid: unknown } # this one

  proxmox-gpu-stack:containers:
    ml:
      mounts:
        - { source: /srv/models, target: /models } # weights
      tags: [gpu, "ml"]   # two
      # The last word.
  proxmox-gpu-stack:models: {}
  proxmox-gpu-stack:environments:
  proxmox-gpu-stack:apiToken:
    secure: v1:abc
# The end.
encryptionsalt: v1:def
`;

const values = (text: string): Record<string, Record<string, unknown>> =>
  (parse(text) as { config: Record<string, Record<string, unknown>> }).config;

/** What is left of a text when the lines of another are taken out of it, in order. */
function withoutLinesOf(text: string, original: string): string[] {
  const rest = original.split("\n");
  return text.split("\n").filter((line) => {
    if (line !== rest[0]) return true;
    rest.shift();
    return false;
  });
}

test.each(["kpro5", "kpro6", "lab", "example"])(
  "%s keeps every line when entries are added to it",
  (name) => {
    const original = stackText(name);
    const text = withAdditions(original, [
      {
        path: ["services"],
        key: "more",
        value: { environment: "e", gpus: ["a", "b"], speculative: { steps: 3 } },
      },
      { path: ["models"], key: "more", value: { repo: "a/b" } },
      { path: ["toolkits"], key: "more", value: { version: "13.0" } },
    ]);
    const added = withoutLinesOf(text, original);
    expect(added.join("\n")).toContain(
      "    more:\n      environment: e\n      gpus: [a, b]\n      speculative:\n        steps: 3",
    );
    expect(text.split("\n")).toHaveLength(original.split("\n").length + added.length);
    const { services, models } = Object.fromEntries(
      Object.entries(values(text)).map(([key, value]) => [key.replace("proxmox-gpu-stack:", ""), value]),
    );
    expect(services?.["more"]).toEqual({ environment: "e", gpus: ["a", "b"], speculative: { steps: 3 } });
    expect(models?.["more"]).toEqual({ repo: "a/b" });
  },
);

test("an entry goes behind the last one and its comment", () => {
  const text = withAdditions(TEXT, [{ path: ["gpus"], key: "b", value: { model: "y" } }]);
  expect(text).toContain("    a: { model: x,   uuid: unknown } # this one\n    b:\n      model: y\n\n");
});

test("an item goes into a list of lines, and into one in brackets", () => {
  const text = withAdditions(TEXT, [
    { path: ["containers", "ml", "mounts"], value: { source: "/srv/more", target: "/more" } },
    { path: ["containers", "ml", "tags"], value: "big" },
  ]);
  expect(values(text)["proxmox-gpu-stack:containers"]?.["ml"]).toMatchObject({
    mounts: [{ source: "/srv/models" }, { source: "/srv/more", target: "/more" }],
    tags: ["gpu", "ml", "big"],
  });
  expect(text).toContain('tags: [gpu, "ml", big]   # two\n');
  expect(text).toContain("target: /models } # weights\n        - source: /srv/more\n");
});

test("a list that is not there is begun", () => {
  const text = withAdditions(TEXT, [{ path: ["containers", "ml", "gpus"], value: "a" }]);
  expect(values(text)["proxmox-gpu-stack:containers"]?.["ml"]).toMatchObject({ gpus: ["a"] });
});

test.each(["models", "environments"])("an empty key (%s) gets its first entry", (key) => {
  const text = withAdditions(TEXT, [{ path: [key], key: "one", value: { path: "/x" } }]);
  expect(values(text)[`proxmox-gpu-stack:${key}`]).toEqual({ one: { path: "/x" } });
  expect(text).toContain("# The end.\nencryptionsalt: v1:def\n");
  expect(values(text)["proxmox-gpu-stack:apiToken"]).toEqual({ secure: "v1:abc" });
});

test("a key that is not there is begun at the end of config, behind an empty line", () => {
  const text = withAdditions(TEXT, [{ path: ["services"], key: "one", value: { port: 1 } }]);
  expect(text).toContain(
    "    secure: v1:abc\n\n  proxmox-gpu-stack:services:\n    one:\n      port: 1\n# The end.\n",
  );
});

test("texts that YAML would read as something else are quoted", () => {
  const text = withAdditions(TEXT, [
    { path: ["models"], key: "one", value: { python: "3.10", flag: "yes", n: "007" } },
  ]);
  expect(values(text)["proxmox-gpu-stack:models"]?.["one"]).toEqual({
    python: "3.10",
    flag: "yes",
    n: "007",
  });
});
