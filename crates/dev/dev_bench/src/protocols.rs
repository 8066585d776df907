//! P1: chats over the client protocols, beside `POST /api/chat` with `stream: true`.

use anyhow::Result;
use dev_load::{generator::Script, latencies::median};
use serde_json::json;

use super::{
    environment::Environment,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    workload::{CONVERSATIONS, MESSAGE, Workload, text},
};

const CONNECTIONS: usize = 32;
/// More requests than a round takes, since each has an id of its own.
const REQUESTS: usize = 80_000;

/// A way to send a message and to receive the reply as a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// `POST /api/chat` in a conversation.
    Chat,
    /// The same with what the protocols send: the client's own names of conversation and message,
    /// and an idempotency key.
    NamedChat,
    AiSdk,
    AgUi,
    /// `POST /api/chat` with `store: false`.
    EphemeralChat,
    OpenAi,
}

/// The routes, and those that store the same rows, with which they are compared. The first row shows
/// the cost of names and an idempotency key.
const COMPARISONS: [(Route, Route, [&str; 2]); 4] = [
    (
        Route::NamedChat,
        Route::Chat,
        [
            "named chat ÷ chat, 32 connections",
            "named chat, added median, 1 connection",
        ],
    ),
    (
        Route::AiSdk,
        Route::NamedChat,
        [
            "AI SDK ÷ named chat, 32 connections",
            "AI SDK, added median, 1 connection",
        ],
    ),
    (
        Route::AgUi,
        Route::NamedChat,
        [
            "AG-UI ÷ named chat, 32 connections",
            "AG-UI, added median, 1 connection",
        ],
    ),
    (
        Route::OpenAi,
        Route::EphemeralChat,
        [
            "OpenAI ÷ ephemeral chat, 32 connections",
            "OpenAI, added median, 1 connection",
        ],
    ),
];

/// A route under load: alone and on all connections.
struct MeasuredRoute<'a> {
    route: Route,
    workload: &'a Workload,
    /// The number of requests so far.
    sent: usize,
    alone: MeasuredServer,
    together: MeasuredServer,
}

/// Measures all routes in turns, on SQLite.
pub(super) fn measure(environment: &Environment, workload: &Workload) -> Result<Vec<Figure>> {
    let routes = [
        Route::Chat,
        Route::NamedChat,
        Route::AiSdk,
        Route::AgUi,
        Route::EphemeralChat,
        Route::OpenAi,
    ];
    let process = environment.sqlite.id()?;
    let warm_up = |route| MeasuredRoute::warm_up(route, workload, process);
    let mut routes = routes
        .into_iter()
        .map(warm_up)
        .collect::<Result<Vec<_>>>()?;
    for _ in 0..ROUNDS {
        for route in &mut routes {
            route.run_round()?;
        }
    }
    let of = |route| routes.iter().find(|measured| measured.route == route);
    let figures = COMPARISONS
        .iter()
        .filter_map(|(route, baseline, names)| Some(of(*route)?.figures(of(*baseline)?, *names)));
    Ok(figures.flatten().collect())
}

impl<'a> MeasuredRoute<'a> {
    fn warm_up(route: Route, workload: &'a Workload, process: u32) -> Result<Self> {
        let address = workload.endpoint.address;
        let mut sent = 0;
        let mut warm_up = |connections| {
            let scripts = route.scripts(workload, connections, &mut sent)?;
            MeasuredServer::warm_up(address, process, scripts)
        };
        Ok(Self {
            alone: warm_up(1)?,
            together: warm_up(CONNECTIONS)?,
            route,
            workload,
            sent,
        })
    }

    fn run_round(&mut self) -> Result<()> {
        for (server, connections) in [(&mut self.alone, 1), (&mut self.together, CONNECTIONS)] {
            let scripts = self
                .route
                .scripts(self.workload, connections, &mut self.sent)?;
            server.use_scripts(scripts);
            server.run_round()?;
        }
        Ok(())
    }

    fn figures(&self, baseline: &Self, [share, added]: [&'static str; 2]) -> [Figure; 2] {
        let (own, other) = (&self.together, &baseline.together);
        let rates = [("replies", own), ("replies of the baseline", other)];
        let shares = rates.into_iter().flat_map(|(what, server)| {
            let processor = format!("{what}, processor");
            [
                Part::new(what, median(server.per_second()), "/s"),
                Part::new(processor, median(server.cpu_per_request()), "µs"),
            ]
        });
        let share = Figure::new(
            ("P1", share),
            Target::AtLeast(0.9),
            ratio(&own.per_second(), &other.per_second()),
            "×",
            shares.collect(),
        );
        let (own, other) = (self.alone.percentile(50), baseline.alone.percentile(50));
        let differences = own.iter().zip(&other).map(|(own, other)| own - other);
        let parts = vec![
            Part::new("reply", median(own.clone()), "ms"),
            Part::new("reply of the baseline", median(other.clone()), "ms"),
        ];
        // Rules make the whole reply at once: its first delta arrives with its end.
        let added = Figure::new(
            ("P1", added),
            Target::AtMost(0.2),
            median(differences.collect()),
            "ms",
            parts,
        );
        [share, added]
    }
}

impl Route {
    /// Scripts for a round. No two connections share a conversation.
    fn scripts(
        self,
        workload: &Workload,
        connections: usize,
        sent: &mut usize,
    ) -> Result<Vec<Script>> {
        let conversations = CONVERSATIONS / connections;
        let script = |connection| {
            let requests = (0..REQUESTS / connections).map(|turn| {
                let conversation = connection * conversations + turn % conversations;
                *sent += 1;
                self.request(workload, conversation, *sent)
            });
            let requests = requests.collect::<Result<Vec<_>>>()?;
            Ok(Script::once(requests).expect_text(self.end()))
        };
        (0..connections).map(script).collect()
    }

    fn request(self, workload: &Workload, conversation: usize, number: usize) -> Result<Vec<u8>> {
        let agent = text(&workload.agent, "id")?;
        let own = format!("{self:?}-{number}");
        let name = format!("{self:?}-{conversation}");
        let chat = "/api/chat".to_owned();
        let mut headers = Vec::new();
        let (path, body) = match self {
            Self::Chat => {
                let mut body = workload.chat(conversation)?;
                body["stream"] = true.into();
                (chat, body)
            }
            Self::NamedChat => {
                headers.push(("Idempotency-Key", own.as_str()));
                let body = json!({
                    "agentId": agent, "conversationKey": name, "clientMessageId": own,
                    "message": MESSAGE, "stream": true,
                });
                (chat, body)
            }
            Self::AiSdk => {
                let parts = json!([{ "type": "text", "text": MESSAGE }]);
                let message = json!({ "id": own, "role": "user", "parts": parts });
                let body =
                    json!({ "id": name, "trigger": "submit-message", "messages": [message] });
                (format!("/ai-sdk/agents/{agent}/chat"), body)
            }
            Self::AgUi => {
                let message = json!({ "id": own, "role": "user", "content": MESSAGE });
                let body = json!({
                    "threadId": name, "runId": own, "messages": [message],
                    "state": {}, "tools": [], "context": [], "forwardedProps": {},
                });
                (format!("/ag-ui/agents/{agent}/run"), body)
            }
            Self::EphemeralChat => {
                let body = json!({
                    "agentId": agent, "message": MESSAGE, "stream": true, "store": false,
                });
                (chat, body)
            }
            Self::OpenAi => {
                let message = json!({ "role": "user", "content": MESSAGE });
                let body = json!({ "model": agent, "stream": true, "messages": [message] });
                ("/v1/chat/completions".to_owned(), body)
            }
        };
        let endpoint = &workload.endpoint;
        Ok(endpoint.request_with("POST", &path, &headers, Some(&body)))
    }

    /// The text in the last event of a complete reply.
    const fn end(self) -> &'static str {
        match self {
            Self::Chat | Self::NamedChat | Self::EphemeralChat => "turn.completed",
            Self::AiSdk => r#""finishReason":"stop""#,
            Self::AgUi => "RUN_FINISHED",
            Self::OpenAi => r#""finish_reason":"stop""#,
        }
    }
}
