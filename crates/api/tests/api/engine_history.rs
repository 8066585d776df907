//! The history that engines receive.

use domain::ProblemCode;
use ports::ReplyError;
use serde_json::json;

use crate::{
    api_server::id_of,
    engines::{contents, scripted_agent},
    script::EngineCall,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_receives_the_history() {
    let (api, mut script, agent) = scripted_agent(json!({"greeting": "Hi!"})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    for (number, message) in ["one", "two"].into_iter().enumerate() {
        let command = json!({"agentId": agent, "conversationId": id, "message": message});
        let (_, ()) = tokio::join!(api.chat(command), async {
            let call = script.next_call().await;
            let texts: Vec<&str> = call.request.history.iter().map(|it| &*it.content).collect();
            let expected: &[&str] = if number == 0 {
                &["Hi!"]
            } else {
                &["Hi!", "one", "one!"]
            };
            assert_eq!(texts, expected);
            assert_eq!(call.request.turn_number, i64::try_from(number).unwrap());
            call.answer(&format!("{message}!")).await;
        });
    }
    let config = json!({"engine": "scripted", "history": {"maxMessages": 1}});
    api.writer()
        .put(&format!("/api/agents/{agent}/config"), config)
        .await
        .ok();
    let command = json!({"agentId": agent, "conversationId": id, "message": "three"});
    let (_, ()) = tokio::join!(api.chat(command), async {
        let call = script.next_call().await;
        let texts: Vec<&str> = call.request.history.iter().map(|it| &*it.content).collect();
        assert_eq!(texts, ["two!"]);
        call.answer("three!").await;
    });
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_do_not_receive_messages_of_failed_turns() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let writer = api.writer();
    let send_text = |message| {
        let command = json!({"agentId": agent, "conversationId": id, "message": message});
        writer.post("/api/chat", command)
    };
    let (failed, ()) = tokio::join!(send_text("one"), async {
        script.next_call().await.fail(ReplyError::TimedOut);
    });
    failed.problem(ProblemCode::EngineTimeout);
    let (answered, ()) = tokio::join!(send_text("two"), async {
        let call = script.next_call().await;
        assert_eq!(*call.request.history, []);
        call.answer("two!").await;
    });
    answered.ok();
    assert_eq!(contents(&api, &id).await, ["one", "two", "two!"]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_receive_a_repeated_message_once() {
    let (api, mut script, agent) = scripted_agent(json!({})).await;
    let id = id_of(&api.conversation(json!({"agentId": agent})).await);
    let ask = |message: &'static str| {
        let command = json!({"agentId": agent, "conversationId": id, "message": message});
        let request = api.writer().request("POST", "/api/chat").json(&command);
        request.header("Idempotency-Key", message).send()
    };
    let shown = |call: &EngineCall| {
        let history = call.request.history.iter();
        history.map(|it| it.content.to_string()).collect::<Vec<_>>()
    };
    let (failed, ()) = tokio::join!(ask("one"), async {
        script.next_call().await.fail(ReplyError::TimedOut);
    });
    let failed = failed.problem(ProblemCode::EngineTimeout);
    let (answered, ()) = tokio::join!(ask("one"), async {
        let call = script.next_call().await;
        assert_eq!(shown(&call), Vec::<String>::new());
        assert_eq!(&*call.request.message, "one");
        call.answer("one!").await;
    });
    assert_ne!(answered.ok()["turnId"], failed["turnId"]);
    let (answered, ()) = tokio::join!(ask("two"), async {
        let call = script.next_call().await;
        assert_eq!(shown(&call), ["one", "one!"]);
        call.answer("two!").await;
    });
    answered.ok();
    // The repetition continues the stored message.
    let expected = ["one", "one!", "two", "two!"];
    assert_eq!(contents(&api, &id).await, expected);
    api.stop().await;
}
