//! `ReplyEngine`: what every engine promises to those who ask it.

use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, future::join_all};
use ports::{ReplyChunk, ReplyEngine, ReplyRequest};

use crate::samples;

/// Expands to one test per promise of a reply engine. `$fixture` is the path (from the crate's
/// root) of an async function whose answer derefs to a `ports::ReplyEngine` that can answer.
#[macro_export]
macro_rules! reply_engine_contract {
    ($fixture:path) => {
        $crate::reply_engine_contract! {
            $fixture;
            gives_deltas_and_then_one_end,
            takes_an_agent_without_any_configuration,
            an_immediate_engine_waits_on_nothing,
            goes_on_after_a_stream_that_was_dropped,
            answers_many_at_once,
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
pub fn request(number: u32) -> ReplyRequest {
    ReplyRequest {
        tenant: samples::tenant(),
        agent: Arc::new(samples::agent(1)),
        turn_id: samples::turn_id(number),
        turn_number: i64::from(number),
        user_id: Some("ada".to_owned()),
        history: Vec::new(),
        message: "Hello, what can you do? 🦊".to_owned(),
        tools: Vec::new(),
        unavailable_tools: Vec::new(),
    }
}

async fn prepared<E: ReplyEngine + ?Sized>(engine: &E) {
    let agent = Arc::new(samples::agent(1));
    let prepared = engine.prepare(&samples::tenant(), &agent).await;
    assert_eq!(prepared, Ok(()));
}

/// The text of an answer; fails unless it is deltas and then one end, and nothing after.
async fn whole_answer<E: ReplyEngine + ?Sized>(engine: &E, request: ReplyRequest) -> String {
    let stream = engine.reply(request).await.expect("the engine answers");
    let chunks: Vec<_> = stream.collect().await;
    let (last, deltas) = chunks.split_last().expect("an answer has an end");
    assert!(
        matches!(last, Ok(ReplyChunk::End { .. })),
        "the last is {last:?}"
    );
    let deltas = deltas.iter().map(|chunk| match chunk {
        Ok(ReplyChunk::Delta(text)) => text.as_str(),
        other => panic!("before the end stands {other:?}"),
    });
    deltas.collect()
}

/// `reply` MUST give deltas and one end, or an error.
pub async fn gives_deltas_and_then_one_end<E: ReplyEngine + ?Sized>(engine: &E) {
    prepared(engine).await;
    let text = whole_answer(engine, request(0)).await;
    assert!(!text.trim().is_empty(), "an answer says something");
}

/// `prepare` is called whichever engine the agent names: one that says nothing to this engine
/// has no faults.
pub async fn takes_an_agent_without_any_configuration<E: ReplyEngine + ?Sized>(engine: &E) {
    prepared(engine).await;
    let mut bare = samples::agent(2);
    bare.personality = String::new();
    bare.capabilities = Vec::new();
    let prepared = engine.prepare(&samples::tenant(), &Arc::new(bare)).await;
    assert_eq!(prepared, Ok(()));
}

/// An engine that says it is immediate answers from the request alone: once it is prepared,
/// nothing outside has to happen between the parts of its answer.
pub async fn an_immediate_engine_waits_on_nothing<E: ReplyEngine + ?Sized>(engine: &E) {
    if !engine.is_immediate() {
        return;
    }
    prepared(engine).await;
    let mut stream = engine.reply(request(0)).await.expect("the engine answers");
    loop {
        let part = stream.next().now_or_never();
        match part.expect("the next part is there at once") {
            Some(Ok(_)) => {}
            Some(Err(error)) => panic!("the engine fails: {error}"),
            None => return,
        }
    }
}

/// Dropping a stream stops that answer, and no other.
pub async fn goes_on_after_a_stream_that_was_dropped<E: ReplyEngine + ?Sized>(engine: &E) {
    prepared(engine).await;
    let unread = engine.reply(request(0)).await.expect("the engine answers");
    let mut half_read = engine.reply(request(1)).await.expect("the engine answers");
    assert!(half_read.next().await.is_some_and(|part| part.is_ok()));
    drop((unread, half_read));
    let text = whole_answer(engine, request(2)).await;
    assert!(!text.is_empty());
}

/// Answers are independent of each other.
pub async fn answers_many_at_once<E: ReplyEngine + ?Sized>(engine: &E) {
    prepared(engine).await;
    let answers = join_all((0..64).map(|number| whole_answer(engine, request(number)))).await;
    assert!(answers.iter().all(|text| !text.is_empty()));
}
