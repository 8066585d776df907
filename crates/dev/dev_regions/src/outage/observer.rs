//! The clients during an outage.

use std::time::Duration;

use anyhow::Result;
use dev_load::{
    Endpoint,
    client_view::ClientView,
    http::{ApiClient, Method},
    socket::{self, Frame},
};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::UnboundedSender,
    time::{Instant, MissedTickBehavior, interval},
};

use super::transcript::Observation;
use crate::{client::request, operation::new_name, workload::Workload};

pub(super) const READ: &str = "GET messages";
pub(super) const WRITE: &str = "POST chat";
pub(super) const SOCKET: &str = "socket";
pub(super) const HOME_WRITE: &str = "PATCH agent, Washington";

/// The pause between two requests of a kind.
const PAUSE: Duration = Duration::from_millis(250);

/// A message of a client.
pub(super) enum Report {
    Observed(Observation),
    /// The socket has all events up to this position.
    Received(i64, Instant),
}

/// A kind of request that a client repeats.
#[derive(Clone)]
pub(super) struct Repeated {
    pub(super) what: &'static str,
    pub(super) endpoint: Endpoint,
    pub(super) workload: Workload,
}

impl Repeated {
    /// Sends requests until the receiver is dropped.
    pub(super) async fn run(self, reports: UnboundedSender<Report>) {
        let client = ApiClient::new(&self.endpoint);
        let mut ticks = interval(PAUSE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (method, path, body) = self.request();
            let started = Instant::now();
            let response = request(&client, method, &path, body.as_ref(), None).await;
            let result = match response {
                Ok(timed) => describe(timed.response.status, &timed.response.json()),
                Err(error) => error.to_string(),
            };
            let observation = Observation {
                what: self.what,
                result,
                started,
                elapsed: started.elapsed(),
            };
            if reports.send(Report::Observed(observation)).is_err() {
                return;
            }
        }
    }

    fn request(&self) -> (Method, String, Option<Value>) {
        let conversation = self.workload.conversation_path();
        match self.what {
            READ => (Method::GET, format!("{conversation}/messages"), None),
            WRITE => {
                let chat = Some(self.workload.chat());
                (Method::POST, "/api/chat".to_owned(), chat)
            }
            _ => {
                let change = Some(json!({ "name": new_name() }));
                (Method::PATCH, self.workload.agent_path(), change)
            }
        }
    }
}

/// The status of a response, with the code of a problem.
fn describe(status: u16, body: &Value) -> String {
    match body["code"].as_str() {
        Some(code) => format!("{status} {code}"),
        None => status.to_string(),
    }
}

/// Follows the tenant on a socket until it ends; returns the violations of the protocol.
pub(super) async fn follow(
    endpoint: Endpoint,
    since: i64,
    reports: UnboundedSender<Report>,
) -> Result<Vec<String>> {
    let mut view = ClientView {
        cursor: since,
        ..ClientView::default()
    };
    let mut socket = view.connect(&endpoint).await?;
    loop {
        let started = Instant::now();
        let frame = tokio::select! {
            frame = socket.next() => frame?,
            () = reports.closed() => return Ok(view.violations),
        };
        match frame {
            Frame::Text(frame) => {
                let before = view.cursor;
                view.apply(&socket::json(&frame)?);
                if view.cursor > before {
                    // An error means that the receiver is dropped.
                    let _ = reports.send(Report::Received(view.cursor, Instant::now()));
                }
            }
            end => {
                let observation = Observation {
                    what: SOCKET,
                    result: format!("{end:?}"),
                    started,
                    elapsed: started.elapsed(),
                };
                let _ = reports.send(Report::Observed(observation));
                return Ok(view.violations);
            }
        }
    }
}
