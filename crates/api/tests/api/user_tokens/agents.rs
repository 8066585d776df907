//! Tokens, keys and clients that reach only some agents.

use domain::ProblemCode;
use serde_json::{Value, json};

use super::{BACKEND, PATH, backend, token};
use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    sockets::client::{SocketClient, Upgrade},
};

/// Two agents of a tenant, and a user whose token reaches the first one.
struct Confined {
    api: ApiServer,
    open: String,
    internal: String,
    user: Caller,
    /// The same user, whose token reaches all agents.
    wide: Caller,
}

impl Confined {
    async fn start() -> Self {
        let api = ApiServer::start().await;
        let mut ids = Vec::new();
        for name in ["Open", "Internal"] {
            let draft = json!({"name": name, "personality": "secret"});
            ids.push(id_of(
                &api.writer().post("/api/agents", draft).await.created(),
            ));
        }
        let [open, internal] = ids.try_into().expect("two agents");
        let (_, backend) = backend(&api, BACKEND).await;
        let scopes = &BACKEND[1..];
        let confined = json!({"userId": "ada", "scopes": scopes, "agentIds": [open]});
        let confined = token(&backend, confined).await;
        let wide = token(&backend, json!({"userId": "ada", "scopes": scopes})).await;
        Self {
            open,
            internal,
            user: api.caller(Some(&confined)),
            wide: api.caller(Some(&wide)),
            api,
        }
    }

    /// Starts a conversation of the user with an agent, and returns it with its turn.
    async fn chat(&self, agent: &str) -> (String, String) {
        let chat = json!({"agentId": agent, "message": "Hello"});
        let reply = self.wide.post("/api/chat", chat).await.ok();
        let text = |name: &str| reply[name].as_str().expect("an id").to_owned();
        (text("conversationId"), text("turnId"))
    }
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["data"].as_array().expect("a page").iter();
    items.filter_map(|item| item["id"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_out_of_reach_do_not_exist_with_their_conversations() {
    let confined = Confined::start().await;
    let (seen, _) = confined.chat(&confined.open).await;
    let (hidden, turn) = confined.chat(&confined.internal).await;
    let Confined {
        open,
        internal,
        user,
        ..
    } = &confined;
    for path in [
        format!("/api/agents/{internal}"),
        format!("/api/agents/{internal}/config"),
        format!("/api/conversations/{hidden}"),
        format!("/api/conversations/{hidden}/messages"),
        format!("/api/conversations/{hidden}/turns"),
        format!("/api/conversations/{hidden}/stream"),
        format!("/api/turns/{turn}"),
    ] {
        assert_eq!(user.get(&path).await.status, 404, "{path}");
        assert_eq!(confined.wide.get(&path).await.status / 100, 2, "{path}");
    }
    let chat = json!({"agentId": internal, "message": "Hello"});
    let rejected = user.post("/api/chat", chat).await;
    rejected.problem(ProblemCode::AgentNotFound);
    let chat = json!({"conversationId": hidden, "message": "Hello"});
    let rejected = user.post("/api/chat", chat).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let create = json!({"agentId": internal});
    let rejected = user.post("/api/conversations", create).await;
    rejected.problem(ProblemCode::AgentNotFound);
    let fork = json!({"forkOf": {"conversationId": hidden}});
    let rejected = user.post("/api/conversations", fork).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let deleted = user.delete(&format!("/api/conversations/{hidden}")).await;
    deleted.problem(ProblemCode::ConversationNotFound);
    assert_eq!(ids(&user.get("/api/agents").await.ok()), [open.as_str()]);
    let named = user.get("/api/agents?name=int").await.ok();
    assert_eq!(ids(&named), [""; 0]);
    let listed = user.get("/api/conversations").await.ok();
    assert_eq!(ids(&listed), [seen.as_str()]);
    confined.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_agents_out_of_reach_are_not_sent() {
    let confined = Confined::start().await;
    let mut socket = SocketClient::connected(&confined.api, &confined.user, &["tenant"]).await;
    let (hidden, _) = confined.chat(&confined.internal).await;
    let (seen, _) = confined.chat(&confined.open).await;
    let log = confined
        .user
        .get("/api/events?since=0&limit=100")
        .await
        .ok();
    let live = socket.events_to("turn.completed").await;
    for sent in [log.to_string(), json!(live).to_string()] {
        assert!(sent.contains(&seen), "{sent}");
        assert!(
            !sent.contains(&hidden) && !sent.contains(&confined.internal),
            "{sent}"
        );
    }
    let room = json!({"channel": format!("agent:{}", confined.internal)});
    let refused = socket.expect_problem("subscribe", room.clone()).await;
    assert_eq!(refused["code"], "agent_not_found", "{refused}");
    let ticket = confined
        .user
        .post("/api/ws/tickets", json!({}))
        .await
        .created();
    let path = format!("/api/ws?ticket={}", ticket["ticket"].as_str().unwrap());
    let mut by_ticket = Upgrade::with_path(&confined.api, &path).open().await;
    by_ticket.connect(json!({"channels": []})).await;
    let refused = by_ticket.expect_problem("subscribe", room).await;
    assert_eq!(refused["code"], "agent_not_found", "{refused}");
    confined.api.stop().await;
}

/// The status of a response in the form of another protocol.
async fn status(caller: &Caller, method: &str, path: &str, body: Option<&Value>) -> u16 {
    let request = caller.request(method, path);
    let request = match body {
        Some(body) => request.json(body),
        None => request,
    };
    request.open().await.status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_protocols_do_not_know_agents_out_of_reach() {
    let confined = Confined::start().await;
    let (user, open, internal) = (&confined.user, &confined.open, &confined.internal);
    let models = user.get("/v1/models").await.ok();
    assert!(models.to_string().contains(open), "{models}");
    assert!(!models.to_string().contains(internal), "{models}");
    let completion = |model: &str| {
        let messages = [json!({"role": "user", "content": "Hello"})];
        let metadata = json!({"conversation_key": "k"});
        json!({"model": model, "messages": messages, "metadata": metadata})
    };
    let part = json!({"type": "text", "text": "Hello"});
    let message = json!({"id": "m", "role": "user", "parts": [part]});
    let chat = json!({"id": "k", "messages": [message], "trigger": "submit-message"});
    let message = json!({"id": "m", "role": "user", "content": "Hello"});
    let run = json!({"threadId": "k", "runId": "r", "state": {}, "messages": [message], "tools": [],
        "context": [], "forwardedProps": {}});
    let completions = "/v1/chat/completions";
    for (agent, expected) in [(open, 200), (internal, 404)] {
        for (path, body) in [
            (completions.to_owned(), completion(agent)),
            (format!("/ai-sdk/agents/{agent}/chat"), chat.clone()),
            (format!("/ag-ui/agents/{agent}/run"), run.clone()),
        ] {
            let found = status(user, "POST", &path, Some(&body)).await;
            assert_eq!(found, expected, "{path}");
        }
        for path in [
            format!("/v1/models/{agent}"),
            format!("/ai-sdk/agents/{agent}/chat/k/messages"),
            format!("/ag-ui/agents/{agent}/run?threadId=k"),
        ] {
            assert_eq!(status(user, "GET", &path, None).await, expected, "{path}");
        }
    }
    let by_name = completion("Internal");
    assert_eq!(status(user, "POST", completions, Some(&by_name)).await, 404);
    confined.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_issues_no_credential_that_reaches_further() {
    let confined = Confined::start().await;
    let (api, open, internal) = (&confined.api, &confined.open, &confined.internal);
    let scopes = [
        "keys:admin",
        "user-tokens:issue",
        "chat:write",
        "agents:read",
    ];
    let draft = json!({"name": "shop", "scopes": scopes, "agentIds": [open]});
    let made = api
        .writer()
        .post("/api/keys", draft.clone())
        .await
        .created();
    assert_eq!(made["agentIds"], json!([open]));
    let key = api.caller(made["secret"].as_str());
    assert_eq!(
        key.get("/api/principal").await.ok()["agentIds"],
        json!([open])
    );
    assert_eq!(
        key.get(&format!("/api/agents/{internal}")).await.status,
        404
    );

    // The credentials that it issues reach the same agents.
    let issued = token(&key, json!({"userId": "ada"})).await;
    let user = api.caller(Some(&issued));
    assert_eq!(
        user.get("/api/principal").await.ok()["agentIds"],
        json!([open])
    );
    let child = json!({"name": "child", "scopes": ["chat:write"]});
    let child = key.post("/api/keys", child).await.created();
    assert_eq!(child["agentIds"], json!([open]));
    for (path, member) in [(PATH, "userId"), ("/api/keys", "name")] {
        let draft = json!({member: "x", "scopes": ["chat:write"], "agentIds": [open, internal]});
        let refused = key.post(path, draft).await;
        let expected = ("/agentIds/1".to_owned(), "unknown_value".to_owned());
        assert_eq!(refused.faults(), [expected]);
    }
    let withdrawn = key.delete(&format!("{PATH}?userId=ada")).await;
    let expected = ("userId".to_owned(), "not_combinable".to_owned());
    assert_eq!(withdrawn.faults(), [expected]);
    // It sees no key that reaches further.
    let keys = key.get("/api/keys").await.ok();
    let mut names: Vec<_> = keys["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["child", "shop"]);
    confined.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_of_a_key_are_few_and_concern_no_whole_tenant() {
    let confined = Confined::start().await;
    let open = &confined.open;
    let draft = json!({"name": "shop", "scopes": ["chat:write"], "agentIds": [open]});
    let many: Vec<_> = (10..61)
        .map(|number| format!("{}{number}", &open[..34]))
        .collect();
    for (wrong, pointer, code) in [
        (json!({"agentIds": []}), "/agentIds", "too_short"),
        (json!({"agentIds": many}), "/agentIds", "too_many"),
        (json!({"agentIds": ["x"]}), "/agentIds/0", "bad_format"),
        (
            json!({"agentIds": [open, open]}),
            "/agentIds/1",
            "duplicate_item",
        ),
        (
            json!({"scopes": ["agents:write"]}),
            "/agentIds",
            "not_combinable",
        ),
    ] {
        let mut draft = draft.clone();
        draft
            .as_object_mut()
            .unwrap()
            .extend(wrong.as_object().unwrap().clone());
        let refused = confined.api.writer().post("/api/keys", draft).await;
        assert_eq!(refused.faults(), [(pointer.to_owned(), code.to_owned())]);
    }
    confined.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refreshed_socket_leaves_what_its_credential_cannot_reach() {
    let confined = Confined::start().await;
    let (conversation, _) = confined.chat(&confined.internal).await;
    let unreachable = [
        format!("agent:{}", confined.internal),
        format!("conversation:{conversation}"),
    ];
    let reachable = format!("agent:{}", confined.open);
    let channels = [&*unreachable[0], &unreachable[1], &reachable];
    let mut socket = SocketClient::connected(&confined.api, &confined.wide, &channels).await;
    let narrow = json!({"token": confined.user.key()});
    socket.expect_success("refresh", narrow).await;
    for channel in &unreachable {
        let frame = socket.next().await;
        let left = json!({"type": "unsubscribed", "channel": channel, "reason": "deleted"});
        assert_eq!(frame, left);
    }
    let wide = json!({"token": confined.wide.key()});
    socket.expect_success("refresh", wide).await;
    confined.chat(&confined.internal).await;
    let (_, turn) = confined.chat(&confined.open).await;
    let event = socket.next_of_type("event").await;
    assert_eq!(event["channels"], json!([reachable]));
    assert_ne!(
        event["event"]["turnId"],
        json!(turn),
        "the conversation comes first"
    );
    confined.api.stop().await;
}
