#!/usr/bin/env node
// Finds the program in the package of this system, and runs it: its streams, signals and exit status are those of this process.
"use strict";

const { spawn } = require("node:child_process");

const system = `@mcpchain/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${system}/mcpchain${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `mcpchain: the package ${system} is not installed. Either there is no program for this system, or npm was told to omit optional packages. ` +
      "Install without --omit=optional, or see https://github.com/mcpchain/mcpchain.",
  );
  process.exit(127);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));

child.on("error", (error) => {
  console.error(`mcpchain: ${error.message}`);
  process.exit(127);
});
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  for (const name of signals) process.removeAllListeners(name);
  process.kill(process.pid, signal); // end as the program has ended
});
