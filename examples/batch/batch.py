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
    failures = 0
    while True:
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return {"id": job["id"], "output": json.load(response)["output"]}
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            # Waiting for a limit is no failure.
            failures += problem["code"] != "rate_limited"
            if not problem["retryable"] or failures == ATTEMPTS:
                return {"id": job["id"], "error": problem["code"]}
            pause = problem.get("retryAfter", failures)
        except OSError:
            # The service cannot be reached, or the connection was lost.
            pause = 2
        time.sleep(pause)


def lines(path):
    """Returns the whole lines of a file. The last one is incomplete if the program was killed."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def main(jobs_file, results_file):
    results = Path(results_file)
    # Jobs that have failed are tried again.
    done = [result for result in lines(results) if "output" in result]
    results.write_text("".join(json.dumps(result) + "\n" for result in done))
    known = {result["id"] for result in done}
    jobs = [job for job in lines(Path(jobs_file)) if job["id"] not in known]
    failed = 0
    with ThreadPoolExecutor(int(os.environ.get("PARALLEL", "16"))) as pool, results.open("a") as out:
        for finished in as_completed([pool.submit(ask, job) for job in jobs]):
            result = finished.result()
            failed += "error" in result
            print(json.dumps(result), file=out, flush=True)
    print(f"{len(jobs) - failed} jobs done, {failed} failed, {len(known)} were done before")


if __name__ == "__main__":
    main(*sys.argv[1:])
