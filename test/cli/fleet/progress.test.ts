import { Progress } from "../../../cli/fleet/progress";
import { begins, complains, ends, fails, says } from "./events";

describe("the progress of an up", () => {
  let progress: Progress;
  beforeEach(() => (progress = new Progress(false)));

  test("a resource is told when it begins and when it is done, with its seconds", () => {
    expect(progress.take(begins("create", "driver-install", 100))).toBe("creating driver-install");
    expect(progress.now).toEqual(["creating driver-install"]);
    expect(progress.take(ends("create", "driver-install", 142))).toBe("created driver-install in 42 s");
    expect(progress.now).toEqual([]);
    expect(progress.changes).toMatchObject({ create: 1, same: 0 });
  });

  test("what a step prints is its note, and the liveliest resource comes first", () => {
    progress.take(begins("update", "driver-install"));
    progress.take(begins("create", "qwen36-snapshot"));
    progress.take(says("driver-install", "unpacking\nbuilding the module\n"));
    expect(progress.now).toEqual([
      "updating driver-install: building the module",
      "creating qwen36-snapshot",
    ]);
  });

  test("unchanged resources are counted and not told", () => {
    expect(progress.take(begins("same", "driver-kernel"))).toBeUndefined();
    expect(progress.take(ends("same", "driver-kernel"))).toBeUndefined();
    expect(progress.changes).toEqual({ create: 0, update: 0, replace: 0, delete: 0, same: 1 });
  });

  test.each(["proxmox-gpu-stack:index:NvidiaDriver", "pulumi:pulumi:Stack", "pulumi:providers:proxmoxve"])(
    "%s is a group or a connection, nothing on a machine: it is neither told nor counted",
    (type) => {
      expect(progress.take(begins("create", "driver", 0, type))).toBeUndefined();
      expect(progress.take(ends("create", "driver", 0, type))).toBeUndefined();
      expect(progress.changes).toMatchObject({ create: 0 });
    },
  );

  test("a replacement counts once, whatever its parts are", () => {
    progress.take(begins("create-replacement", "ml-container"));
    progress.take(ends("create-replacement", "ml-container"));
    progress.take(begins("delete-replaced", "ml-container"));
    progress.take(ends("delete-replaced", "ml-container"));
    expect(progress.changes).toEqual({ create: 0, update: 0, replace: 1, delete: 0, same: 0 });
  });

  test("what failed is told, is not counted as changed, and is not worked on any more", () => {
    progress.take(begins("create", "driver-install", 10));
    expect(progress.take(fails("create", "driver-install", 15))).toBe(
      "failed after 5 s: creating driver-install",
    );
    expect(progress.now).toEqual([]);
    expect(progress.changes).toMatchObject({ create: 0 });
  });

  test("of several errors of one resource the last, whole one stays; the engine's own last word is none", () => {
    progress.take(says("template", "[ERROR] no metadata: giving up", "error"));
    progress.take(says("template", "giving up: no metadata", "error"));
    progress.take(complains("update failed\n"));
    expect(progress.complaints).toEqual([{ resource: "template", message: "giving up: no metadata" }]);
  });

  test("warnings are no errors", () => {
    progress.take(says("driver", "[unknown-pin] was not recorded", "warning"));
    expect(progress.complaints).toEqual([]);
  });
});

test("a preview tells each change once and counts it, before anything is done", () => {
  const progress = new Progress(true);
  expect(progress.take(begins("update", "qwen-service"))).toBe("would update qwen-service");
  expect(progress.take(ends("update", "qwen-service"))).toBeUndefined();
  expect(progress.take(begins("same", "driver-kernel"))).toBeUndefined();
  expect(progress.changes).toEqual({ create: 0, update: 1, replace: 0, delete: 0, same: 1 });
  expect(progress.now).toEqual([]);
});
