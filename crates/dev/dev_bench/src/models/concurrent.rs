//! S14, S16: concurrent chats by a language model, complete and streamed, whose pieces arrive
//! together: beside a service written by hand, beside chats by rules, and in system calls.

use anyhow::Result;
use dev_load::call_counter::{CallCounter, Calls};

use super::reference::{Commits, Servers, parts};
use crate::{
    Row,
    figures::{Figure, Part, Target},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    workload::Workload,
};

/// Connections of complete chats.
const CONNECTIONS: usize = 32;
/// Connections of streamed chats.
const STREAMS: usize = 16;

/// The kinds of chats that are measured in turns.
struct Chats {
    complete: MeasuredServer,
    streamed: MeasuredServer,
    by_rules: MeasuredServer,
    reference: MeasuredServer,
}

/// Measures the requested rows.
pub(super) fn measure(servers: &Servers, wanted: impl Fn(Row) -> bool) -> Result<Vec<Figure>> {
    let by_rules = Workload::prepare(servers.endpoint()?)?;
    let by_model = &servers.by_model;
    let mut chats = Chats {
        complete: servers.service(by_model.chat_scripts(CONNECTIONS)?)?,
        streamed: servers.service(by_model.streamed_chat_scripts(STREAMS)?)?,
        by_rules: servers.service(by_rules.chat_scripts(CONNECTIONS)?)?,
        reference: servers.reference(CONNECTIONS, Commits::One)?,
    };
    for _ in 0..ROUNDS {
        for server in chats.all() {
            server.run_round()?;
        }
    }
    let calls = chats.count_calls(servers.process()?)?;
    if calls.is_none() {
        println!("`perf` is missing or may not trace calls: calls and switches are not counted");
    }
    let mut figures = Vec::new();
    if wanted(Row::S14) {
        figures.extend(chats.complete_figures());
        figures.extend(calls.iter().flat_map(complete_calls));
    }
    if wanted(Row::S16) {
        figures.push(chats.streamed_figure());
        figures.extend(calls.iter().flat_map(streamed_calls));
    }
    Ok(figures)
}

/// The calls of one chat.
struct CallsOfChat {
    complete: Calls,
    streamed: Calls,
}

impl Chats {
    fn all(&mut self) -> [&mut MeasuredServer; 4] {
        [
            &mut self.complete,
            &mut self.streamed,
            &mut self.by_rules,
            &mut self.reference,
        ]
    }

    /// Counts calls in one more round of each kind, since counting takes time of its own; `None` if
    /// this machine cannot count them.
    fn count_calls(&self, process: u32) -> Result<Option<CallsOfChat>> {
        if !CallCounter::is_available() {
            return Ok(None);
        }
        let count = |server: &MeasuredServer| {
            let counter = CallCounter::start(process)?;
            let chats = server.run_uncounted_round()?;
            Ok::<_, anyhow::Error>(counter.stop()?.divided_by(chats))
        };
        Ok(Some(CallsOfChat {
            complete: count(&self.complete)?,
            streamed: count(&self.streamed)?,
        }))
    }

    fn complete_figures(&self) -> [Figure; 2] {
        let (service, reference) = (&self.complete, &self.reference);
        let mut both = parts("chat", service);
        both.extend(parts("reference", reference));
        let throughput = Figure::new(
            (
                "S14",
                "chat by a model ÷ reference service, chats/s, 32 connections",
            ),
            Target::AtLeast(3.5),
            ratio(&service.per_second(), &reference.per_second()),
            "×",
            both,
        );
        let processor = Figure::new(
            ("S14", "chat by a model ÷ by rules, processor time"),
            Target::AtMost(2.8),
            ratio(&service.cpu_per_request(), &self.by_rules.cpu_per_request()),
            "×",
            parts("chat by rules", &self.by_rules),
        );
        [throughput, processor]
    }

    fn streamed_figure(&self) -> Figure {
        Figure::new(
            ("S16", "streamed ÷ complete chat by a model, processor time"),
            Target::AtMost(1.5),
            ratio(
                &self.streamed.cpu_per_request(),
                &self.complete.cpu_per_request(),
            ),
            "×",
            parts("streamed chat, 16 connections", &self.streamed),
        )
    }
}

fn complete_calls(calls: &CallsOfChat) -> Vec<Figure> {
    let Calls {
        wakes,
        switches,
        sends,
    } = calls.complete;
    let sends = vec![Part::new(
        "writes to sockets of the model and the client",
        sends,
        "",
    )];
    let figure = |name, most, value, parts| {
        Figure::new(("S14", name), Target::AtMost(most), value, "", parts)
    };
    vec![
        figure("wakes of other threads, of a chat", 4.0, wakes, vec![]),
        figure("context switches of a chat", 3.0, switches, sends),
    ]
}

/// A chat writes once to the model, and otherwise to its client.
fn streamed_calls(calls: &CallsOfChat) -> Vec<Figure> {
    let writes = calls.streamed.sends - 1.0;
    let parts = vec![
        Part::new("wakes of other threads", calls.streamed.wakes, ""),
        Part::new("context switches", calls.streamed.switches, ""),
    ];
    let name = "writes to the socket of a streamed chat";
    vec![Figure::new(
        ("S16", name),
        Target::AtMost(6.0),
        writes,
        "",
        parts,
    )]
}
