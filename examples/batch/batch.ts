// Runs the jobs of a file of lines, each once: KEY=agk_… AGENT=… npm start jobs.ndjson results.ndjson
import { createWriteStream, existsSync, readFileSync, writeFileSync } from "node:fs";
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

type Result = { id: string; output: Complaint } | { id: string; error: string };

const { SERVICE = "http://127.0.0.1:8080", KEY = "", AGENT = "", RUN = "batch", PARALLEL = "16" } = process.env;
const service = createClient({ url: SERVICE, apiKey: KEY, retries: 10 });

/** Returns the reply to a job. The key makes all attempts, also those of another start, one chat. */
const ask = async ({ id, message }: Job, attempts = 10): Promise<Result> => {
  const chat = { agentId: AGENT, store: false, message };
  for await (const part of service.chat<Complaint>(chat, { idempotencyKey: `${RUN}-${id}` })) {
    if (part.type === "turn.completed" && part.output) return { id, output: part.output };
    if (part.type === "turn.failed" && part.error.retryable && attempts > 1) return ask({ id, message }, attempts - 1);
    if (part.type === "turn.failed") return { id, error: part.error.code };
  }
  return { id, error: "no_output" };
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
const done = lines<Result>(resultsFile);
writeFileSync(resultsFile, done.map((result) => `${JSON.stringify(result)}\n`).join(""));
const known = new Set(done.map(({ id }) => id));
const jobs = lines<Job>(jobsFile).filter(({ id }) => !known.has(id));
const results = createWriteStream(resultsFile, { flags: "a" });
const queue = jobs.values();
const work = async () => {
  for (const job of queue) {
    const result = await ask(job).catch((error: unknown) => {
      if (error instanceof ProblemError) return { id: job.id, error: error.code };
      throw error;
    });
    results.write(`${JSON.stringify(result)}\n`);
  }
};
await Promise.all(Array.from({ length: Number(PARALLEL) }, work));
results.end();
console.log(`${jobs.length} jobs done, ${known.size} were done before`);
