//! S6: how soon a word is handed on that the upstream has said.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Result, bail};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::measure::{Asking, draft};
use crate::{
    bench::{
        figures::{Figure, Part, Target},
        stage::Stage,
        talk::Talk,
    },
    rig::{
        http::Incoming,
        load::{Credential, Endpoint, Latencies, runtime},
        processor,
        service::Service,
    },
    upstream::{Manner, Marks, Upstream, WORDS},
};

/// Streams at once.
const STREAMS: u32 = 100;
/// How long each of them begins anew.
const DURATION: Duration = Duration::from_secs(15);
/// Within this time they begin.
const SPREAD: Duration = Duration::from_secs(1);

/// How old words were when they were heard.
#[derive(Default)]
struct Ages {
    first: Vec<Duration>,
    all: Vec<Duration>,
}

/// Hears streams on both stores, and the upstream itself.
pub(super) fn measure(stage: &Stage, upstream: &Upstream) -> Result<Vec<Figure>> {
    let asking = Asking::start(stage, upstream, Manner::Paced)?;
    let direct = Heard::of(upstream.address, &[directly(upstream)])?;
    let mut figures = Vec::new();
    for (rows, service) in [
        (
            [
                ("S6", "first word after the upstream's, median, SQLite"),
                ("S6", "first word after the upstream's, p99, SQLite"),
            ],
            &asking.sqlite,
        ),
        (
            [
                ("S6", "first word after the upstream's, median, Postgres"),
                ("S6", "first word after the upstream's, p99, Postgres"),
            ],
            &asking.postgres,
        ),
    ] {
        let requests = streaming(service)?;
        let before = processor::seconds(service.id()?)?;
        let heard = Heard::of(service.endpoint()?.address, &requests)?;
        let taken = processor::seconds(service.id()?)? - before;
        figures.extend(told(rows, &heard, &direct, taken));
    }
    Ok(figures)
}

/// What was heard.
struct Heard {
    first: Latencies,
    all: Latencies,
    streams: f64,
    words: f64,
}

impl Heard {
    /// Sends these requests in turn on many connections.
    fn of(address: SocketAddr, requests: &[Vec<u8>]) -> Result<Self> {
        runtime()?.block_on(async {
            let deadline = Instant::now() + DURATION;
            let mut hearing = JoinSet::new();
            for number in 0..STREAMS {
                let own = requests.iter().skip(number as usize % requests.len());
                let own: Vec<_> = own.step_by(STREAMS as usize).cloned().collect();
                hearing.spawn(async move {
                    sleep(SPREAD * number / STREAMS).await;
                    hear(address, &own, deadline).await
                });
            }
            let mut ages = Ages::default();
            while let Some(heard) = hearing.join_next().await {
                let heard = heard??;
                ages.first.extend(heard.first);
                ages.all.extend(heard.all);
            }
            #[expect(clippy::cast_precision_loss, reason = "words of a few seconds")]
            let [streams, words] = [&ages.first, &ages.all].map(|ages| ages.len() as f64);
            Ok(Self {
                first: Latencies::new(ages.first),
                all: Latencies::new(ages.all),
                streams,
                words,
            })
        })
    }
}

async fn hear(address: SocketAddr, requests: &[Vec<u8>], deadline: Instant) -> Result<Ages> {
    let mut ages = Ages::default();
    for request in requests.iter().cycle() {
        if Instant::now() >= deadline {
            break;
        }
        let incoming = Incoming::open(address, request).await;
        let mut incoming = incoming.map_err(|broken| anyhow::anyhow!("a stream is {broken}"))?;
        if incoming.status != 200 {
            bail!("a stream is answered {}", incoming.status);
        }
        let (mut marks, before) = (Marks::default(), ages.all.len());
        loop {
            let part = incoming.part().await;
            match part.map_err(|broken| anyhow::anyhow!("a stream is {broken}"))? {
                Some(part) => ages.all.extend(marks.ages(&part)),
                None => break,
            }
        }
        // The end tells the whole reply again.
        ages.all.truncate(before + WORDS);
        let Some(first) = ages.all.get(before) else {
            bail!("a stream without words");
        };
        ages.first.push(*first);
    }
    Ok(ages)
}

/// Asks the upstream as an engine does.
fn directly(upstream: &Upstream) -> Vec<u8> {
    let endpoint = Endpoint {
        address: upstream.address,
        credential: Credential::Token("mock".to_owned()),
    };
    let path = format!("/{}/v1/chat/completions", Manner::Paced.name());
    endpoint.request("POST", &path, Some(&json!({ "stream": true })))
}

/// Chats as streams, each in a conversation of its own.
fn streaming(service: &Service) -> Result<Vec<Vec<u8>>> {
    let endpoint = service.endpoint()?;
    let talk = Talk::unheard(endpoint.clone(), &draft())?;
    let accept = [("Accept", "text/event-stream")];
    let chats = talk.chats().map(|chat| {
        let chat = chat?;
        Ok(endpoint.request_with("POST", "/api/chat", &accept, Some(&chat)))
    });
    chats.collect()
}

fn told(
    rows: [(&'static str, &'static str); 2],
    heard: &Heard,
    direct: &Heard,
    processor: f64,
) -> [Figure; 2] {
    let parts = |percent| {
        let part = |what: &str, latencies: &Latencies| {
            Part::new(what, latencies.percentile(percent), "ms")
        };
        vec![
            part("all words", &heard.all),
            part("the upstream itself, first word", &direct.first),
            part("the upstream itself, all words", &direct.all),
        ]
    };
    let mut medians = parts(50);
    medians.extend([
        Part::new("streams", heard.streams, ""),
        Part::new("a word, processor", processor * 1e6 / heard.words, "µs"),
    ]);
    let figure = |row, most, percent, parts| {
        let value = heard.first.percentile(percent);
        Figure::new(row, Target::AtMost(most), value, "ms", parts)
    };
    [
        figure(rows[0], 1.0, 50, medians),
        figure(rows[1], 5.0, 99, parts(99)),
    ]
}
