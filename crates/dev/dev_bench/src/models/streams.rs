//! S6: the time from a word of the upstream to the same word of the service.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use dev_load::{
    Credential, Endpoint,
    http::{Method, ResponseStream},
    latencies::Latencies,
    process_stats, runtime,
    service::Service,
    upstream::{ResponseMode, SendTimeParser, Upstream, WORDS},
};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::measure::{LlmServices, draft};
use crate::{
    environment::Environment,
    figures::{Figure, Part, Target},
    workload::Workload,
};

/// The number of concurrent streams.
const STREAMS: u32 = 100;
/// The time in which each client opens one stream after the other.
const DURATION: Duration = Duration::from_secs(15);
/// The time over which the first streams are spread.
const RAMP_UP: Duration = Duration::from_secs(1);

/// The ages of words on arrival.
#[derive(Default)]
struct ArrivalLatencies {
    first: Vec<Duration>,
    all: Vec<Duration>,
}

/// Measures streams of both stores, and of the upstream itself.
pub(super) fn measure(environment: &Environment, upstream: &Upstream) -> Result<Vec<Figure>> {
    let services = LlmServices::start(environment, upstream, ResponseMode::Paced)?;
    let direct = WordLatencies::measure(&upstream_streams(upstream))?;
    let mut figures = Vec::new();
    for (rows, service) in [
        (
            [
                ("S6", "first word after the upstream's, median, SQLite"),
                ("S6", "first word after the upstream's, p99, SQLite"),
            ],
            &services.sqlite,
        ),
        (
            [
                ("S6", "first word after the upstream's, median, Postgres"),
                ("S6", "first word after the upstream's, p99, Postgres"),
            ],
            &services.postgres,
        ),
    ] {
        let streams = service_streams(service)?;
        let before = process_stats::cpu_seconds(service.id()?)?;
        let measured = WordLatencies::measure(&streams)?;
        let cpu_seconds = process_stats::cpu_seconds(service.id()?)? - before;
        figures.extend(figures_of(rows, &measured, &direct, cpu_seconds));
    }
    Ok(figures)
}

/// Requests for streams; each client sends its share in turn.
#[derive(Clone)]
struct StreamRequests {
    endpoint: Endpoint,
    path: String,
    bodies: Vec<Value>,
}

/// The latencies of words, from the upstream to the client.
struct WordLatencies {
    first: Latencies,
    all: Latencies,
    streams: f64,
    words: f64,
}

impl WordLatencies {
    /// Sends the requests on many connections at once.
    fn measure(requests: &StreamRequests) -> Result<Self> {
        runtime()?.block_on(async {
            let deadline = Instant::now() + DURATION;
            let mut clients = JoinSet::new();
            for number in 0..STREAMS {
                let bodies = requests.bodies.iter();
                let own = bodies.skip(number as usize % requests.bodies.len());
                let own = StreamRequests {
                    bodies: own.step_by(STREAMS as usize).cloned().collect(),
                    ..requests.clone()
                };
                clients.spawn(async move {
                    sleep(RAMP_UP * number / STREAMS).await;
                    read_streams(&own, deadline).await
                });
            }
            let mut ages = ArrivalLatencies::default();
            while let Some(ended) = clients.join_next().await {
                let own = ended??;
                ages.first.extend(own.first);
                ages.all.extend(own.all);
            }
            #[expect(clippy::cast_precision_loss, reason = "words of a few seconds")]
            let [streams, words] = [&ages.first, &ages.all].map(|ages| ages.len() as f64);
            Ok(Self {
                first: Latencies::new(ages.first)?,
                all: Latencies::new(ages.all)?,
                streams,
                words,
            })
        })
    }
}

/// Opens one stream after the other until the deadline.
async fn read_streams(requests: &StreamRequests, deadline: Instant) -> Result<ArrivalLatencies> {
    let mut ages = ArrivalLatencies::default();
    for body in requests.bodies.iter().cycle() {
        if Instant::now() >= deadline {
            break;
        }
        let request = requests.endpoint.http(Method::POST, &requests.path);
        let request = request.header("Accept", "text/event-stream").json(body);
        let mut stream = ResponseStream::open(request).await?;
        ensure!(stream.status == 200, "a stream returned {}", stream.status);
        let (mut send_times, before) = (SendTimeParser::default(), ages.all.len());
        while let Some(chunk) = stream.chunk().await? {
            ages.all.extend(send_times.ages(&chunk));
        }
        // The last event repeats the whole reply.
        ages.all.truncate(before + WORDS);
        let Some(first) = ages.all.get(before) else {
            bail!("a stream without words");
        };
        ages.first.push(*first);
    }
    Ok(ages)
}

/// Streams of the upstream, requested as an engine requests them.
fn upstream_streams(upstream: &Upstream) -> StreamRequests {
    StreamRequests {
        endpoint: Endpoint {
            address: upstream.address,
            credential: Credential::Token("mock".to_owned()),
        },
        path: format!("/{}/v1/chat/completions", ResponseMode::Paced.name()),
        bodies: vec![json!({ "stream": true })],
    }
}

/// Streams of chats, each in a conversation of its own.
fn service_streams(service: &Service) -> Result<StreamRequests> {
    let endpoint = service.endpoint()?;
    let workload = Workload::with_any_reply(endpoint.clone(), &draft())?;
    Ok(StreamRequests {
        endpoint,
        path: "/api/chat".to_owned(),
        bodies: workload.chats().collect::<Result<_>>()?,
    })
}

fn figures_of(
    rows: [(&'static str, &'static str); 2],
    measured: &WordLatencies,
    direct: &WordLatencies,
    cpu_seconds: f64,
) -> [Figure; 2] {
    let parts = |percent| {
        let part = |name: &str, latencies: &Latencies| {
            Part::new(name, latencies.percentile(percent), "ms")
        };
        vec![
            part("all words", &measured.all),
            part("the upstream itself, first word", &direct.first),
            part("the upstream itself, all words", &direct.all),
        ]
    };
    let mut medians = parts(50);
    let cpu_per_word = cpu_seconds * 1e6 / measured.words;
    medians.extend([
        Part::new("streams", measured.streams, ""),
        Part::new("processor time of a word", cpu_per_word, "µs"),
    ]);
    let figure = |row, most, percent, parts| {
        let value = measured.first.percentile(percent);
        Figure::new(row, Target::AtMost(most), value, "ms", parts)
    };
    [
        figure(rows[0], 1.0, 50, medians),
        figure(rows[1], 5.0, 99, parts(99)),
    ]
}
