//! Conversations that staff handles.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    engines::scripted_agent,
    user_tokens::{BACKEND, backend, user},
};

async fn hand_over(caller: &Caller, conversation: &Value, to: &str) -> Value {
    let path = format!("/api/conversations/{}", id_of(conversation));
    caller.patch(&path, json!({"handledBy": to})).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_silent_while_staff_handles_the_conversation() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let made = api
        .conversation(json!({"agentId": agent, "userId": "ada"}))
        .await;
    assert_eq!(made["handledBy"], "agent");
    let handed = hand_over(&api.writer(), &made, "staff").await;
    assert_eq!(
        (&handed["handledBy"], &handed["version"]),
        (&json!("staff"), &json!(2))
    );
    assert!(handed["waitingSince"].is_string(), "{handed}");
    let chat = json!({"conversationId": made["id"], "message": "Anybody there?"});
    let reply = api.chat(chat.clone()).await;
    let shown = ["message", "messageId", "engine", "finishReason", "degraded"];
    let expected = json!(["", null, null, "handed_over", false]);
    assert_eq!(json!(shown.map(|member| &reply[member])), expected);
    let turn = reply["turnId"].as_str().expect("a turn");
    let turn = api.reader().get(&format!("/api/turns/{turn}")).await.ok();
    let shown = ["status", "reply", "finishReason", "error"];
    let expected = json!(["completed", null, "handed_over", null]);
    assert_eq!(json!(shown.map(|member| &turn[member])), expected);
    let path = format!("/api/conversations/{}/messages", id_of(&made));
    let messages = api.reader().get(&path).await.ok();
    assert_eq!(messages["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(messages["data"][0]["turnStatus"], "completed");
    let edit = json!({
        "conversationId": made["id"], "message": "Hello?", "supersedes": messages["data"][0]["id"],
    });
    let rejected = api.writer().post("/api/chat", edit).await;
    rejected.problem(ProblemCode::ConversationBusy);
    let handed_back = hand_over(&api.writer(), &made, "agent").await;
    assert_eq!(handed_back.get("waitingSince"), None);
    let path = format!("/api/conversations/{}", id_of(&made));
    // A conversation that the agent handles has no assignee: nothing changes.
    let taken = api.writer().patch(&path, json!({"assignee": "mia"})).await;
    assert_eq!(taken.ok(), handed_back);
    let reply = api.chat(chat).await;
    assert_eq!(reply["finishReason"], "stop");
    assert!(reply["messageId"].is_string(), "{reply}");
    api.stop().await;
}

/// A rule hands over as well as one that calls the tool, with or without a reason, and no more than once.
#[tokio::test(flavor = "multi_thread")]
async fn rules_hand_the_conversation_over() {
    let api = ApiServer::start().await;
    let call = json!({"tool": "hand_over", "arguments": {"reason": "A refund of {{capture.1}}"}});
    let rules = json!([
        {"keywords": ["person"], "handOver": true, "reply": "A colleague will answer here."},
        {"pattern": "refund (\\S+)", "call": call, "reply": "{{result}}"},
    ]);
    let draft =
        json!({"name": "Bea", "config": {"rules": rules, "tools": [{"name": "hand_over"}]}});
    let agent = id_of(&api.agent(draft).await);
    for (message, reason, text) in [
        (
            "A person, please",
            json!(null),
            "A colleague will answer here.",
        ),
        (
            "Please refund A-77",
            json!("A refund of A-77"),
            "A member of staff takes over this conversation. Tell the user.",
        ),
    ] {
        let chat = json!({"agentId": agent, "message": message, "userId": "ada"});
        let reply = api.writer().post("/api/chat", chat).await.ok();
        assert_eq!(reply["message"], text);
        let id = reply["conversationId"].as_str().expect("an id");
        let path = format!("/api/conversations/{id}");
        let found = api.reader().get(&path).await.ok();
        let shown = ["handledBy", "version"].map(|member| &found[member]);
        assert_eq!(json!(shown), json!(["staff", 2]));
        assert_eq!(found["handover"]["reason"], reason);
        assert_eq!(found["handover"]["at"], found["waitingSince"]);
        let again = json!({"conversationId": id, "message": message});
        let reply = api.writer().post("/api/chat", again).await.ok();
        assert_eq!(reply["finishReason"], "handed_over");
        let found = api.reader().get(&path).await.ok();
        assert_eq!(found["version"], 2);
        let writer = api.writer();
        let back = writer.patch(&path, json!({"handledBy": "agent"})).await;
        assert_eq!(back.ok().get("handover"), None);
    }
    let both = json!({"rules": [
        {"keywords": ["person"], "handOver": true, "call": call, "reply": "Yes."},
    ]});
    let draft = json!({"name": "Bea", "capabilities": ["hand_over"], "config": both});
    let rejected = api.writer().post("/api/agents", draft).await;
    let expected = [(
        "/config/rules/0/handOver".to_owned(),
        "not_combinable".to_owned(),
    )];
    assert_eq!(rejected.faults(), expected);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_without_a_reply_while_staff_handles_the_conversation() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let made = api.conversation(json!({"agentId": agent})).await;
    hand_over(&api.writer(), &made, "staff").await;
    let chat = json!({"conversationId": made["id"], "message": "Hi", "stream": true});
    let streamed = api.writer().post("/api/chat", chat).await;
    let text = streamed.text();
    assert!(text.contains(r#""replyId":null"#), "{text}");
    assert!(text.contains("event: turn.completed"), "{text}");
    assert!(!text.contains("reply.delta"), "{text}");
    // The engine was not asked: its first call is that of the next chat.
    hand_over(&api.writer(), &made, "agent").await;
    let chat = json!({"conversationId": made["id"], "message": "Still there?"});
    let writer = api.writer();
    let (reply, ()) = tokio::join!(writer.post("/api/chat", chat), async {
        let call = script.next_call().await;
        assert_eq!(&*call.request.message, "Still there?");
        let texts: Vec<_> = call.request.history.iter().map(|it| &*it.content).collect();
        assert_eq!(texts, ["Hi"]);
        call.answer("Yes.").await;
    });
    assert_eq!(reply.ok()["message"], "Yes.");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_hand_over_only_to_staff_and_only_if_the_agent_allows_it() {
    let api = ApiServer::start().await;
    let (_, backend) = backend(&api, BACKEND).await;
    let ada = user(&api, &backend, "ada").await;
    let strict = api.agent_id().await;
    let draft = json!({"name": "Bea", "config": {"allowHandOver": true}});
    let open = id_of(&api.agent(draft).await);
    for (agent, is_allowed) in [(strict, false), (open, true)] {
        let made = api
            .conversation(json!({"agentId": agent, "userId": "ada"}))
            .await;
        let path = format!("/api/conversations/{}", id_of(&made));
        for change in [
            json!({"handledBy": "agent"}),
            json!({"handledBy": null}),
            json!({"handledBy": "staff", "assignee": "ada"}),
            json!({"assignee": null}),
        ] {
            let rejected = ada.patch(&path, change).await;
            rejected.problem(ProblemCode::InsufficientScope);
        }
        let asked = ada.patch(&path, json!({"handledBy": "staff"})).await;
        if is_allowed {
            let handed = asked.ok();
            assert_eq!(handed["handledBy"], "staff");
            assert_eq!(
                (handed.get("waitingSince"), handed.get("assignee")),
                (None, None)
            );
        } else {
            asked.problem(ProblemCode::InsufficientScope);
        }
        let stored = api.writer().get(&path).await.ok();
        assert_eq!(stored.get("waitingSince").is_some(), is_allowed);
        for filter in ["waiting=true", "assignee=grace"] {
            let listed = ada.get(&format!("/api/conversations?{filter}")).await;
            listed.problem(ProblemCode::InsufficientScope);
        }
        let unknown = api
            .writer()
            .patch(&path, json!({"handledBy": "nobody"}))
            .await;
        assert_eq!(
            unknown.faults(),
            [("/handledBy".to_owned(), "unknown_value".to_owned())]
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_members_of_staff_claims_a_conversation() {
    let api = ApiServer::start().await;
    let made = api
        .conversation(json!({"agentId": api.agent_id().await}))
        .await;
    let path = format!("/api/conversations/{}", id_of(&made));
    let writer = api.writer();
    let etag = writer.get(&path).await.header("etag").to_owned();
    let claim = |name: &str| {
        let change = json!({"handledBy": "staff", "assignee": name});
        let request = writer.request("PATCH", &path).header("If-Match", &etag);
        request.json(&change).send()
    };
    let (grace, bob) = tokio::join!(claim("grace"), claim("bob"));
    let statuses = [grace.status, bob.status];
    assert!(
        statuses.contains(&200) && statuses.contains(&412),
        "{statuses:?}"
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_desk_lists_what_waits() {
    let api = ApiServer::start().await;
    let agent = api.agent_id().await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(api.conversation(json!({"agentId": agent})).await);
    }
    for waiting in [&all[2], &all[0], &all[1]] {
        hand_over(&api.writer(), waiting, "staff").await;
    }
    let path = format!("/api/conversations/{}", id_of(&all[1]));
    let writer = api.writer();
    writer.patch(&path, json!({"assignee": "grace"})).await.ok();
    let path = format!("/api/conversations/{}/messages", id_of(&all[0]));
    writer
        .post(&path, json!({"content": "Hello!"}))
        .await
        .created();
    let listed = async |query: &str| {
        let path = format!("/api/conversations?{query}&agentId={agent}");
        let page = writer.get(&path).await.ok();
        let found = page["data"].as_array().expect("a page").clone();
        (
            found
                .into_iter()
                .map(|it| it["id"].clone())
                .collect::<Vec<_>>(),
            page,
        )
    };
    let ids = |indexes: &[usize]| -> Vec<Value> {
        indexes
            .iter()
            .map(|index| all[*index]["id"].clone())
            .collect()
    };
    assert_eq!(listed("waiting=true").await.0, ids(&[2, 1]));
    let (first, page) = listed("waiting=true&limit=1").await;
    assert_eq!(first, ids(&[2]));
    let cursor = page["nextCursor"].as_str().expect("a cursor");
    let next = listed(&format!("waiting=true&limit=1&cursor={cursor}"))
        .await
        .0;
    assert_eq!(next, ids(&[1]));
    assert_eq!(listed("handledBy=staff").await.0, ids(&[0, 1, 2]));
    assert_eq!(listed("handledBy=agent").await.0, ids(&[3]));
    assert_eq!(listed("assignee=grace").await.0, ids(&[1]));
    for query in [
        "handledBy=bot",
        "waiting=false",
        "handledBy=agent&waiting=true",
    ] {
        let rejected = writer.get(&format!("/api/conversations?{query}")).await;
        rejected.problem(ProblemCode::ValidationFailed);
    }
    let reader = api.caller_with_scopes(&[Scope::ConversationsRead]).await;
    assert_eq!(
        reader.get("/api/conversations?waiting=true").await.status,
        200
    );
    api.stop().await;
}
