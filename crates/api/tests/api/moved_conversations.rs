//! Conversations that move to another user: a visitor signs in.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    engines::scripted_agent,
    event_streams::streamed,
    nodes::pair::{NodePair, SOON},
    script::EngineCall,
    sockets::client::SocketClient,
    user_tokens::{BACKEND, backend, user},
};

/// A visitor, and the user that the visitor is known to be after signing in.
struct SignIn {
    visitor: Caller,
    ada: Caller,
}

impl SignIn {
    async fn on(api: &ApiServer) -> Self {
        let (_, backend) = backend(api, BACKEND).await;
        Self {
            visitor: user(api, &backend, "visitor-1").await,
            ada: user(api, &backend, "ada").await,
        }
    }
}

async fn move_to(api: &ApiServer, conversation: &str, user: Value) -> Value {
    let path = format!("/api/conversations/{conversation}");
    let moved = api.writer().patch(&path, json!({"userId": user})).await;
    moved.ok()
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// The types of the events that a caller can read of a conversation, with their users.
async fn events_of(caller: &Caller, conversation: &str) -> Vec<(String, String)> {
    let path = format!("/api/events?since=0&limit=100&conversationId={conversation}");
    let page = caller.get(&path).await.ok();
    let events = page["data"].as_array().expect("a page").iter();
    events
        .map(|event| (text(&event["type"]), text(&event["userId"])))
        .collect()
}

fn with_user<const N: usize>(types: [&str; N], user: &str) -> [(String, String); N] {
    types.map(|kind| (kind.to_owned(), user.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_moves_with_everything_in_it() {
    let api = ApiServer::start().await;
    let SignIn { visitor, ada } = SignIn::on(&api).await;
    let agent = api.agent_id().await;
    let chat = json!({"agentId": agent, "conversationKey": "k", "message": "Hi"});
    let reply = visitor.post("/api/chat", chat.clone()).await.ok();
    let id = text(&reply["conversationId"]);
    let path = format!("/api/conversations/{id}");
    let moved = move_to(&api, &id, json!("ada")).await;
    assert_eq!(
        (&moved["userId"], &moved["version"]),
        (&json!("ada"), &json!(2))
    );
    assert_eq!(move_to(&api, &id, json!("ada")).await, moved, "no change");
    let paths = [
        path.clone(),
        format!("{path}/messages"),
        format!("{path}/turns"),
        format!("{path}/stream"),
        format!("/api/turns/{}", text(&reply["turnId"])),
    ];
    for path in &paths {
        assert_eq!(visitor.get(path).await.status, 404, "{path}");
        assert_eq!(ada.get(path).await.status, 200, "{path}");
    }
    let listed = async |caller: &Caller| {
        let page = caller.get("/api/conversations").await.ok();
        page["data"].as_array().expect("a page").len()
    };
    assert_eq!((listed(&visitor).await, listed(&ada).await), (0, 1));
    let all = [
        "conversation.created",
        "turn.started",
        "turn.completed",
        "conversation.updated",
    ];
    assert_eq!(events_of(&ada, &id).await, with_user(all, "ada"));
    assert_eq!(events_of(&api.reader(), &id).await, with_user(all, "ada"));
    let lost = with_user(["conversation.deleted"], "visitor-1");
    assert_eq!(events_of(&visitor, &id).await, lost);
    let within = json!({"conversationId": id, "message": "Hi"});
    let rejected = visitor.post("/api/chat", within.clone()).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    assert_eq!(
        ada.post("/api/chat", within).await.ok()["conversationId"],
        id
    );
    // The key goes along, and the visitor begins anew with it.
    assert_eq!(
        ada.post("/api/chat", chat.clone()).await.ok()["conversationId"],
        id
    );
    let anew = visitor.post("/api/chat", chat).await.ok();
    assert_ne!(anew["conversationId"], id);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_moves_to_nobody() {
    let api = ApiServer::start().await;
    let SignIn { visitor, ada } = SignIn::on(&api).await;
    let chat = json!({"agentId": api.agent_id().await, "message": "Hi"});
    let reply = visitor.post("/api/chat", chat).await.ok();
    let id = text(&reply["conversationId"]);
    let path = format!("/api/conversations/{id}");
    move_to(&api, &id, json!("ada")).await;
    let to_nobody = move_to(&api, &id, Value::Null).await;
    assert_eq!(to_nobody["userId"], Value::Null);
    assert_eq!(ada.get(&path).await.status, 404);
    for (user, name) in [(&ada, "ada"), (&visitor, "visitor-1")] {
        let lost = with_user(["conversation.deleted"], name);
        assert_eq!(events_of(user, &id).await, lost);
    }
    assert_eq!(api.writer().delete(&path).await.status, 204);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_before_learns_nothing_from_the_event_of_a_move() {
    let api = ApiServer::start().await;
    let SignIn { visitor, .. } = SignIn::on(&api).await;
    let agent = api.agent_id().await;
    let made = json!({"agentId": agent, "userId": "visitor-1", "title": "A question"});
    let id = id_of(&api.conversation(made).await);
    let change = json!({"userId": "ada", "title": "Secret", "metadata": {"plan": "secret"}});
    let path = format!("/api/conversations/{id}");
    api.writer().patch(&path, change).await.ok();
    let events = "/api/events?since=0&types=conversation.deleted,conversation.updated";
    let read = visitor.get(events).await;
    let event = read.ok()["data"][0].take();
    let data = json!({"conversation": {"id": id, "version": 1}});
    assert_eq!((&event["data"], &event["actor"]), (&data, &json!("staff")));
    for hidden in ["ada", "ecret"] {
        assert!(!read.text().contains(hidden), "{}", read.text());
    }
    let mut stream = streamed(&visitor, "since=0").await;
    loop {
        let next = stream.next().await.expect("the stream goes on");
        assert_ne!(next.name, "conversation.updated");
        if next.name == "conversation.deleted" {
            assert_eq!(next.data, event);
            break;
        }
    }
    drop(stream);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_staff_moves_conversations_and_never_onto_a_used_key() {
    let api = ApiServer::start().await;
    let SignIn { visitor, ada } = SignIn::on(&api).await;
    let agent = api.agent_id().await;
    let make = |user: &str| json!({"agentId": agent, "conversationKey": "k", "userId": user});
    let id = id_of(&api.conversation(make("visitor-1")).await);
    let path = format!("/api/conversations/{id}");
    for user in [json!("visitor-1"), json!("ada"), Value::Null] {
        let change = json!({"userId": user});
        let rejected = visitor.patch(&path, change.clone()).await;
        rejected.problem(ProblemCode::InsufficientScope);
        let hidden = ada.patch(&path, change.clone()).await;
        hidden.problem(ProblemCode::ConversationNotFound);
        let foreign = api.other_tenant().patch(&path, change).await;
        foreign.problem(ProblemCode::ConversationNotFound);
    }
    let reader = api.caller_with_scopes(&[Scope::ConversationsRead]).await;
    let rejected = reader.patch(&path, json!({"userId": "ada"})).await;
    rejected.problem(ProblemCode::InsufficientScope);
    for user in [json!(""), json!(7), json!("a\nb"), json!("x".repeat(321))] {
        let rejected = api.writer().patch(&path, json!({"userId": user})).await;
        rejected.problem(ProblemCode::ValidationFailed);
        assert_eq!(rejected.faults()[0].0, "/userId");
    }
    let taken = id_of(&api.conversation(make("ada")).await);
    let move_it = async || {
        let change = json!({"userId": "ada", "title": "x"});
        api.writer().patch(&path, change).await
    };
    move_it().await.problem(ProblemCode::ConversationKeyInUse);
    let unchanged = api.reader().get(&path).await.ok();
    assert_eq!(
        (
            &unchanged["userId"],
            &unchanged["version"],
            &unchanged["title"]
        ),
        (&json!("visitor-1"), &json!(1), &Value::Null)
    );
    let taken = format!("/api/conversations/{taken}");
    assert_eq!(api.writer().delete(&taken).await.status, 204);
    assert_eq!(move_it().await.ok()["userId"], "ada");
    let stale = api.writer().request("PATCH", &path);
    let stale = stale
        .header("If-Match", "\"1\"")
        .json(&json!({"userId": null}));
    stale.send().await.problem(ProblemCode::VersionMismatch);
    api.stop().await;
}

/// The text of the live frames up to this length.
async fn live_text(socket: &mut SocketClient, length: usize) -> String {
    let mut text_so_far = String::new();
    while text_so_far.len() < length {
        let event = socket.next_of_type("live").await["event"].take();
        match event["type"].as_str() {
            Some("reply.snapshot") => text_so_far = text(&event["text"]),
            _ => text_so_far.push_str(&text(&event["text"])),
        }
    }
    text_so_far
}

/// Starts a turn of a visitor, moves the conversation to Ada while the turn runs, and expects that the
/// sockets of both, and one of staff, receive what is theirs. The move is made at `api`, and the sockets are
/// at `there`.
async fn moves_during_a_turn(
    (api, there): (&ApiServer, &ApiServer),
    users: &SignIn,
    conversation: &str,
    call: EngineCall,
    turn: &str,
) {
    let at = |caller: &Caller| there.caller(Some(caller.key()));
    let (visitor, ada) = (at(&users.visitor), at(&users.ada));
    let channel = format!("conversation:{conversation}");
    let mut of_visitor = SocketClient::connected(there, &visitor, &[&channel, "tenant"]).await;
    let mut of_ada = SocketClient::connected(there, &ada, &["tenant"]).await;
    let mut of_staff = SocketClient::connected(there, &there.reader(), &[&channel]).await;
    call.send_text("Well").await;
    assert_eq!(live_text(&mut of_visitor, 4).await, "Well");
    assert_eq!(live_text(&mut of_staff, 4).await, "Well");
    move_to(api, conversation, json!("ada")).await;
    let lost = of_visitor.next_of_type("event").await;
    assert_eq!(lost["event"]["type"], "conversation.deleted");
    assert_eq!(lost["channels"], json!([channel, "tenant"]));
    let left = json!({"type": "unsubscribed", "channel": channel, "reason": "deleted"});
    assert_eq!(of_visitor.next().await, left);
    assert_eq!(of_ada.event().await["type"], "conversation.updated");
    assert_eq!(live_text(&mut of_ada, 4).await, "Well");
    assert_eq!(of_staff.event().await["type"], "conversation.updated");
    call.send_text(", yes").await;
    assert_eq!(live_text(&mut of_ada, 5).await, ", yes");
    assert_eq!(live_text(&mut of_staff, 5).await, ", yes");
    call.end();
    for socket in [&mut of_ada, &mut of_staff] {
        let completed = socket.event().await;
        assert_eq!(
            (&completed["type"], &completed["turnId"]),
            (&json!("turn.completed"), &json!(turn))
        );
        assert_eq!(completed["userId"], "ada");
    }
    let again = json!({"channel": channel});
    let problem = of_visitor.expect_problem("subscribe", again).await;
    assert_eq!(problem["code"], "conversation_not_found");
    assert_eq!(of_visitor.remaining().await, Vec::<Value>::new());
    drop((of_visitor, of_ada, of_staff));
}

async fn begin(caller: &Caller, agent: &str) -> (String, String) {
    let chat = json!({"agentId": agent, "message": "Hello"});
    let request = caller.request("POST", "/api/chat");
    let accepted = request.header("Prefer", "respond-async").json(&chat);
    let accepted = accepted.send().await;
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let turn = accepted.json();
    (text(&turn["conversationId"]), id_of(&turn))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_goes_along() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let users = SignIn::on(&api).await;
    let (id, turn) = begin(&users.visitor, &agent).await;
    let call = script.next_call().await;
    moves_during_a_turn((&api, &api), &users, &id, call, &turn).await;
    assert_eq!(
        users.ada.get(&format!("/api/turns/{turn}")).await.ok()["status"],
        "completed"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_resumes_learns_of_the_loss() {
    let api = ApiServer::start().await;
    let SignIn { visitor, .. } = SignIn::on(&api).await;
    let agent = api.agent_id().await;
    let made = json!({"agentId": agent, "userId": "visitor-1"});
    let id = id_of(&api.conversation(made).await);
    let since = api.reader().get("/api/events").await.ok()["headSeq"].take();
    move_to(&api, &id, json!("ada")).await;
    let channel = format!("conversation:{id}");
    let mut socket = SocketClient::connected(&api, &visitor, &[]).await;
    let by_name = json!({"channel": channel, "since": since});
    let problem = socket.expect_problem("subscribe", by_name).await;
    assert_eq!(problem["code"], "conversation_not_found");
    let all = json!({"channel": "tenant", "since": since});
    socket.expect_success("subscribe", all).await;
    assert_eq!(socket.event().await["type"], "conversation.deleted");
    drop(socket);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_on_one_node_holds_on_another() {
    let settings = [("SERVER__PUBLIC_URL", "https://agents.example")];
    let mut pair = NodePair::start_with_settings(&settings).await;
    let users = SignIn::on(&pair.a.api).await;
    let (visitor, ada) = (&users.visitor, &users.ada);
    let there = |caller: &Caller| pair.b.api.caller(Some(caller.key()));
    let (visitor_there, ada_there) = (there(visitor), there(ada));
    // The other node knows the conversation as that of the visitor, by its id and by its key.
    let chat = json!({"agentId": pair.agent, "conversationKey": "k", "message": "One"});
    let known = async {
        pair.b.script.next_call().await.answer("Yes.").await;
    };
    let (first, ()) = tokio::join!(visitor_there.post("/api/chat", chat.clone()), known);
    let id = text(&first.ok()["conversationId"]);
    move_to(&pair.a.api, &id, json!("ada")).await;
    // Nothing is stored in a conversation of another user, whatever a node knows.
    let within = json!({"conversationId": id, "message": "Two"});
    let rejected = visitor_there.post("/api/chat", within).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let answered = async {
        pair.b.script.next_call().await.answer("Hello.").await;
    };
    let (anew, ()) = tokio::join!(visitor_there.post("/api/chat", chat.clone()), answered);
    assert_ne!(anew.ok()["conversationId"], id);
    let answered = async {
        pair.b.script.next_call().await.answer("Hello.").await;
    };
    let (continued, ()) = tokio::join!(ada_there.post("/api/chat", chat), answered);
    assert_eq!(continued.ok()["conversationId"], id);
    let (id, turn) = begin(visitor, &pair.agent).await;
    let call = pair.a.script.next_call().await;
    let both = (&pair.a.api, &pair.b.api);
    let moving = moves_during_a_turn(both, &users, &id, call, &turn);
    tokio::time::timeout(10 * SOON, moving)
        .await
        .expect("they receive it");
    pair.stop().await;
}
