//! J6: many turns wait for answers, and expire at once.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    process_stats::cpu_seconds,
    service::Service,
};
use serde_json::json;
use tokio::{
    task::{JoinSet, block_in_place},
    time::{Instant, sleep, sleep_until},
};

use super::{
    bystanders::{self, p99},
    environment::{Agents, Environment, Store},
    event_log::EventLog,
    report::Report,
};

/// The number of waiting turns, and again of those that expire.
const TURNS: usize = 10_000;
/// The number of clients that start them.
const CLIENTS: usize = 32;
/// The shortest time that a turn can wait, in seconds.
const SHORTEST: u64 = 60;
/// The time without requests in which memory and processor time are measured.
const IDLE: Duration = Duration::from_secs(10);
/// The memory of a waiting turn that is noise of the allocator, in bytes.
const BYTES: f64 = 200.0;
/// The processor time of a second without requests that may be added, in milliseconds.
const ADDED_CPU: f64 = 5.0;
/// The rows that the idle service may read in addition, in a second.
const ADDED_ROWS: f64 = 100.0;
/// The largest allowed ratio of chats' p99, of at least `NOISE` milliseconds.
const SLOWER: f64 = 3.0;
const NOISE: f64 = 5.0;
/// The longest until all turns that expire at once have failed.
const EXPIRED: Duration = Duration::from_mins(1);

/// Memory, processor time and rows read of an idle service.
struct Idle {
    /// MiB.
    resident: f64,
    /// Milliseconds in a second.
    cpu: f64,
    /// Rows read in a second, on Postgres.
    rows: Option<f64>,
}

struct Waiting<'a> {
    environment: &'a Environment,
    service: Service,
    agents: Agents,
    name: String,
    store: Store,
}

/// Lets turns wait, and then others expire at once.
pub(super) async fn run(environment: &Environment, store: Store) -> Result<Report> {
    let done = format!(
        "{TURNS} turns wait, and as many expire at once, on {}",
        store.name()
    );
    let mut report = Report::new("J6", done);
    report.expect_no(&["not expired", "unsound"]);
    let name = match store {
        Store::Sqlite => "waiting_sqlite",
        Store::Postgres => "waiting_postgres",
    };
    let (service, agents) = environment.start(store, name).await?;
    let mut waiting = Waiting {
        environment,
        service,
        agents,
        name: name.to_owned(),
        store,
    };
    let before = waiting.idle_after_restart().await?;
    let chats_before = waiting.chats("before").await?;
    let started = Instant::now();
    waiting.start_turns("patient", None).await?;
    let rate = ratio(TURNS, started.elapsed().as_secs_f64());
    report.add_figure("waiting turns started", rate, "/s");
    let grown = waiting.service.resident()? - before.resident;
    report.add_figure("resident more, once they wait", grown, "MiB");
    let meanwhile = waiting.idle_after_restart().await?;
    let chats_meanwhile = waiting.chats("meanwhile").await?;
    judge_idle(&before, &meanwhile, &mut report);
    report.add_figure("p99 of chats before", chats_before, "ms");
    let slower = chats_meanwhile.max(NOISE) / chats_before.max(NOISE);
    report.add_figure("p99 of chats meanwhile", chats_meanwhile, "ms");
    report.add_bounded("p99 meanwhile ÷ before", slower, "×", SLOWER);
    waiting.expire(&mut report).await?;
    Ok(report)
}

impl Waiting<'_> {
    fn endpoint(&self) -> Result<Endpoint> {
        self.service.endpoint()
    }

    /// Restarts the service, and lets it rest.
    async fn idle_after_restart(&mut self) -> Result<Idle> {
        block_in_place(|| self.service.restart())?;
        sleep(IDLE).await;
        let process = self.service.id()?;
        let (cpu, rows) = (cpu_seconds(process)?, self.rows_read()?);
        sleep(IDLE).await;
        let seconds = IDLE.as_secs_f64();
        let rows = self.rows_read()?.zip(rows);
        Ok(Idle {
            resident: self.service.resident()?,
            cpu: (cpu_seconds(process)? - cpu) * 1_000.0 / seconds,
            rows: rows.map(|(after, before)| (after - before) / seconds),
        })
    }

    /// The number of rows that Postgres has read for the database.
    fn rows_read(&self) -> Result<Option<f64>> {
        if self.store == Store::Sqlite {
            return Ok(None);
        }
        let name = &self.name;
        let read = "select tup_returned + tup_fetched from pg_stat_database where datname";
        let read = format!("{read} = '{name}'");
        let read = block_in_place(|| self.environment.server()?.sql("postgres", &read))?;
        Ok(Some(read.trim().parse().context("not a number of rows")?))
    }

    /// Returns the p99 of other chats in milliseconds.
    async fn chats(&self, when: &str) -> Result<f64> {
        let endpoint = self.endpoint()?;
        let mut all = bystanders::measure(&endpoint, &self.agents, &format!("{when}-0")).await?;
        all.extend(bystanders::measure(&endpoint, &self.agents, &format!("{when}-1")).await?);
        p99(all)
    }

    /// Starts turns that wait for the approval of a call, for so many seconds.
    async fn start_turns(&self, tag: &str, seconds: Option<u64>) -> Result<()> {
        let endpoint = self.endpoint()?;
        let call = json!({ "tool": "calculator", "arguments": { "expression": "1 + 1" } });
        let mut config = json!({
            "engine": "rules",
            "tools": [{ "name": "calculator", "approval": "always" }],
            "rules": [{ "pattern": "calculate", "call": call, "reply": "{{result}}" }],
        });
        if let Some(seconds) = seconds {
            config["actionTimeoutSeconds"] = seconds.into();
        }
        let draft = json!({ "name": "Waiting", "config": config });
        let client = ApiClient::new(&endpoint);
        let made = client
            .call(Method::POST, "/api/agents", Some(&draft))
            .await?;
        let agent = made["id"].as_str().context("no id")?.to_owned();
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            let client = ApiClient::new(&endpoint);
            let body = json!({ "agentId": agent, "message": format!("calculate {tag}") });
            clients.spawn(async move {
                for _ in (number..TURNS).step_by(CLIENTS) {
                    let asked = client.call(Method::POST, "/api/chat", Some(&body)).await?;
                    if asked["finishReason"] != "requires_action" {
                        bail!("a turn does not wait: {asked}");
                    }
                }
                Ok(())
            });
        }
        clients.join_all().await.into_iter().collect()
    }

    /// Starts turns and lets all of them expire while the service does not run.
    async fn expire(&mut self, report: &mut Report) -> Result<()> {
        let tag = "calculate impatient";
        self.start_turns("impatient", Some(SHORTEST)).await?;
        let due = Instant::now() + Duration::from_secs(SHORTEST + 1);
        // All are due at the same time.
        self.service.kill();
        sleep_until(due).await;
        block_in_place(|| self.service.restart())?;
        let (restarted, endpoint) = (Instant::now(), self.endpoint()?);
        let slowest = self.chats("expiry").await?;
        let mut log = EventLog::default();
        loop {
            log.read_on(&endpoint).await?;
            let ended = log
                .turns_with(tag)
                .filter(|(_, turn)| turn.is_final())
                .count();
            let open = TURNS.saturating_sub(ended);
            if open == 0 {
                break;
            }
            if restarted.elapsed() > EXPIRED {
                report.record_loss("not expired", || format!("{open} turns"));
                break;
            }
            sleep(Duration::from_millis(500)).await;
        }
        let (expired, patient) = (
            log.turns_with(tag).count(),
            log.turns_with("calculate patient"),
        );
        let patient = patient.filter(|(_, turn)| !turn.is_final()).count();
        report.count("expired", expired);
        report.count("still waiting", patient);
        if patient != TURNS {
            report.record_loss("no longer waiting", || {
                format!("{patient} of {TURNS} turns wait")
            });
        }
        report.record_losses("unsound", log.unsound());
        let seconds = restarted.elapsed().as_secs_f64();
        report.add_bounded("all expired after", seconds, "s", EXPIRED.as_secs_f64());
        report.add_figure("p99 of chats while they expire", slowest, "ms");
        Ok(())
    }
}

fn judge_idle(before: &Idle, meanwhile: &Idle, report: &mut Report) {
    report.add_figure("resident after a restart, before", before.resident, "MiB");
    report.add_figure(
        "resident after a restart, meanwhile",
        meanwhile.resident,
        "MiB",
    );
    let more = meanwhile.resident - before.resident;
    let each = ratio(
        1024 * 1024,
        f64::from(u32::try_from(TURNS).unwrap_or(u32::MAX)),
    ) * more;
    report.add_bounded("resident of a waiting turn", each.max(0.0), "bytes", BYTES);
    report.add_figure("idle processor time before", before.cpu, "ms/s");
    let most = before.cpu + ADDED_CPU;
    report.add_bounded("idle processor time meanwhile", meanwhile.cpu, "ms/s", most);
    if let (Some(before), Some(meanwhile)) = (before.rows, meanwhile.rows) {
        report.add_figure("idle rows read before", before, "/s");
        let most = before * 1.5 + ADDED_ROWS;
        report.add_bounded("idle rows read meanwhile", meanwhile, "/s", most);
    }
}

fn ratio(number: usize, of: f64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX)) / of
}
