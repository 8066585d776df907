//! `ReplyEngine`: the contract of every engine.

use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, future::join_all};
use ports::{ModelChunk, ModelRequest, ReplyEngine};

use crate::fixture;

/// Expands to one test per promise of a reply engine. `$fixture` is the path (from the crate's
/// root) of an async function whose result derefs to a working `ports::ReplyEngine`.
#[macro_export]
macro_rules! reply_engine_contract {
    ($fixture:path) => {
        $crate::reply_engine_contract! {
            $fixture;
            a_reply_is_deltas_and_then_one_end,
            an_agent_without_configuration_is_accepted,
            an_immediate_engine_waits_for_nothing,
            dropping_a_stream_stops_no_other_reply,
            many_replies_can_run_at_once,
            a_test_of_rules_returns_the_reply_and_a_result_for_each_rule,
        }
    };
    ($fixture:path; $($promise:ident,)*) => {
        mod reply_engine {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $promise() {
                    let fixture = $fixture().await;
                    $crate::reply_engine::$promise(&*fixture).await;
                }
            )*
        }
    };
}

/// A first message to an ordinary agent.
pub fn request(number: u32) -> ModelRequest {
    ModelRequest {
        tenant: fixture::tenant(),
        agent: Arc::new(fixture::agent(1)),
        turn_id: fixture::turn_id(number),
        turn_number: i64::from(number),
        user_id: Some("ada".to_owned()),
        user: None,
        context: None,
        history: Arc::default(),
        message: "Hello, what can you do? 🦊".into(),
        files: Vec::new(),
        file_contents: Arc::default(),
        steps: Vec::new(),
        earlier_steps: Vec::new(),
        tools: Arc::default(),
        unavailable_tools: Vec::new(),
        may_call: true,
        is_for_staff: false,
        tool_use: ports::ToolUse::default(),
        response_schema: None,
    }
}

async fn prepare<E: ReplyEngine + ?Sized>(engine: &E) {
    let agent = Arc::new(fixture::agent(1));
    let prepared = engine.prepare(&fixture::tenant(), &agent).await;
    assert_eq!(prepared, Ok(()));
}

/// Returns the text of a reply. Asserts that the stream is deltas and then exactly one end.
async fn whole_reply<E: ReplyEngine + ?Sized>(engine: &E, request: ModelRequest) -> String {
    let stream = engine.request(request).await.expect("the engine replies");
    let chunks: Vec<_> = stream.collect().await;
    let (last, deltas) = chunks.split_last().expect("a reply has an end");
    assert!(
        matches!(last, Ok(ModelChunk::End { .. })),
        "the last is {last:?}"
    );
    let deltas = deltas.iter().map(|chunk| match chunk {
        Ok(ModelChunk::Text(text)) => text.as_str(),
        other => panic!("before the end stands {other:?}"),
    });
    deltas.collect()
}

/// `request` MUST yield text and one end, or an error.
pub async fn a_reply_is_deltas_and_then_one_end<E: ReplyEngine + ?Sized>(engine: &E) {
    prepare(engine).await;
    let text = whole_reply(engine, request(0)).await;
    assert!(!text.trim().is_empty(), "a reply has text");
}

/// `prepare` is called whichever engine the agent names: an agent without settings for this engine
/// has no faults.
pub async fn an_agent_without_configuration_is_accepted<E: ReplyEngine + ?Sized>(engine: &E) {
    prepare(engine).await;
    let mut bare = fixture::agent(2);
    bare.personality = String::new();
    bare.capabilities = Vec::new();
    let prepared = engine.prepare(&fixture::tenant(), &Arc::new(bare)).await;
    assert_eq!(prepared, Ok(()));
}

/// An immediate engine replies from the request alone: once it is prepared, no part of its reply
/// waits for anything outside.
pub async fn an_immediate_engine_waits_for_nothing<E: ReplyEngine + ?Sized>(engine: &E) {
    if !engine.is_immediate() {
        return;
    }
    prepare(engine).await;
    let mut stream = engine
        .request(request(0))
        .await
        .expect("the engine replies");
    loop {
        let part = stream.next().now_or_never();
        match part.expect("the next part is ready at once") {
            Some(Ok(_)) => {}
            Some(Err(error)) => panic!("the engine fails: {error}"),
            None => return,
        }
    }
}

/// Dropping a stream stops its reply, and no other.
pub async fn dropping_a_stream_stops_no_other_reply<E: ReplyEngine + ?Sized>(engine: &E) {
    prepare(engine).await;
    let unread = engine
        .request(request(0))
        .await
        .expect("the engine replies");
    let mut half_read = engine
        .request(request(1))
        .await
        .expect("the engine replies");
    assert!(half_read.next().await.is_some_and(|part| part.is_ok()));
    drop((unread, half_read));
    let text = whole_reply(engine, request(2)).await;
    assert!(!text.is_empty());
}

/// `test_rules` MUST return the text of `request`, and one result for each rule in their order.
pub async fn a_test_of_rules_returns_the_reply_and_a_result_for_each_rule<
    E: ReplyEngine + ?Sized,
>(
    engine: &E,
) {
    let rule = |pattern: &str| domain::Rule {
        name: None,
        pattern: Some(pattern.to_owned()),
        keywords: None,
        reply: Some(format!("{pattern} {{{{user.id}}}}")),
        replies: None,
        call: None,
        hand_over: None,
        capability: None,
        priority: None,
        unknown: domain::UnknownMembers::default(),
    };
    for patterns in [&[][..], &["absent", "hello", "what"], &["absent"]] {
        let mut request = request(0);
        let rules = patterns.iter().copied().map(rule).collect();
        Arc::make_mut(&mut request.agent).config.rules = Some(rules);
        let tested = engine.test_rules(request.clone()).await;
        let Some(test) = tested.expect("the rules are valid") else {
            return;
        };
        assert_eq!(test.reply, whole_reply(engine, request).await);
        let indices: Vec<usize> = test.rules.iter().map(|result| result.index).collect();
        assert_eq!(indices, (0..patterns.len()).collect::<Vec<_>>());
    }
}

/// Replies are independent of each other.
pub async fn many_replies_can_run_at_once<E: ReplyEngine + ?Sized>(engine: &E) {
    prepare(engine).await;
    let replies = join_all((0..64).map(|number| whole_reply(engine, request(number)))).await;
    assert!(replies.iter().all(|text| !text.is_empty()));
}
