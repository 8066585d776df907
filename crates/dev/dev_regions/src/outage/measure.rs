//! The outage.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dev_load::{
    figures::Figure,
    http::{ApiClient, Method},
};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{
    observer::{HOME_WRITE, READ, Repeated, Report, WRITE, follow},
    transcript::Transcript,
};
use crate::{laboratory::Laboratory, region::Region, workload::Workload};

/// The time before the cut, of the cut, and after it.
const BEFORE: Duration = Duration::from_secs(5);
const CUT: Duration = Duration::from_mins(1);
pub(super) const AFTER: Duration = Duration::from_secs(20);
/// A pause between events that the transcript mentions.
const QUIET: Duration = Duration::from_secs(2);

/// The observations during the outage and after it.
pub(super) struct Outage {
    pub(super) transcript: Transcript,
    /// Positions of the log, and when the socket had them.
    pub(super) received: Vec<(i64, Instant)>,
    pub(super) cut: Instant,
    pub(super) healed: Instant,
    /// The head of the log when the cut ended.
    pub(super) head: i64,
    pub(super) violations: Vec<String>,
}

/// Cuts the home region off, prints the transcript and returns it with the figures.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<(Vec<Figure>, Vec<String>)> {
    let outage = Outage::observe(laboratory).await?;
    Ok((outage.figures()?, outage.transcript.lines))
}

impl Outage {
    async fn observe(laboratory: &Laboratory) -> Result<Self> {
        let home = laboratory.endpoint(Region::HOME)?;
        let frankfurt = laboratory.endpoint(Region::Frankfurt)?;
        let since = head(&ApiClient::new(&home)).await?;
        let (sender, mut reports) = unbounded_channel();
        let mut clients = JoinSet::new();
        for (what, endpoint) in [(READ, &frankfurt), (WRITE, &frankfurt), (HOME_WRITE, &home)] {
            let client = Repeated {
                what,
                endpoint: endpoint.clone(),
                workload: Workload::create(&home).await?,
            };
            clients.spawn(client.run(sender.clone()));
        }
        let mut socket = JoinSet::new();
        socket.spawn(follow(frankfurt, since, sender));
        let cut = Instant::now() + BEFORE;
        let mut outage = Self {
            transcript: Transcript::new(cut),
            received: Vec::new(),
            cut,
            healed: cut + CUT,
            head: since,
            violations: Vec::new(),
        };
        outage.listen(&mut reports, cut).await;
        laboratory.cut_home(true);
        outage.transcript.note(Instant::now(), "home is cut off");
        outage.listen(&mut reports, cut + CUT).await;
        outage.head = head(&ApiClient::new(&home)).await?;
        laboratory.cut_home(false);
        outage.healed = Instant::now();
        outage.transcript.note(outage.healed, "home is back");
        outage.listen(&mut reports, outage.healed + AFTER).await;
        drop(reports);
        let violations = socket.join_next().await.context("no socket")?;
        outage.violations = violations??;
        Ok(outage)
    }

    /// Records reports until a time.
    async fn listen(&mut self, reports: &mut UnboundedReceiver<Report>, until: Instant) {
        while let Ok(Some(report)) = timeout_at(until, reports.recv()).await {
            match report {
                Report::Observed(observation) => self.transcript.add(observation),
                Report::Received(seq, at) => {
                    let silence = self.received.last().map(|(_, before)| at - *before);
                    if silence.is_some_and(|silence| silence > QUIET) {
                        let text = format!("socket receives events again, now {seq}");
                        self.transcript.note(at, &text);
                    }
                    self.received.push((seq, at));
                }
            }
        }
    }
}

/// Returns the head of the log.
async fn head(client: &ApiClient) -> Result<i64> {
    let page = client.call(Method::GET, "/api/events", None).await?;
    page["headSeq"].as_i64().context("no headSeq")
}
