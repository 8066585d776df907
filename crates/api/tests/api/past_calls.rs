//! The tool calls of earlier turns that engines receive.

use domain::{HistoryMessage, ModelStep, ProblemCode};
use ports::ReplyError;
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, id_of},
    engines::scripted_agent,
    response::ApiResponse,
    script::{EngineCall, Script},
};

/// A conversation with an agent of the test's engine.
struct Chat {
    api: ApiServer,
    script: Script,
    conversation: String,
}

impl Chat {
    async fn start(config: Value) -> Self {
        let (api, script, agent) = scripted_agent(config).await;
        let conversation = id_of(&api.conversation(json!({"agentId": agent})).await);
        Self {
            api,
            script,
            conversation,
        }
    }

    /// Sends a command, and hands the call of the engine to `reply`.
    async fn send(
        &mut self,
        mut command: Value,
        key: Option<&str>,
        reply: impl AsyncFnOnce(EngineCall),
    ) -> ApiResponse {
        command["conversationId"] = self.conversation.as_str().into();
        let request = self
            .api
            .writer()
            .request("POST", "/api/chat")
            .json(&command);
        let request = match key {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        };
        let script = &mut self.script;
        let (response, ()) = tokio::join!(request.send(), async {
            reply(script.next_call().await).await;
        });
        response
    }

    async fn say(&mut self, message: &str, reply: impl AsyncFnOnce(EngineCall)) -> ApiResponse {
        self.send(json!({"message": message}), None, reply).await
    }
}

/// Calls `calculator`, which may act.
async fn act(call: &EngineCall) {
    call.use_tool("calculator", json!({"refund": "A-77"})).await;
}

/// The history of a request: the text, the called functions with their answers, and the end.
fn shown(call: &EngineCall) -> Vec<String> {
    call.request.history.iter().map(line).collect()
}

fn line(message: &HistoryMessage) -> String {
    let Some(calls) = &message.calls else {
        return message.content.to_string();
    };
    let ending = calls.ending.map(|end| format!(" {end:?}"));
    let ending = ending.unwrap_or_default();
    format!(
        "{} {:?}{ending}",
        message.content,
        functions(calls.steps.iter().map(AsRef::as_ref))
    )
}

fn functions<'s>(steps: impl Iterator<Item = &'s ModelStep>) -> Vec<String> {
    let calls = steps.flat_map(|step| &step.calls);
    calls
        .map(|call| format!("{}: {}", call.function, call.answer()))
        .collect()
}

fn earlier(call: &EngineCall) -> Vec<String> {
    functions(call.request.earlier_steps.iter().map(AsRef::as_ref))
}

const DONE: &str = r#"calculator: {"data":"done","status":"ok"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_learns_the_calls_of_the_turns_before() {
    let mut chat = Chat::start(json!({})).await;
    let replied = chat.say("one", async |call| {
        call.send_text("Wait.").await;
        act(&call).await;
        call.answer("one!").await;
    });
    assert_eq!(replied.await.ok()["message"], "Wait.\n\none!");
    let expected = ["one".to_owned(), format!("Wait.\n\none! {:?}", [DONE])];
    let two = chat.say("two", async |call| {
        assert_eq!(shown(&call), expected);
        assert_eq!(earlier(&call), [""; 0]);
        let calls = call.request.history[1].calls.as_ref().expect("calls");
        assert_eq!(calls.steps[0].response.text, "Wait.");
        assert_eq!(calls.text_bytes, "Wait.".len());
        call.answer("two!").await;
    });
    two.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_left_out_if_the_agent_says_so() {
    let mut chat = Chat::start(json!({"history": {"toolResults": false}})).await;
    let replied = chat.say("one", async |call| {
        act(&call).await;
        call.answer("one!").await;
    });
    replied.await.ok();
    let two = chat.say("two", async |call| {
        assert_eq!(shown(&call), ["one", "one!"]);
        call.answer("two!").await;
    });
    two.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_left_out_if_they_exceed_the_characters_of_the_history() {
    let mut chat = Chat::start(json!({"history": {"maxCharacters": 40}})).await;
    for message in ["one", "two"] {
        let replied = chat.say(message, async |call| {
            act(&call).await;
            call.answer("!").await;
        });
        replied.await.ok();
    }
    let three = chat.say("three", async |call| {
        // Each call has 31 characters with its result.
        assert_eq!(
            shown(&call),
            [
                "one".to_owned(),
                "!".to_owned(),
                "two".to_owned(),
                format!("! {:?}", [DONE])
            ]
        );
        call.answer("three!").await;
    });
    three.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_generated_again_does_not_act_again() {
    let mut chat = Chat::start(json!({"history": {"toolResults": false}})).await;
    let replied = chat.say("Refund A-77.", async |call| {
        act(&call).await;
        call.use_tool("clock", json!({})).await;
        call.answer("Done.").await;
    });
    let mut reply = replied.await.ok()["messageId"].clone();
    for number in 1..=2 {
        let again = json!({"supersedes": reply});
        let replied = chat.send(again, None, async |call| {
            assert_eq!(&*call.request.message, "Refund A-77.");
            assert_eq!(shown(&call), [""; 0]);
            assert_eq!(earlier(&call), vec![DONE; number], "no harmless call");
            act(&call).await;
            call.answer("Done again.").await;
        });
        reply = replied.await.ok()["messageId"].clone();
    }
    let thanks = chat.say("Thanks.", async |call| {
        let done = format!("Done again. {:?}", [DONE; 2]);
        assert_eq!(shown(&call), ["Refund A-77.".to_owned(), done]);
        assert_eq!(earlier(&call), [""; 0]);
        call.answer("Welcome.").await;
    });
    thanks.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_stays_with_what_was_done_for_it() {
    let mut chat = Chat::start(json!({})).await;
    let replied = chat.say("Refund A-77.", async |call| {
        act(&call).await;
        call.answer("Done.").await;
    });
    replied.await.ok();
    let path = format!("/api/conversations/{}/messages", chat.conversation);
    let messages = chat.api.reader().get(&path).await.ok();
    let edit = json!({"supersedes": messages["data"][0]["id"], "message": "Refund B-78."});
    let withdrawn = format!("Refund A-77. {:?} Withdrawn", [DONE]);
    let edited = chat.send(edit, None, async |call| {
        assert_eq!(shown(&call), [withdrawn.as_str()]);
        assert_eq!(earlier(&call), [""; 0]);
        call.answer("Done, too.").await;
    });
    edited.await.ok();
    let thanks = chat.say("Thanks.", async |call| {
        assert_eq!(shown(&call), [&withdrawn, "Refund B-78.", "Done, too."]);
        call.answer("Welcome.").await;
    });
    thanks.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repetition_with_the_same_key_does_not_act_again() {
    let mut chat = Chat::start(json!({})).await;
    let command = json!({"message": "Refund A-77."});
    let failed = chat.send(command.clone(), Some("key"), async |call| {
        act(&call).await;
        call.fail(ReplyError::TimedOut);
    });
    failed.await.problem(ProblemCode::EngineTimeout);
    let repeated = chat.send(command, Some("key"), async |call| {
        assert_eq!(shown(&call), [""; 0]);
        assert_eq!(earlier(&call), [DONE]);
        call.answer("Done.").await;
    });
    repeated.await.ok();
    let thanks = chat.say("Thanks.", async |call| {
        assert_eq!(
            shown(&call),
            ["Refund A-77.".to_owned(), format!("Done. {:?}", [DONE])]
        );
        call.answer("Welcome.").await;
    });
    thanks.await.ok();
    chat.api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_stays_if_it_may_have_acted() {
    let mut chat = Chat::start(json!({})).await;
    for (message, tool) in [
        ("one", "clock"),
        ("two", "calculator"),
        ("three", "unknown"),
    ] {
        let failed = chat.say(message, async |call| {
            call.use_tool(tool, json!({})).await;
            call.fail(ReplyError::TimedOut);
        });
        failed.await.problem(ProblemCode::EngineTimeout);
    }
    let writer = chat.api.writer();
    let cancelled = chat.say("four", async |call| {
        act(&call).await;
        let path = format!("/api/turns/{}/cancel", call.request.turn_id);
        writer.request("POST", &path).send().await.ok();
    });
    cancelled.await;
    let five = chat.say("five", async |call| {
        let expected = [
            format!("two {:?} Failed", [DONE]),
            format!("four {:?} Cancelled", [DONE]),
        ];
        assert_eq!(shown(&call), expected);
        call.answer("five!").await;
    });
    five.await.ok();
    chat.api.stop().await;
}
