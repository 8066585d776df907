//! `/api/events` as a stream of server-sent events: its events.

use std::time::{Duration, Instant};

use domain::{ProblemCode, Scope, Timestamp};
use serde_json::json;

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    issuer::{ExternalIssuer, ProviderKind},
    response::Request,
    sse_client::{EventStream, StreamedEvent},
};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn events_request(caller: &Caller, query: &str) -> Request {
    let request = caller.request("GET", &format!("/api/events?{query}"));
    request.header("Accept", "text/event-stream")
}

pub(crate) async fn streamed(caller: &Caller, query: &str) -> EventStream {
    EventStream::open(events_request(caller, query)).await
}

/// The `(id, type)` of the next events.
pub(crate) async fn next(stream: &mut EventStream, count: usize) -> Vec<(i64, String)> {
    let mut events = Vec::new();
    for _ in 0..count {
        let event = stream.next().await.expect("the stream goes on");
        events.push((id(&event), event.name));
    }
    events
}

fn id(event: &StreamedEvent) -> i64 {
    let id = event.id.as_deref().expect("an id");
    id.parse().expect("a number")
}

pub(crate) fn listed(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
    let owned = expected.iter().map(|(id, name)| (*id, (*name).to_owned()));
    owned.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_sends_past_and_new_events_like_pages() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut stream = streamed(&api.reader(), "since=0").await;
    assert_eq!(stream.header("x-event-seq"), Some("0"));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let chat = json!({"agentId": agent, "message": "Hello"});
    api.chat(chat).await;
    let mut received = Vec::new();
    for _ in 0..4 {
        received.push(stream.next().await.expect("the stream goes on"));
    }
    let page = api.reader().get("/api/events?since=0").await.ok();
    let page = page["data"].as_array().unwrap();
    assert_eq!(page.len(), received.len());
    for (received, paged) in received.iter().zip(page) {
        assert_eq!(received.data, *paged);
        assert_eq!(received.name, paged["type"]);
        assert_eq!(id(received), paged["seq"]);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_starts_at_the_head_without_a_cursor() {
    let api = ApiServer::start().await;
    api.agent_id().await;
    let mut stream = streamed(&api.reader(), "").await;
    assert_eq!(stream.header("x-event-seq"), Some("1"));
    api.agent_id().await;
    assert_eq!(next(&mut stream, 1).await, listed(&[(2, "agent.created")]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_sent_at_once() {
    let api = ApiServer::start().await;
    let mut stream = streamed(&api.reader(), "").await;
    let mut quickest = TIMEOUT;
    // At least one of them is not delayed by the machine.
    for _ in 0..10 {
        api.agent_id().await;
        let written = Instant::now();
        next(&mut stream, 1).await;
        quickest = quickest.min(written.elapsed());
    }
    assert!(quickest < Duration::from_millis(250), "{quickest:?}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_event_id_wins_over_since() {
    let api = ApiServer::start().await;
    for _ in 0..3 {
        api.agent_id().await;
    }
    let request = events_request(&api.reader(), "since=0").header("Last-Event-ID", "2");
    let mut stream = EventStream::open(request).await;
    assert_eq!(next(&mut stream, 1).await, listed(&[(3, "agent.created")]));
    // A page ignores it.
    let page = api.reader().request("GET", "/api/events?since=0");
    let page = page.header("Last-Event-ID", "2").send().await.ok();
    assert_eq!(page["data"].as_array().unwrap().len(), 3);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnecting_client_receives_every_event_once() {
    const WRITERS: usize = 4;
    const EACH: usize = 60;
    let api = ApiServer::start().await;
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let writer = api.writer();
        writers.spawn(async move {
            for _ in 0..EACH {
                let draft = json!({"name": "Ada", "personality": "Kind", "capabilities": ["time"]});
                writer.post("/api/agents", draft).await.created();
            }
        });
    }
    let reader = api.reader();
    let (mut last, mut received) = (0, 0);
    while received < WRITERS * EACH {
        let request = events_request(&reader, "since=0").header("Last-Event-ID", &last.to_string());
        let mut stream = EventStream::open(request).await;
        for _ in 0..7.min(WRITERS * EACH - received) {
            let event = stream.next().await.expect("the stream goes on");
            assert_eq!(id(&event), last + 1);
            last = id(&event);
            received += 1;
        }
    }
    writers.join_all().await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_sends_only_the_requested_events() {
    let api = ApiServer::start().await;
    let (one, other) = (api.agent_id().await, api.agent_id().await);
    let reader = api.reader();
    let conversation = id_of(&api.conversation(json!({"agentId": other})).await);
    let queries = [
        "since=0&types=conversation.created,turn.completed".to_owned(),
        format!("since=0&agentId={one}"),
        format!("since=0&conversationId={conversation}"),
        format!("since=0&agentId={one}&types=turn.completed"),
        format!("types=turn.started&agentId={other}"),
    ];
    let mut streams = Vec::new();
    for query in &queries {
        streams.push(streamed(&reader, query).await);
    }
    // Positions 4 to 6, 7 and 8, 9.
    api.chat(json!({"agentId": one, "message": "Hello"})).await;
    api.chat(json!({"agentId": other, "message": "Hello", "conversationId": conversation}))
        .await;
    let deleted = format!("/api/conversations/{conversation}");
    api.writer().delete(&deleted).await;
    let expected: [&[(i64, &str)]; 5] = [
        &[
            (3, "conversation.created"),
            (4, "conversation.created"),
            (6, "turn.completed"),
            (8, "turn.completed"),
        ],
        &[
            (1, "agent.created"),
            (4, "conversation.created"),
            (5, "turn.started"),
            (6, "turn.completed"),
        ],
        &[
            (3, "conversation.created"),
            (7, "turn.started"),
            (8, "turn.completed"),
            (9, "conversation.deleted"),
        ],
        &[(6, "turn.completed")],
        &[(7, "turn.started")],
    ];
    for (stream, expected) in streams.iter_mut().zip(expected) {
        assert_eq!(next(stream, expected.len()).await, listed(expected));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_sends_only_readable_events() {
    let mut issuer = ExternalIssuer::start(ProviderKind::Auth0).await;
    let api = issuer.trusting_server().start().await;
    let agent = api.agent_id().await;
    let scope = "openid chat:write conversations:read events:read";
    let mut users = Vec::new();
    for login in ["auth0|ada", "auth0|bob"] {
        let minted = issuer
            .issue_tokens(json!({"login": login, "scope": scope}))
            .await;
        users.push(api.caller(Some(minted.token())));
    }
    let agents_alone = [Scope::AgentsRead, Scope::EventsRead];
    let agents_alone = api.caller_with_scopes(&agents_alone).await;
    let mut of_ada = streamed(&users[0], "since=0").await;
    let mut of_bob = streamed(&users[1], "since=0").await;
    let mut of_agents = streamed(&agents_alone, "since=0").await;
    let mut of_strangers = streamed(&api.other_tenant(), "since=0").await;
    let chat = json!({"agentId": agent, "message": "Hello"});
    for user in &users {
        user.post("/api/chat", chat.clone()).await.ok();
    }
    let path = format!("/api/agents/{agent}");
    api.writer().delete(&path).await;
    let talk = |first: i64| {
        listed(&[
            (first, "conversation.created"),
            (first + 1, "turn.started"),
            (first + 2, "turn.completed"),
        ])
    };
    let with_profile = |talk| [listed(&[(1, "agent.created")]), talk].concat();
    assert_eq!(next(&mut of_ada, 4).await, with_profile(talk(2)));
    assert_eq!(next(&mut of_bob, 4).await, with_profile(talk(5)));
    let agents = listed(&[(1, "agent.created"), (8, "agent.deleted")]);
    assert_eq!(next(&mut of_agents, 2).await, agents);
    // The log of the other tenant begins with its own first event.
    let draft = json!({"name": "Ada", "personality": "Kind", "capabilities": ["time"]});
    api.other_tenant()
        .post("/api/agents", draft)
        .await
        .created();
    assert_eq!(
        next(&mut of_strangers, 1).await,
        listed(&[(1, "agent.created")])
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_cursor_receives_a_resync_and_continues_from_the_head() {
    let api = ApiServer::start().await;
    for _ in 0..5 {
        api.agent_id().await;
    }
    let later = Timestamp::from_milliseconds(i64::MAX / 2);
    let trimmed = api.storage.maintenance.trim_log(later, 3).await.unwrap();
    assert_eq!(trimmed, 3);
    for since in ["since=2", "since=6"] {
        let mut stream = streamed(&api.reader(), since).await;
        let resync = stream.next().await.expect("the stream goes on");
        assert_eq!(resync.name, "resync");
        assert_eq!(id(&resync), 5);
        assert_eq!(resync.data, json!({"firstSeq": 4, "headSeq": 5}));
    }
    let mut stream = streamed(&api.reader(), "since=3").await;
    let left = listed(&[(4, "agent.created"), (5, "agent.created")]);
    assert_eq!(next(&mut stream, 2).await, left);
    let mut stream = streamed(&api.reader(), "since=0").await;
    stream.next_of_type("resync").await;
    api.agent_id().await;
    assert_eq!(next(&mut stream, 1).await, listed(&[(6, "agent.created")]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_requests_are_rejected_before_the_stream() {
    let api = ApiServer::start().await;
    let reader = api.reader();
    for last in ["", "x", "-1", "+5", "1.5", "99999999999999999999"] {
        let request = events_request(&reader, "").header("Last-Event-ID", last);
        let problem = request.send().await.problem(ProblemCode::InvalidHeader);
        assert_eq!(problem["errors"][0]["header"], "Last-Event-ID", "{last}");
    }
    let twice = events_request(&reader, "").header("Last-Event-ID", "1");
    let twice = twice.header("Last-Event-ID", "1").send().await;
    twice.problem(ProblemCode::InvalidHeader);
    for query in [
        "since=-1",
        "since=%2B1",
        "limit=%2B1",
        "types=agent.born",
        "cursor=1",
    ] {
        let response = events_request(&reader, query).send().await;
        response.problem(ProblemCode::ValidationFailed);
    }
    let nothing = [Scope::AgentsRead, Scope::ConversationsRead];
    let nothing = api.caller_with_scopes(&nothing).await;
    let rejected = events_request(&nothing, "").send().await;
    rejected.problem(ProblemCode::InsufficientScope);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_format_follows_the_accept_header() {
    let api = ApiServer::start().await;
    let reader = api.reader();
    let form = async |accept: &str| -> Option<String> {
        let request = reader
            .request("GET", "/api/events")
            .header("Accept", accept);
        let response = request.open().await;
        let is_ok = response.status() == 200;
        let form = response.headers()["content-type"].to_str().unwrap();
        is_ok.then(|| form.to_owned())
    };
    let stream = Some("text/event-stream".to_owned());
    let page = Some("application/json".to_owned());
    assert_eq!(form("text/event-stream").await, stream);
    assert_eq!(form("TEXT/Event-Stream;q=0.5, */*;q=0.1").await, stream);
    assert_eq!(form("*/*").await, page);
    assert_eq!(form("application/json").await, page);
    assert_eq!(form("application/json, text/event-stream;q=0").await, page);
    assert_eq!(form("text/html").await, None);
    assert_eq!(form("text/event-stream;q=0").await, None);
    api.stop().await;
}
