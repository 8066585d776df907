//! J4: many answers to one call arrive at the same time.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Credential, Endpoint,
    http::{ApiClient, Method, Response, send},
};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    doubles::AT_ONCE,
    lab::{Approver, Lab, Plan},
    prompt::ORDER,
    record::Tool,
};
use crate::{event_log::EventLog, report::Report};

/// The number of answers to one call, and of calls.
const ANSWERS: usize = 100;
const CALLS: usize = 20;
/// The longest that a client waits for anything.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);
const USER: &str = "grace";

/// The response to an answer.
struct Answered {
    answer: Value,
    status: u16,
    body: Value,
}

/// Races answers to calls that this one decides.
pub(super) async fn run(plan: Plan, approver: Approver) -> Result<Report> {
    let who = approver.name();
    let setup = plan.setup.name();
    let done = format!("{ANSWERS} racing answers of the {who}, {CALLS} calls, {setup}");
    let mut report = Report::new("J4", done);
    report.expect_no(&[
        "several winners",
        "wrong status",
        "several turns",
        "called wrongly",
    ]);
    let mut lab = Lab::start(plan).await?;
    lab.restore().await?;
    let clients = clients(&lab, approver).await?;
    for number in 0..CALLS {
        let call = Race {
            lab: &lab,
            approver,
            order: format!("{ORDER}{who}-{number}"),
            report: &mut report,
        };
        call.run(&clients).await.context(format!("call {number}"))?;
    }
    let mut log = EventLog::default();
    log.read_on(&lab.endpoint(0)?).await?;
    report.record_losses("several turns", log.unsound());
    Ok(report)
}

/// Everybody who may answer, at every node.
async fn clients(lab: &Lab, approver: Approver) -> Result<Vec<Endpoint>> {
    let first = lab.endpoint(0)?;
    let api = ApiClient::new(&first);
    let mut credentials = vec![first.credential.clone()];
    for number in 0..2 {
        let draft = json!({
            "name": format!("colleague {number}"),
            "scopes": ["chat:write", "conversations:read", "tools:approve"],
        });
        let made = api.call(Method::POST, "/api/keys", Some(&draft)).await?;
        let secret = made["secret"].as_str().context("no key")?;
        credentials.push(Credential::Key(secret.to_owned()));
    }
    if approver == Approver::User {
        for _ in 0..2 {
            let body = json!({ "userId": USER });
            let made = api
                .call(Method::POST, "/api/user-tokens", Some(&body))
                .await?;
            let token = made["token"].as_str().context("no token")?;
            credentials.push(Credential::Token(token.to_owned()));
        }
    }
    let mut clients = Vec::new();
    for node in 0..lab.node_count() {
        let endpoint = lab.endpoint(node)?;
        let credentials = credentials.iter().cloned();
        clients.extend(credentials.map(|it| endpoint.with_credential(it)));
    }
    Ok(clients)
}

/// The answers to one call.
struct Race<'a> {
    lab: &'a Lab,
    approver: Approver,
    order: String,
    report: &'a mut Report,
}

impl Race<'_> {
    async fn run(mut self, clients: &[Endpoint]) -> Result<()> {
        let client = ApiClient::new(&self.lab.endpoint(0)?);
        let body = json!({
            "agentId": self.lab.agent(self.approver), "userId": USER,
            "message": format!("Settle {}, {AT_ONCE}.", self.order),
        });
        let asked = client.call(Method::POST, "/api/chat", Some(&body)).await?;
        let text = |name: &str| asked[name].as_str().map(str::to_owned).context("no id");
        let (turn, conversation) = (text("turnId")?, text("conversationId")?);
        let path = format!("/api/turns/{turn}");
        let question = client.call(Method::GET, &path, None).await?;
        let mut calls = question["toolCalls"].as_array().into_iter().flatten();
        let call = calls.find(|call| call["status"] == "waiting");
        let call = call.with_context(|| format!("no call waits: {question}"))?["id"].clone();
        let answered = answer(clients, &format!("{path}/actions"), &call).await?;
        let turns = self.settled(&client, &conversation).await?;
        self.judge(&answered, &turns, &call);
        Ok(())
    }

    /// Waits until no turn of the conversation is open, and returns all.
    async fn settled(&self, client: &ApiClient, conversation: &str) -> Result<Vec<Value>> {
        let path = format!("/api/conversations/{conversation}/turns?limit=100");
        let started = Instant::now();
        loop {
            let page = client.call(Method::GET, &path, None).await?;
            let turns = page["data"].as_array().cloned().unwrap_or_default();
            if turns.iter().all(|turn| turn["status"] == "completed") {
                return Ok(turns);
            }
            ensure!(started.elapsed() < TIMEOUT, "turns do not end: {page}");
            sleep(PAUSE).await;
        }
    }

    fn judge(&mut self, answered: &[Answered], turns: &[Value], call: &Value) {
        let report = &mut *self.report;
        let accepted = match self.approver {
            Approver::User => 200,
            Approver::Staff => 202,
        };
        let won = answered.iter().filter(|it| it.status == accepted);
        let winners: BTreeSet<String> = won.clone().map(|it| it.answer.to_string()).collect();
        report.count("answers", answered.len());
        report.count("accepted", won.clone().count());
        if winners.len() != 1 {
            report.record_loss("several winners", || format!("{winners:?} of {turns:?}"));
        }
        for other in answered.iter().filter(|it| it.status != accepted) {
            let is_told = other.status == 409 && other.body["code"] == "action_decided";
            let is_winner = winners.contains(&other.answer.to_string());
            if is_winner || !is_told {
                let Answered { status, body, .. } = other;
                report.record_loss("wrong status", || format!("{status}: {body}"));
            }
        }
        let named = won.map(|it| it.body["id"].to_string());
        let named: BTreeSet<_> = named.collect();
        let expected = if accepted == 202 { 2 } else { 1 };
        if named.len() != 1 || turns.len() != expected {
            report.record_loss("several turns", || format!("{named:?}, {turns:?}"));
        }
        let is_approved = winners.iter().any(|answer| answer.contains("approve"));
        let seen = self.lab.doubles.record.seen(&self.order);
        let refunds = seen.calls.iter().filter(|call| call.tool == Tool::Refund);
        let ids: Vec<_> = refunds.map(|call| call.id.clone()).collect();
        report.count("approved", usize::from(is_approved));
        let is_right = if is_approved {
            ids == [call.as_str().unwrap_or_default()]
        } else {
            ids.is_empty()
        };
        if !is_right {
            report.record_loss("called wrongly", || format!("{winners:?}, but {ids:?}"));
        }
    }
}

/// Sends all answers at the same time, each over a connection of its own.
async fn answer(clients: &[Endpoint], path: &str, call: &Value) -> Result<Vec<Answered>> {
    let answers = [
        json!({ "callId": call, "decision": "approve" }),
        json!({ "callId": call, "decision": "deny" }),
        json!({ "callId": call, "decision": "deny", "reason": "Not today." }),
    ];
    let start = watch::Sender::new(false);
    let mut sent = JoinSet::new();
    for number in 0..ANSWERS {
        let answer = answers[number % 3].clone();
        let body = json!({ "actions": [answer] });
        let endpoint = clients[number % clients.len()].clone();
        let (path, mut started) = (path.to_owned(), start.subscribe());
        sent.spawn(async move {
            started.wait_for(|started| *started).await.ok();
            loop {
                let request = endpoint.http(Method::POST, &path).json(&body);
                let response: Response = send(request, TIMEOUT).await?;
                let (status, body) = (response.status, response.json());
                if status < 400 || body["retryable"] != true {
                    return anyhow::Ok(Answered {
                        answer,
                        status,
                        body,
                    });
                }
                sleep(PAUSE).await;
            }
        });
    }
    start.send_replace(true);
    let answered = sent.join_all().await;
    answered.into_iter().collect()
}
