//! The checks of turns after the faults.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    boundary::Boundary,
    client::{Client, OrderTurn},
    record::{ReceivedCall, Seen, Tool},
    strike::STORED,
};
use crate::report::Report;

/// The losses that are counted.
pub(super) const LOSSES: &[&str] = &["repeated", "lost", "without result", "unfinished", "failed"];

/// A turn, and what its client has done.
pub(super) struct Finished {
    pub(super) turn: OrderTurn,
    /// The conversations of its order.
    pub(super) conversations: Vec<String>,
    /// The response to the repeated chat.
    pub(super) repeated: Option<(u16, Value)>,
    pub(super) seen: Seen,
}

/// The losses of one turn.
pub(super) struct Judgement<'a> {
    pub(super) boundary: Boundary,
    /// The time of the last fault.
    pub(super) struck: Instant,
    pub(super) finished: &'a Finished,
    pub(super) report: &'a mut Report,
}

impl Judgement<'_> {
    /// Reads everything again, and judges it.
    pub(super) async fn run(&mut self, client: &Client) {
        self.judge_calls();
        let faults: Vec<_> = self
            .finished
            .seen
            .requests
            .iter()
            .flat_map(|it| &it.faults)
            .collect();
        for fault in faults {
            self.lose("without result", fault);
        }
        let mut shown = BTreeSet::new();
        for conversation in &self.finished.conversations {
            match client.settle(conversation).await {
                Ok(turns) => self.judge_turns(&turns, &mut shown),
                Err(open) => self.lose("unfinished", &format!("{open:?}")),
            }
            let path = format!("/api/conversations/{conversation}/messages?limit=100");
            let page = client.get(&path).await;
            for message in page["data"].as_array().into_iter().flatten() {
                self.judge_results(message, &message["turnStatus"]);
            }
        }
        let received = &self.finished.seen.calls;
        for call in received.iter().filter(|call| !shown.contains(&call.id)) {
            self.lose("lost", &format!("no turn shows {call:?}"));
        }
        self.judge_repetition(client).await;
    }

    fn lose(&mut self, kind: &'static str, detail: &str) {
        let turn = &self.finished.turn;
        self.report
            .record_loss(kind, || format!("{turn:?}: {detail}"));
    }

    /// Judges what the tools have received.
    fn judge_calls(&mut self) {
        for repeated in repeated(&self.finished.seen, self.boundary, self.struck) {
            self.lose("repeated", &repeated);
        }
    }

    fn judge_turns(&mut self, turns: &[Value], shown: &mut BTreeSet<String>) {
        for turn in turns {
            let calls = turn["toolCalls"].as_array().into_iter().flatten();
            shown.extend(calls.filter_map(|call| call["id"].as_str().map(str::to_owned)));
            self.judge_results(turn, &turn["status"]);
            if turn["status"] != "failed" {
                continue;
            }
            let is_expected = match turn["error"]["code"].as_str() {
                Some("interrupted") => self.boundary == Boundary::KilledTwice,
                Some("store_unavailable") => self.boundary == Boundary::StoreAway,
                _ => false,
            };
            self.report
                .count("failed, to be repeated", usize::from(is_expected));
            if !is_expected {
                self.lose("failed", &turn.to_string());
            }
        }
    }

    /// Judges that every call of a turn or message has a result.
    fn judge_results(&mut self, shown: &Value, status: &Value) {
        let calls = shown["toolCalls"].as_array().into_iter().flatten();
        for call in calls {
            let is_open = matches!(call["status"].as_str(), Some("running" | "waiting") | None);
            if is_open && *status != "requires_action" {
                self.lose("without result", &shown.to_string());
            }
        }
    }

    /// Judges that the repeated chat was answered, by its turn unless that has failed.
    async fn judge_repetition(&mut self, client: &Client) {
        let Some((status, reply)) = &self.finished.repeated else {
            return;
        };
        let first = client
            .get(&format!("/api/turns/{}", self.finished.turn.turn))
            .await;
        let is_same = reply["turnId"] == *self.finished.turn.turn;
        if *status != 200 || (first["status"] != "failed" && !is_same) {
            let detail = format!("repeated with {status}: {reply}, the turn: {first}");
            self.lose("lost", &detail);
        }
    }
}

/// Returns the calls that were made although they must not be.
fn repeated(seen: &Seen, boundary: Boundary, struck: Instant) -> Vec<String> {
    let mut found = Vec::new();
    let of_tool = |tool: Tool| seen.calls.iter().filter(move |call| call.tool == tool);
    if of_tool(Tool::Refund).count() > 1 {
        found.push(format!(
            "refunds: {:?}",
            of_tool(Tool::Refund).collect::<Vec<_>>()
        ));
    }
    let reserved: BTreeSet<_> = of_tool(Tool::Reserve).map(|call| &call.id).collect();
    if reserved.len() > 1 {
        found.push(format!("reserved by several ids: {reserved:?}"));
    }
    let mut by_id: BTreeMap<&str, Vec<&ReceivedCall>> = BTreeMap::new();
    for call in &seen.calls {
        by_id.entry(&call.id).or_default().push(call);
    }
    for (id, calls) in by_id {
        let known = seen.requests.iter().filter(|it| it.succeeded.contains(id));
        let known = known.map(|request| request.at).min();
        let stored = calls.iter().filter_map(|call| call.answered);
        let stored = stored.map(|at| at + STORED).min().filter(|at| *at < struck);
        // Otherwise the store may have been away, or the process suspended.
        let stored = stored.filter(|_| boundary == Boundary::EndStored);
        let ended = known.into_iter().chain(stored).min();
        let is_after_end = |call: &&&ReceivedCall| ended.is_some_and(|ended| call.at > ended);
        let attempts: BTreeSet<_> = calls.iter().map(|call| call.attempt).collect();
        if calls.iter().any(|call| is_after_end(&call)) || attempts.len() < calls.len() {
            found.push(format!("after its end, or the same attempt: {calls:?}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::record::ReceivedRequest, *};

    fn call(tool: Tool, id: &str, attempt: u64, at: Instant) -> ReceivedCall {
        ReceivedCall {
            tool,
            id: id.to_owned(),
            attempt,
            at,
            answered: Some(at),
        }
    }

    #[test]
    fn finds_each_kind_of_repetition() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let price = |attempt, at| call(Tool::Price, "t-1", attempt, after(at));
        let refund = |id: &str, attempt| call(Tool::Refund, id, attempt, start);
        let reserve = |id: &str, attempt| call(Tool::Reserve, id, attempt, start);
        let known = ReceivedRequest {
            at: after(5),
            own_calls: 1,
            succeeded: ["t-1".to_owned()].into(),
            unknown: 0,
            faults: Vec::new(),
        };
        for (calls, expected) in [
            (vec![price(1, 1), price(2, 4)], 0),
            (vec![price(1, 1), price(2, 6)], 1),
            (vec![price(1, 1), price(1, 4)], 1),
            (vec![refund("t-2", 1)], 0),
            (vec![refund("t-2", 1), refund("u-2", 1)], 1),
            (vec![reserve("t-3", 1), reserve("t-3", 2)], 0),
            (vec![reserve("t-3", 1), reserve("u-3", 1)], 1),
        ] {
            let seen = Seen {
                calls,
                requests: vec![known.clone()],
            };
            let found = repeated(&seen, Boundary::InCalls, start);
            assert_eq!(found.len(), expected, "{seen:?}");
        }
        let seen = Seen {
            calls: vec![price(1, 0), price(2, 3)],
            requests: Vec::new(),
        };
        assert_eq!(repeated(&seen, Boundary::EndStored, after(3)).len(), 1);
        assert_eq!(repeated(&seen, Boundary::EndStored, after(2)).len(), 0);
        assert_eq!(repeated(&seen, Boundary::InCalls, after(3)).len(), 0);
    }
}
