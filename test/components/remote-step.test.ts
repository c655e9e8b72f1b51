import { parseFacts } from "../../components/remote-step";

describe("what a step reports", () => {
  it("is the JSON object in its last line, whatever stands above", () => {
    expect(parseFacts('progress\n{"not":"this"}\n{"changed":true,"version":"580"}\n')).toEqual({
      changed: true,
      version: "580",
    });
  });

  it("is nothing for a step that --target or --exclude left out", () => {
    expect(parseFacts(undefined)).toEqual({});
  });

  it.each(["", "done", "[1]", "null"])("is a fault when the last line is %j", (stdout) => {
    expect(() => parseFacts(stdout)).toThrow();
  });
});
