//! Messages whose callers do not wait for the reply.

use std::pin::pin;

use contract::fixture;
use domain::HistoryLimits;
use futures::FutureExt as _;
use ports::HistoryQuery;
use scripted_engine::Script;

use crate::{fixture::Fixture, process::Process};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_even_if_its_caller_disconnects() {
    let fixture = Fixture::new().await;
    let process = Process::start(&fixture).await;
    let conversation = fixture.conversation.id;
    {
        let script = Script::words(3);
        let sending = pin!(process.send(&fixture, Some(conversation), &script));
        assert!(sending.now_or_never().is_none(), "the store is read first");
    }
    process.tasks.close();
    process.tasks.wait().await;
    let query = HistoryQuery {
        before: i64::MAX,
        limits: HistoryLimits::default(),
    };
    let (tenant, conversations) = (fixture::tenant(), &fixture.storage.conversations);
    let history = conversations.history(&tenant, conversation, &query);
    assert_eq!(history.await.unwrap().len(), 2);
}
