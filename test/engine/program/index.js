// One command. What it is comes from the test, as JSON in the environment.
const pulumi = require("@pulumi/pulumi");
const command = require("@pulumi/command");

const { args, options, refuse } = JSON.parse(process.env.TEST_PROGRAM);
if (refuse) throw new pulumi.RunError(refuse);

const step = new command.remote.Command("step", args, options);

exports.stdout = step.stdout;
exports.greeting = new pulumi.Config().get("greeting");
exports.stackTraceLimit = Error.stackTraceLimit;
exports.title = process.title;
