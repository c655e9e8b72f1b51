/** A certificate as a machine sees it whose clock is behind: not valid yet. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly certificate: string;
  /** Name under which OpenSSL looks for it in a folder of authorities. */
  readonly hashName: string;
}

const CONFIGURATION = `
[ca]
default_ca = this
[this]
database = index.txt
rand_serial = yes
new_certs_dir = made
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;

/** Signed by itself, for an address. */
export function futureCertificate(address: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "future-certificate-"));
  const openssl = (verb: string, ...words: string[]): string => {
    const { status, stdout, stderr } = spawnSync("openssl", [verb, ...words], {
      cwd: folder,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`openssl ${verb}: ${stderr}`);
    return stdout.trim();
  };
  try {
    writeFileSync(join(folder, "configuration"), CONFIGURATION);
    writeFileSync(join(folder, "index.txt"), "");
    mkdirSync(join(folder, "made"));
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key"];
    const names = ["-subj", `/CN=${address}`, "-addext", `subjectAltName=IP:${address}`];
    openssl(
      "req",
      "-new",
      ...key,
      ...names,
      "-addext",
      "basicConstraints=critical,CA:true",
      "-out",
      "request",
    );
    const files = ["-keyfile", "key", "-in", "request", "-out", "certificate"];
    const years = ["-startdate", "20980101000000Z", "-enddate", "20990101000000Z"];
    openssl("ca", "-config", "configuration", "-batch", "-selfsign", "-notext", ...files, ...years);
    return {
      key: readFileSync(join(folder, "key"), "utf8"),
      certificate: readFileSync(join(folder, "certificate"), "utf8"),
      hashName: `${openssl("x509", "-in", "certificate", "-noout", "-subject_hash")}.0`,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
