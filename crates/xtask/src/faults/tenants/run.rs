//! Attacks one service after the other, and compares what the neighbour observes.

use std::{sync::atomic::Ordering, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::{
    attack::Attack,
    flood::{self, Answers},
    hostile::Hostile,
    neighbour::{Neighbour, Observed},
};
use crate::{
    faults::{
        findings::Findings,
        ground::{Ground, Store},
        memory::Watch,
        others::p99,
    },
    rig::{
        http::ask,
        load::{Credential, Endpoint},
        service::{Service, Settings},
    },
};

/// The time before the attack, and the time of it.
const QUIET: Duration = Duration::from_secs(5);
const ATTACK: Duration = Duration::from_secs(12);
/// How much longer the neighbour may wait.
const SLOWER: f64 = 3.0;
/// Times below so many milliseconds are noise of the machine, for requests and for saves.
const NOISE: f64 = 5.0;
const SAVE_NOISE: f64 = 25.0;
/// The MiB that caches and buffers may take: 64 of compiled rules, and pages on their way.
const MEMORY: f64 = 128.0;

const TENANT: &str = "hostile";
const SCOPES: &str = "agents:read,agents:write,chat:write,conversations:read,\
                      conversations:write,events:read,keys:admin";

/// The limits of a service whose operator has set none.
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

/// Commits each attack on a service of its own.
pub(in crate::faults) async fn run(ground: &Ground, store: Store) -> Result<Vec<Findings>> {
    let mut all = Vec::new();
    for attack in Attack::ALL {
        all.push(suffer(ground, store, attack).await.context(attack.name())?);
    }
    Ok(all)
}

async fn suffer(ground: &Ground, store: Store, attack: Attack) -> Result<Findings> {
    let mut settings = settings(ground, store, attack)?;
    settings.run(&["tenants", "create", TENANT])?;
    let of_hostile = ["keys", "create", "--name", TENANT, "--tenant", TENANT];
    let key = settings.run(&[&of_hostile[..], &["--scopes", SCOPES]].concat())?;
    let of_neighbour = ["keys", "create", "--name", "neighbour"];
    settings.key = settings.run(&[&of_neighbour[..], &["--scopes", SCOPES]].concat())?;
    let service = Service::start(settings)?;
    let endpoint = service.endpoint()?;
    let hostile = Hostile {
        endpoint: endpoint.shown(Credential::Key(key)),
    };
    let neighbour = Neighbour::new(unlimited(endpoint).await?).await?;
    let plans = attack.prepare(&hostile).await?;
    let sends_requests = !plans.is_empty();

    let memory = Watch::over(service.id()?);
    neighbour.observe(QUIET / 5).await;
    memory.take_highest();
    let quiet = neighbour.observe(QUIET).await;
    let before = memory.take_highest();
    let (clients, answers) = flood::start(&hostile.endpoint, plans);
    let loud = neighbour.observe(ATTACK).await;
    let meanwhile = memory.take_highest();
    drop(clients);

    ensure!(
        !sends_requests || answers.reached_service() > 0,
        "no request of the attack was processed",
    );
    let mut findings = Findings::of("F9", format!("{}, {}", attack.name(), store.name()));
    count(&mut findings, &answers);
    judge(&mut findings, quiet, loud);
    findings.tell("resident before", before, "MiB");
    findings.bound("resident meanwhile", meanwhile, "MiB", before + MEMORY);
    Ok(findings)
}

fn settings(ground: &Ground, store: Store, attack: Attack) -> Result<Settings> {
    let name = format!("tenants_{}", attack.slug());
    let mut settings = ground.settings(store, &name)?;
    let own = attack.variables(ground.folder.path())?;
    let limits = DEFAULT_LIMITS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    settings.variables.extend(limits);
    settings.variables.extend(own);
    // The hostile tenant comes from an address of its own.
    let proxy = ("SERVER__TRUSTED_PROXIES", "127.0.0.1");
    settings
        .variables
        .push((proxy.0.to_owned(), proxy.1.to_owned()));
    Ok(settings)
}

/// The endpoint with a key that may be used more often than the defaults allow.
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
    let request = endpoint.request("POST", "/api/keys", Some(&draft));
    let made = ask(endpoint.address, &request, QUIET).await;
    let made = made.ok().context("no answer to a new key")?.json();
    let key = made["secret"].as_str().map(str::to_owned);
    let key = key.with_context(|| format!("no key: {made}"))?;
    Ok(endpoint.shown(Credential::Key(key)))
}

fn count(findings: &mut Findings, answers: &Answers) {
    for (what, counter) in [
        ("admitted", &answers.admitted),
        ("rate limited", &answers.rate_limited),
        ("refused otherwise", &answers.refused),
        ("not answered", &answers.broken),
    ] {
        findings.count(what, counter.load(Ordering::Relaxed));
    }
}

fn judge(findings: &mut Findings, quiet: Observed, loud: Observed) {
    findings.expect_none(&["neighbour's errors"]);
    findings.count("neighbour's answers", loud.took.len() + loud.saves.len());
    findings.lose_all("neighbour's errors", loud.errors);
    let mut compare = |what, before, meanwhile, noise: f64| {
        let (before, meanwhile) = (p99(before), p99(meanwhile));
        findings.tell(format!("{what} p99 before"), before, "ms");
        findings.tell(format!("{what} p99 meanwhile"), meanwhile, "ms");
        meanwhile.max(noise) / before.max(noise)
    };
    let requests = compare("neighbour's", quiet.took, loud.took, NOISE);
    let saves = compare("neighbour's saves'", quiet.saves, loud.saves, SAVE_NOISE);
    findings.bound("neighbour's p99 meanwhile ÷ before", requests, "×", SLOWER);
    findings.bound("saves' p99 meanwhile ÷ before", saves, "×", SLOWER);
}
