import { parseGuest, properties, sizeGiB } from "../../../cli/inventory/guest-configuration";

test.each([
  ["16G", 16],
  ["512M", 1],
  ["1536M", 2],
  ["2T", 2048],
  ["8.5G", 9],
  ["1073741824", 1],
])("%s are %d GiB, rounded up", (size, expected) => {
  expect(sizeGiB(size)).toBe(expected);
});

test("what is no size is undefined", () => {
  expect(sizeGiB(undefined)).toBeUndefined();
  expect(sizeGiB("large")).toBeUndefined();
});

test("notes, snapshots and pending changes are no options", () => {
  const guest = parseGuest(
    "#cores: 9\nhostname: a\nmp0: /x,mp=/y\n\n[pve:pending]\ncores: 8\nmp1: /z,mp=/z\n",
  );
  expect(guest.option("cores")).toBeUndefined();
  expect(guest.option("hostname")).toBe("a");
  expect(guest.options(/^mp\d+$/)).toEqual([{ name: "mp0", value: "/x,mp=/y" }]);
});

test("a property string is split at its commas, its first part may have no name", () => {
  expect(properties("local-lvm:vm-1,size=8G,mountoptions=a=b")).toEqual({
    "": "local-lvm:vm-1",
    size: "8G",
    mountoptions: "a=b",
  });
});
