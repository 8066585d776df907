//! Runs each attack on a service of its own, and compares the neighbour's measurements.

use std::{sync::atomic::Ordering, time::Duration};

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Credential, Endpoint,
    http::{ApiClient, Method},
    service::{Service, Settings},
};
use serde_json::json;

use super::{
    attack::Attack,
    attacker::Attacker,
    flood::{self, Responses},
    neighbour::{Measurements, Neighbour},
};
use crate::{
    bystanders::p99,
    environment::{Environment, Store},
    memory::MemoryWatch,
    report::Report,
};

/// The time before the attack, and during it.
const BEFORE: Duration = Duration::from_secs(5);
const DURING: Duration = Duration::from_secs(12);
/// The largest allowed ratio of the neighbour's latencies.
const SLOWER: f64 = 3.0;
/// Latencies below this many milliseconds are noise of the machine, for requests and for saves.
const NOISE: f64 = 5.0;
const SAVE_NOISE: f64 = 25.0;
/// The MiB that caches and buffers may take: 64 for compiled rules, and pages in transit.
const MEMORY: f64 = 128.0;

const TENANT: &str = "hostile";
const SCOPES: &str = "agents:read,agents:write,chat:write,conversations:read,\
                      conversations:write,events:read,keys:admin";

/// The default limits of the service.
const DEFAULT_LIMITS: [(&str, &str); 9] = [
    ("LIMITS__STREAMS", "32"),
    ("LIMITS__REQUESTS__PER_MINUTE", "600"),
    ("LIMITS__REQUESTS__BURST", "100"),
    ("LIMITS__CHAT__PER_MINUTE", "120"),
    ("LIMITS__CHAT__BURST", "30"),
    ("LIMITS__LOG_BYTES__PER_MINUTE", "8388608"),
    ("LIMITS__LOG_BYTES__BURST", "67108864"),
    ("LIMITS__ADDRESS__PER_MINUTE", "6000"),
    ("LIMITS__ADDRESS__BURST", "1000"),
];

/// Runs each attack on a service of its own.
pub(crate) async fn run(environment: &Environment, store: Store) -> Result<Vec<Report>> {
    let mut all = Vec::new();
    for attack in Attack::ALL {
        all.push(
            run_attack(environment, store, attack)
                .await
                .context(attack.name())?,
        );
    }
    Ok(all)
}

async fn run_attack(environment: &Environment, store: Store, attack: Attack) -> Result<Report> {
    let mut settings = settings(environment, store, attack)?;
    settings.run(&["tenants", "create", TENANT])?;
    let of_attacker = ["keys", "create", "--name", TENANT, "--tenant", TENANT];
    let key = settings.run(&[&of_attacker[..], &["--scopes", SCOPES]].concat())?;
    let of_neighbour = ["keys", "create", "--name", "neighbour"];
    settings.key = settings.run(&[&of_neighbour[..], &["--scopes", SCOPES]].concat())?;
    let service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let attacker = Attacker {
        endpoint: endpoint.with_credential(Credential::Key(key)),
    };
    let neighbour = Neighbour::new(unlimited(endpoint).await?).await?;
    let plans = attack.prepare(&attacker).await?;
    let sends_requests = !plans.is_empty();

    let memory = MemoryWatch::over(service.id()?);
    neighbour.measure(BEFORE / 5).await;
    memory.take_peak();
    let before = neighbour.measure(BEFORE).await;
    let memory_before = memory.take_peak();
    let (clients, responses) = flood::start(&attacker.endpoint, plans);
    let during = neighbour.measure(DURING).await;
    let memory_during = memory.take_peak();
    drop(clients);

    ensure!(
        !sends_requests || responses.processed() > 0,
        "no request of the attack was processed",
    );
    let mut report = Report::new("F9", format!("{}, {}", attack.name(), store.name()));
    count(&mut report, &responses);
    judge(&mut report, before, during)?;
    report.add_figure("resident before", memory_before, "MiB");
    let most = memory_before + MEMORY;
    report.add_bounded("resident meanwhile", memory_during, "MiB", most);
    Ok(report)
}

fn settings(environment: &Environment, store: Store, attack: Attack) -> Result<Settings> {
    let name = format!("tenants_{}", attack.slug());
    let mut settings = environment.settings(store, &name)?;
    let own = attack.variables(environment.folder.path())?;
    let limits = DEFAULT_LIMITS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    settings.variables.extend(limits);
    settings.variables.extend(own);
    // The hostile tenant sends from an address of its own.
    let proxy = ("SERVER__TRUSTED_PROXIES", "127.0.0.1");
    settings
        .variables
        .push((proxy.0.to_owned(), proxy.1.to_owned()));
    Ok(settings)
}

/// Returns the endpoint with a key beyond the default limits.
async fn unlimited(endpoint: Endpoint) -> Result<Endpoint> {
    let draft = json!({
        "name": "unlimited",
        "scopes": ["agents:read", "agents:write", "chat:write"],
        "limits": {
            "requestsPerMinute": 1_000_000,
            "requestsBurst": 100_000,
            "chatPerMinute": 1_000_000,
            "chatBurst": 100_000,
        },
    });
    let client = ApiClient::new(&endpoint);
    let key = client.call(Method::POST, "/api/keys", Some(&draft)).await?;
    let key = key["secret"].as_str().context("no key")?.to_owned();
    Ok(endpoint.with_credential(Credential::Key(key)))
}

fn count(report: &mut Report, responses: &Responses) {
    for (name, counter) in [
        ("admitted", &responses.admitted),
        ("rate limited", &responses.rate_limited),
        ("rejected otherwise", &responses.rejected),
        ("failed", &responses.failed),
    ] {
        report.count(name, counter.load(Ordering::Relaxed));
    }
}

fn judge(report: &mut Report, before: Measurements, during: Measurements) -> Result<()> {
    report.expect_no(&["neighbour's errors"]);
    let responses = during.requests.len() + during.saves.len();
    report.count("neighbour's responses", responses);
    report.record_losses("neighbour's errors", during.errors);
    let mut compare = |name, before, during, noise: f64| {
        let (before, during) = (p99(before)?, p99(during)?);
        report.add_figure(format!("{name} p99 before"), before, "ms");
        report.add_figure(format!("{name} p99 meanwhile"), during, "ms");
        anyhow::Ok(during.max(noise) / before.max(noise))
    };
    let requests = compare("neighbour's", before.requests, during.requests, NOISE)?;
    let saves = compare("neighbour's saves'", before.saves, during.saves, SAVE_NOISE)?;
    report.add_bounded("neighbour's p99 meanwhile ÷ before", requests, "×", SLOWER);
    report.add_bounded("saves' p99 meanwhile ÷ before", saves, "×", SLOWER);
    Ok(())
}
