"""Runs the jobs of a file of lines, each once: KEY=agk_… AGENT=… python3 batch.py jobs.ndjson results.ndjson"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

URL = os.environ.get("SERVICE", "http://127.0.0.1:8080")
RUN = os.environ.get("RUN", "batch")
ATTEMPTS = 10


def ask(job):
    """Returns the reply to a job. The key makes all attempts, also those of another start, one chat."""
    body = {"agentId": os.environ["AGENT"], "store": False, "message": job["message"]}
    headers = {
        "X-API-Key": os.environ["KEY"],
        "Idempotency-Key": f"{RUN}-{job['id']}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(f"{URL}/api/chat", json.dumps(body).encode(), headers)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return {"id": job["id"], "output": json.load(response)["output"]}
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            if not problem["retryable"] or attempt == ATTEMPTS:
                return {"id": job["id"], "error": problem["code"]}
            pause = problem.get("retryAfter", attempt)
        except OSError:
            # The service cannot be reached, or the connection was lost.
            if attempt == ATTEMPTS:
                raise
            pause = attempt
        time.sleep(pause)


def lines(path):
    """Returns the whole lines of a file. The last one is incomplete if the program was killed."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def main(jobs_file, results_file):
    results = Path(results_file)
    done = lines(results)
    results.write_text("".join(json.dumps(result) + "\n" for result in done))
    known = {result["id"] for result in done}
    jobs = [job for job in lines(Path(jobs_file)) if job["id"] not in known]
    with ThreadPoolExecutor(int(os.environ.get("PARALLEL", "16"))) as pool, results.open("a") as out:
        for finished in as_completed([pool.submit(ask, job) for job in jobs]):
            print(json.dumps(finished.result()), file=out, flush=True)
    print(f"{len(jobs)} jobs done, {len(known)} were done before")


if __name__ == "__main__":
    main(*sys.argv[1:])
