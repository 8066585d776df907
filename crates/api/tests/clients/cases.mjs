// Shared functions of the client programs: cases, waiting and results.
import { setTimeout as sleep } from "node:timers/promises";

// The time after which a condition is not awaited any longer, in milliseconds.
const TIMEOUT = 20_000;

// Waits until `holds` returns something, and returns it.
export const until = async (holds, what = holds) => {
  const end = performance.now() + TIMEOUT;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await sleep(20);
  }
};

// Runs cases one after the other, and counts those that passed. A failure is printed and makes the
// program fail. `after` runs after each case.
export const runCases = async (cases, after = () => {}) => {
  const names = Object.keys(cases);
  let passed = 0;
  for (const name of names) {
    const began = performance.now();
    try {
      await cases[name]();
      passed += 1;
      say(`ok ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      process.exitCode = 1;
      say(`FAILED ${name}: ${error.stack}`);
    }
    await after();
  }
  return { passed, of: names.length };
};

// Fails with both values unless they are equal as JSON.
export const same = (actual, expected, what) => {
  const [left, right] = [actual, expected].map((value) => JSON.stringify(value));
  if (left !== right) throw new Error(`${what}: ${left} is not ${right}`);
};

// Reports a step.
export const say = (text) => process.stderr.write(`${text}\n`);

// Prints the result, and ends the program.
export const end = (result) => process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
