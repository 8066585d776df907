// Runs the jobs of a file of lines, each once: KEY=agk_… AGENT=… npm start jobs.ndjson results.ndjson
import { createWriteStream, existsSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createClient, ProblemError } from "agent-service-client";

interface Job {
  id: string;
  message: string;
}

/** What the `responseSchema` of the agent describes. */
interface Complaint {
  order: string | null;
  daysLate: number | null;
}

/** Why there is no reply. */
interface Problem {
  code: string;
  retryable: boolean;
  retryAfter?: number | undefined;
}

type Result = { id: string; output: Complaint } | { id: string; error: string };

const { SERVICE = "http://127.0.0.1:8080", KEY = "", AGENT = "", RUN = "batch", PARALLEL = "16" } = process.env;
const service = createClient({ url: SERVICE, apiKey: KEY });

const ATTEMPTS = 10;

/** Asks once. */
const attempt = async ({ id, message }: Job): Promise<Complaint | Problem> => {
  const chat = { agentId: AGENT, store: false, message };
  try {
    for await (const part of service.chat<Complaint>(chat, { idempotencyKey: `${RUN}-${id}` })) {
      if (part.type === "turn.completed" && part.output) return part.output;
      if (part.type === "turn.failed") return part.error;
    }
  } catch (error) {
    if (error instanceof ProblemError) return error.problem;
  }
  // The service cannot be reached, or the connection was lost.
  return { code: "unreachable", retryable: true, retryAfter: 2 };
};

/** Returns the reply to a job. The key makes all attempts, also those of another start, one chat. */
const ask = async (job: Job): Promise<Result> => {
  for (let failures = 0; ; ) {
    const answer = await attempt(job);
    if (!("code" in answer)) return { id: job.id, output: answer };
    // Waiting for a limit, or for the service, is no failure.
    if (answer.code !== "rate_limited" && answer.code !== "unreachable") failures += 1;
    if (!answer.retryable || failures === ATTEMPTS) return { id: job.id, error: answer.code };
    await setTimeout((answer.retryAfter ?? failures) * 1000);
  }
};

/** Returns the whole lines of a file. The last one is incomplete if the program was killed. */
const lines = <Line>(path: string): Line[] => {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
};

const [jobsFile = "jobs.ndjson", resultsFile = "results.ndjson"] = process.argv.slice(2);
// Jobs that have failed are tried again.
const done = lines<Result>(resultsFile).filter((result) => "output" in result);
writeFileSync(resultsFile, done.map((result) => `${JSON.stringify(result)}\n`).join(""));
const known = new Set(done.map(({ id }) => id));
const jobs = lines<Job>(jobsFile).filter(({ id }) => !known.has(id));
const results = createWriteStream(resultsFile, { flags: "a" });
const queue = jobs.values();
let failed = 0;
const work = async () => {
  for (const job of queue) {
    const result = await ask(job);
    if ("error" in result) failed += 1;
    results.write(`${JSON.stringify(result)}\n`);
  }
};
await Promise.all(Array.from({ length: Number(PARALLEL) }, work));
results.end();
console.log(`${jobs.length - failed} jobs done, ${failed} failed, ${known.size} were done before`);
