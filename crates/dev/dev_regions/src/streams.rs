//! R5: the first word of a streamed reply at far clients, and the pauses between words.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Endpoint,
    figures::{Figure, Part, Target},
    http::{ApiClient, Method, ResponseStream},
    latencies::Latencies,
    upstream::{FIRST_PAUSE, SendTimeParser, WORDS},
};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::Instant};

use super::{laboratory::Laboratory, numbers::milliseconds, region::Region, workload::create};

/// The number of clients in a region at the same time, and of streams of each.
const CLIENTS: usize = 4;
const STREAMS: usize = 15;
/// The longest that the first word may take in addition to the round trip home, in milliseconds.
const FIRST_WORD: f64 = 30.0;
/// The most by which the pauses between two words may differ from those of the model, in
/// milliseconds.
const JITTER: f64 = 20.0;

/// The words of some streams.
#[derive(Default)]
struct Words {
    /// Times from the request to the first word, without the time of the model.
    first: Vec<Duration>,
    /// Differences between the pauses of a client and those of the model.
    jitter: Vec<Duration>,
}

/// Streams replies to all regions other than the home region at once.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<Vec<Figure>> {
    let home = ApiClient::new(&laboratory.endpoint(Region::HOME)?);
    let draft = json!({ "name": "Ada", "config": { "engine": "llm" } });
    let agent = create(&home, "/api/agents", &draft).await?;
    let mut clients = JoinSet::new();
    for (number, region) in Region::all().enumerate().skip(1) {
        for _ in 0..CLIENTS {
            let endpoint = laboratory.endpoint(region)?;
            let chat = json!({ "agentId": agent, "message": "Where is it?", "stream": true });
            clients.spawn(async move { anyhow::Ok((number, stream(&endpoint, &chat).await?)) });
        }
    }
    let mut all: Vec<Words> = Region::all().map(|_| Words::default()).collect();
    while let Some(ended) = clients.join_next().await {
        let (number, words) = ended??;
        all[number].first.extend(words.first);
        all[number].jitter.extend(words.jitter);
    }
    let mut figures = Vec::new();
    for (region, words) in Region::all().zip(all).skip(1) {
        figures.extend(words.figures(region)?);
    }
    Ok(figures)
}

/// Opens one stream after the other.
async fn stream(endpoint: &Endpoint, chat: &Value) -> Result<Words> {
    let client = ApiClient::new(endpoint);
    let mut words = Words::default();
    client
        .call(Method::GET, "/api/agents?limit=1", None)
        .await?;
    for _ in 0..STREAMS {
        let request = client.http(Method::POST, "/api/chat").json(chat);
        let started = Instant::now();
        let mut stream = ResponseStream::open(request).await?;
        ensure!(stream.status == 200, "a stream returned {}", stream.status);
        let (mut send_times, mut ages, mut first) = (SendTimeParser::default(), Vec::new(), None);
        while let Some(chunk) = stream.chunk().await? {
            ages.extend(send_times.ages(&chunk));
            if !ages.is_empty() {
                first.get_or_insert_with(|| started.elapsed());
            }
        }
        let first = first.context("a stream without words")?;
        words.first.push(first.saturating_sub(FIRST_PAUSE));
        // The last event repeats the whole reply.
        ages.truncate(WORDS);
        let pairs = ages.windows(2);
        words
            .jitter
            .extend(pairs.map(|pair| pair[0].abs_diff(pair[1])));
    }
    Ok(words)
}

impl Words {
    fn figures(self, region: Region) -> Result<[Figure; 2]> {
        let (first, jitter) = (Latencies::new(self.first)?, Latencies::new(self.jitter)?);
        let name = region.name();
        let most = milliseconds(region.to_home()) + FIRST_WORD;
        let median =
            |latencies: &Latencies| vec![Part::new("median", latencies.percentile(50), "ms")];
        Ok([
            Figure::new(
                ("R5", format!("{name}, first word after the model's, p95")),
                Target::AtMost(most),
                first.percentile(95),
                "ms",
                median(&first),
            ),
            Figure::new(
                ("R5", format!("{name}, jitter between words, p95")),
                Target::AtMost(JITTER),
                jitter.percentile(95),
                "ms",
                median(&jitter),
            ),
        ])
    }
}
