//! Ratings of messages.

use domain::{ProblemCode, Scope};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    caller::Caller,
    user_tokens::{BACKEND, backend, token, user},
};

/// A conversation of Ada with a reply, and the callers that rate it.
struct Rated {
    api: ApiServer,
    backend: Caller,
    ada: Caller,
    agent: String,
    conversation: String,
    reply: String,
}

impl Rated {
    async fn start() -> Self {
        let api = ApiServer::start().await;
        let (_, backend) = backend(&api, BACKEND).await;
        let ada = user(&api, &backend, "ada").await;
        let agent = api.agent_id().await;
        let chat = json!({"agentId": agent, "message": "Hello"});
        let reply = ada.post("/api/chat", chat).await.ok();
        Self {
            api,
            backend,
            ada,
            agent,
            conversation: text(&reply["conversationId"]),
            reply: text(&reply["messageId"]),
        }
    }

    fn path(&self) -> String {
        self.path_of(&self.reply)
    }

    fn path_of(&self, message: &str) -> String {
        let conversation = &self.conversation;
        format!("/api/conversations/{conversation}/messages/{message}/feedback")
    }

    async fn rate(&self, caller: &Caller, draft: Value) -> Value {
        caller.put(&self.path(), draft).await.ok()
    }

    /// The ratings of the reply, as a caller sees them.
    async fn shown_to(&self, caller: &Caller) -> Value {
        let path = format!("/api/conversations/{}/messages", self.conversation);
        let page = caller.get(&path).await.ok();
        let messages = page["data"].as_array().expect("messages");
        assert_eq!(messages[0].get("feedback"), None);
        messages[1].get("feedback").cloned().unwrap_or_default()
    }

    /// The data of the events of ratings that a caller sees.
    async fn events(&self, caller: &Caller) -> Vec<Value> {
        let path = "/api/events?since=0&limit=100&types=message.rated";
        let page = caller.get(path).await.ok();
        let events = page["data"].as_array().expect("events").iter();
        events.map(|event| event["data"].clone()).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn without_time(mut feedback: Value) -> Value {
    let members = feedback.as_object_mut().expect("an object");
    assert!(members.remove("updatedAt").expect("a time").is_string());
    feedback
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_rates_a_reply_and_takes_it_back() {
    let rated = Rated::start().await;
    let (api, ada) = (&rated.api, &rated.ada);
    assert_eq!(rated.shown_to(ada).await, Value::Null);
    let draft = json!({"rating": "down", "comment": "The price is wrong."});
    let feedback = rated.rate(ada, draft.clone()).await;
    assert_eq!(
        without_time(feedback.clone()),
        json!({"userId": "ada", "rating": "down", "comment": "The price is wrong."})
    );
    // The same again changes nothing, and writes no event.
    assert_eq!(rated.rate(ada, draft).await, feedback);
    for caller in [ada, &api.reader()] {
        assert_eq!(rated.shown_to(caller).await, json!([feedback]));
    }
    let message = json!({"id": rated.reply, "seq": 2});
    let expected = json!({"message": message, "feedback": feedback});
    assert_eq!(rated.events(ada).await, [expected]);

    let blank = json!({"rating": "up", "comment": " \n"});
    let changed = rated.rate(ada, blank).await;
    assert_eq!(changed["comment"], Value::Null);
    let expected = json!({"message": message, "feedback": changed});
    assert_eq!(rated.events(ada).await, [expected.clone(), expected]);

    for _ in 0..2 {
        assert_eq!(ada.delete(&rated.path()).await.status, 204);
        assert_eq!(rated.shown_to(ada).await, Value::Null);
        let expected = json!({"message": message, "feedback": null});
        assert_eq!(rated.events(ada).await, vec![expected; 3]);
    }
    rated.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_other_principal_has_a_rating_that_users_do_not_see() {
    let rated = Rated::start().await;
    let (api, ada) = (&rated.api, &rated.ada);
    let key = rated.rate(&rated.backend, json!({"rating": "down"})).await;
    assert_eq!(key["userId"], Value::Null);
    assert!(text(&key["principal"]).starts_with("key:"));
    let other = api.caller_with_scopes(&[Scope::ChatWrite]).await;
    let other = rated.rate(&other, json!({"rating": "up"})).await;
    assert_ne!(other["principal"], key["principal"]);
    assert_eq!(rated.shown_to(ada).await, Value::Null);
    assert_eq!(rated.events(ada).await, [] as [Value; 0]);
    let own = rated.rate(ada, json!({"rating": "up"})).await;
    assert_eq!(rated.shown_to(ada).await, json!([own]));
    assert_eq!(rated.events(ada).await.len(), 1);
    let shown = rated.shown_to(&api.reader()).await;
    let mut others = [key, other];
    others.sort_by_key(|feedback| text(&feedback["principal"]));
    assert_eq!(shown, json!([own, others[0], others[1]]));
    assert_eq!(rated.events(&api.writer()).await.len(), 3);
    // A page on a backend sees what the user sees.
    let path = format!("/api/conversations/{}/messages", rated.conversation);
    let request = rated.backend.request("GET", &path);
    let page = request.header("X-User-Id", "ada").send().await.ok();
    assert_eq!(page["data"][1]["feedback"], json!([own]));
    let listed = ada.get("/api/feedback").await.ok();
    assert_eq!(listed["data"].as_array().expect("ratings").len(), 1);
    rated.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_rates_for_the_user_of_the_conversation() {
    let rated = Rated::start().await;
    let (backend, ada) = (&rated.backend, &rated.ada);
    let draft = json!({"rating": "down", "userId": "ada"});
    let feedback = rated.rate(backend, draft.clone()).await;
    assert_eq!(
        (&feedback["userId"], feedback.get("principal")),
        (&json!("ada"), None)
    );
    assert_eq!(rated.shown_to(ada).await, json!([feedback]));
    assert_eq!(rated.rate(ada, json!({"rating": "down"})).await, feedback);
    // A request in the name of a user is the user.
    let request = backend
        .request("PUT", &rated.path())
        .header("X-User-Id", "ada");
    let up = request.json(&json!({"rating": "up"})).send().await.ok();
    assert_eq!(rated.shown_to(ada).await, json!([up]));
    let of_bob = json!({"rating": "down", "userId": "bob"});
    let rejected = backend.put(&rated.path(), of_bob.clone()).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let rejected = ada.put(&rated.path(), of_bob).await;
    assert_eq!(
        rejected.faults(),
        [("/userId".to_owned(), "not_combinable".to_owned())]
    );
    let deleted = backend
        .delete(&format!("{}?userId=ada", rated.path()))
        .await;
    assert_eq!(deleted.status, 204);
    assert_eq!(rated.shown_to(ada).await, Value::Null);
    rated.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_messages_of_agents_and_staff_within_reach_are_rated() {
    let rated = Rated::start().await;
    let (api, ada) = (&rated.api, &rated.ada);
    let up = || json!({"rating": "up"});
    let messages = format!("/api/conversations/{}/messages", rated.conversation);
    let of_staff = json!({"content": "I can help."});
    let of_staff = api.writer().post(&messages, of_staff).await.created();
    ada.put(&rated.path_of(&id_of(&of_staff)), up()).await.ok();
    let page = ada.get(&messages).await.ok();
    for message in [text(&page["data"][0]["id"]), "0".to_owned()] {
        let rejected = ada.put(&rated.path_of(&message), up()).await;
        rejected.problem(ProblemCode::MessageNotFound);
    }
    for (draft, pointer, code) in [
        (json!({}), "/rating", "required"),
        (json!({"rating": "good"}), "/rating", "unknown_value"),
        (
            json!({"rating": "up", "comment": "x".repeat(2_001)}),
            "/comment",
            "too_long",
        ),
        (
            json!({"rating": "up", "stars": 5}),
            "/stars",
            "unknown_member",
        ),
    ] {
        let rejected = ada.put(&rated.path(), draft).await;
        assert_eq!(rejected.faults(), [(pointer.to_owned(), code.to_owned())]);
    }
    let eve = user(api, &rated.backend, "eve").await;
    let other = api.agent_id().await;
    let confined = json!({"userId": "ada", "scopes": &BACKEND[1..], "agentIds": [other]});
    let confined = api.caller(Some(&token(&rated.backend, confined).await));
    for caller in [&eve, &confined] {
        let rejected = caller.put(&rated.path(), up()).await;
        rejected.problem(ProblemCode::ConversationNotFound);
        let rejected = caller.delete(&rated.path()).await;
        rejected.problem(ProblemCode::ConversationNotFound);
        let listed = caller.get("/api/feedback").await.ok();
        assert_eq!(listed["data"], json!([]));
        assert_eq!(rated.events(caller).await, [] as [Value; 0]);
    }
    let reader = api.caller_with_scopes(&[Scope::ConversationsRead]).await;
    let rejected = reader.put(&rated.path(), up()).await;
    rejected.problem(ProblemCode::InsufficientScope);
    rated.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ratings_are_listed_with_filters() {
    let rated = Rated::start().await;
    let (api, ada) = (&rated.api, &rated.ada);
    let down = rated
        .rate(ada, json!({"rating": "down", "comment": "Wrong"}))
        .await;
    let chat = json!({"conversationId": rated.conversation, "message": "And now?"});
    let second = text(&ada.post("/api/chat", chat).await.ok()["messageId"]);
    let up = json!({"rating": "up"});
    let up = ada.put(&rated.path_of(&second), up).await.ok();
    let listed = |query: &str| {
        let path = format!("/api/feedback?{query}");
        async move { api.reader().get(&path).await.ok() }
    };
    let page = listed("limit=1").await;
    let of_second = json!({
        "conversationId": rated.conversation,
        "messageId": second,
        "agentId": rated.agent,
        "agentVersion": 1,
        "userId": "ada",
        "rating": "up",
        "comment": null,
        "updatedAt": up["updatedAt"],
    });
    assert_eq!(page["data"], json!([of_second]));
    let next = format!("limit=1&cursor={}", text(&page["nextCursor"]));
    let page = listed(&next).await;
    assert_eq!(page["data"][0]["messageId"], json!(rated.reply));
    assert_eq!(page["nextCursor"], Value::Null);
    let (agent, at) = (&rated.agent, text(&up["updatedAt"]));
    let before = text(&down["updatedAt"]);
    for (query, expected) in [
        ("rating=down".to_owned(), vec![&rated.reply]),
        (format!("agentId={agent}&rating=up"), vec![&second]),
        (format!("agentId={}", rated.conversation), vec![]),
        ("agentId=nonsense".to_owned(), vec![]),
        (format!("from={at}"), vec![&second]),
        (format!("from={before}&to={at}"), vec![&rated.reply]),
    ] {
        let page = listed(&query).await;
        let ids = page["data"].as_array().expect("ratings").iter();
        let ids: Vec<_> = ids.map(|it| text(&it["messageId"])).collect();
        assert_eq!(ids.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for (query, parameter, code) in [
        ("rating=good", "rating", "unknown_value"),
        ("from=yesterday", "from", "bad_format"),
        ("userId=ada", "userId", "unknown_member"),
    ] {
        let rejected = api.reader().get(&format!("/api/feedback?{query}")).await;
        assert_eq!(rejected.faults(), [(parameter.to_owned(), code.to_owned())]);
    }
    let cursor = next.rsplit('=').next().expect("a cursor");
    let other = format!("/api/feedback?rating=up&cursor={cursor}");
    let rejected = api.reader().get(&other).await;
    rejected.problem(ProblemCode::InvalidCursor);
    rated.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rating_goes_along_with_its_conversation() {
    let rated = Rated::start().await;
    let (api, ada) = (&rated.api, &rated.ada);
    rated.rate(ada, json!({"rating": "down"})).await;
    let path = format!("/api/conversations/{}", rated.conversation);
    api.writer()
        .patch(&path, json!({"userId": "grace"}))
        .await
        .ok();
    let grace = user(api, &rated.backend, "grace").await;
    let shown = rated.shown_to(&grace).await;
    assert_eq!(
        (&shown[0]["userId"], &shown[0]["rating"]),
        (&json!("grace"), &json!("down"))
    );
    assert_eq!(rated.events(&grace).await[0]["feedback"], shown[0]);
    assert_eq!(rated.events(ada).await, [] as [Value; 0]);
    let rejected = ada.put(&rated.path(), json!({"rating": "up"})).await;
    rejected.problem(ProblemCode::ConversationNotFound);
    let listed = grace.get("/api/feedback").await.ok();
    assert_eq!(listed["data"][0]["userId"], "grace");
    assert_eq!(ada.get("/api/feedback").await.ok()["data"], json!([]));
    rated.api.stop().await;
}
