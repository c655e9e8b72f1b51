// One container as the file named by WANTED describes it: { provider, template, container, options }.
const { readFileSync } = require("node:fs");
const proxmoxve = require("@muhlba91/pulumi-proxmoxve");

const wanted = JSON.parse(readFileSync(process.env.WANTED, "utf8"));
const provider = new proxmoxve.Provider("host", wanted.provider);
const template = new proxmoxve.download.File("template", wanted.template, { provider });
const operatingSystem = { type: "debian", templateFileId: template.id };
new proxmoxve.ContainerLegacy(
  "container",
  { ...wanted.container, operatingSystem },
  { provider, ...wanted.options },
);
