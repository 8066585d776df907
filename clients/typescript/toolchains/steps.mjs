// Programs of a project, each in a process group of its own, which ends with the step.
import { spawn } from "node:child_process";

/** The longest time of each step, in seconds. */
const LIMITS = { install: 400, types: 180, build: 300, chat: 60 };

const running = new Set();
const endAll = () => {
  for (const { child } of running) {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  running.clear();
};
process.once("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** Starts `npm` with arguments in a folder. `ended` resolves at its end, when `code` is known. */
export const start = (folder, env, ...words) => {
  const child = spawn("npm", words, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const program = { child, output: "", code: undefined, ended: undefined };
  running.add(program);
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (program.output += text));
  program.ended = new Promise((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, signal) => (program.code = code ?? signal));
    child.once("close", resolve);
  });
  return program;
};

/** Runs `npm` to its end, and returns its output. */
export const run = async (folder, env, ...words) => {
  const program = start(folder, env, ...words);
  await program.ended;
  if (program.code !== 0) throw new Error(`npm ${words.join(" ")}: exit code ${program.code}\n${program.output}`);
  return program.output;
};

/** Runs a step within its time, and then ends its programs. Returns its seconds. */
export const timed = async (step, action) => {
  const started = Date.now();
  let timer;
  const late = new Promise((_, reject) => {
    const report = () => [`it takes longer than ${LIMITS[step]} s`, ...[...running].map(({ output }) => output)].join("\n");
    timer = setTimeout(() => reject(new Error(report())), LIMITS[step] * 1000);
  });
  try {
    await Promise.race([action(), late]);
  } finally {
    clearTimeout(timer);
    endAll();
  }
  return (Date.now() - started) / 1000;
};
