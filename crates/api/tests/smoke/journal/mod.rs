//! Turns with tool calls whose process is killed or terminated.

mod shop;

use std::time::{Duration, Instant};

use scripted_engine::Script;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    chat_client::{ChatClient, ConversationRef, key, send_json, serving_with, spawn, text},
    process::{RunningService, folder},
};
use shop::Shop;

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The time within which a process ends that has released its turns.
const ENDED: Duration = Duration::from_secs(20);

/// A service with a tool server, and a conversation with an agent that has its tools.
struct Fixture {
    folder: TempDir,
    key: String,
    shop: Shop,
    chat_client: ChatClient,
    conversation: ConversationRef,
}

impl Fixture {
    async fn start() -> (Self, RunningService) {
        let folder = folder();
        let key = key(folder.path());
        let shop = Shop::start(folder.path());
        let running = serve(&folder, &key, &shop);
        let chat_client = ChatClient::new(&running, &key);
        wait_until_connected(&chat_client).await;
        let conversation = chat_client.conversation_with(&["shop"]).await;
        let fixture = Self {
            folder,
            key,
            shop,
            chat_client,
            conversation,
        };
        (fixture, running)
    }

    /// Starts the service again.
    fn restart(&mut self) -> RunningService {
        let running = serve(&self.folder, &self.key, &self.shop);
        self.chat_client = self.chat_client.with_server(&running);
        running
    }

    /// A chat whose model calls these tools in one round, and then replies. It has a key.
    fn chat(&self, tools: &[&str]) -> reqwest::RequestBuilder {
        let script = Script::deltas(["Done."]).calls(tools.iter().copied());
        let chat = self.chat_client.chat(&self.conversation.message(&script));
        chat.header("Idempotency-Key", "k")
    }

    /// Starts such a turn, and returns its id.
    async fn start_turn(&self, tools: &[&str]) -> String {
        let request = self.chat(tools).header("Prefer", "respond-async");
        let (status, turn) = send_json(request).await;
        assert_eq!(status, 202, "{turn}");
        text(&turn["id"])
    }

    /// Waits until the turn has completed by itself, and returns the name and the status of its calls.
    async fn completed(&self, turn: &str) -> Vec<(String, String)> {
        let turn = self.chat_client.wait_for_turn_end(turn).await;
        assert_eq!(turn["reply"]["content"], "Done.", "{turn}");
        let calls = turn["toolCalls"].as_array().expect("calls");
        let shown = calls
            .iter()
            .map(|it| (text(&it["name"]), text(&it["status"])));
        shown.collect()
    }

    /// Expects that the same request joins the turn: it makes no call, and returns its reply.
    async fn assert_same_key_joins(&self, turn: &str, tools: &[&str]) {
        let before = self.shop.calls();
        let (status, reply) = send_json(self.chat(tools)).await;
        assert_eq!((status, &*text(&reply["message"])), (200, "Done."));
        assert_eq!(text(&reply["turnId"]), turn);
        assert_eq!(self.shop.calls(), before);
        self.chat_client.assert_each_turn_has_ended_once().await;
    }
}

fn serve(folder: &TempDir, key: &str, shop: &Shop) -> RunningService {
    let settings = [
        ("MCP__SERVERS__SHOP__URL", shop.url.as_str()),
        ("SERVER__DRAIN_SECONDS", "0"),
    ];
    serving_with(folder.path(), key, &settings)
}

async fn wait_until_connected(chat_client: &ChatClient) {
    let since = Instant::now();
    loop {
        let output = chat_client.get("/api/capabilities").await;
        let mut capabilities = output["data"].as_array().expect("a list").iter();
        let is_available = |it: &Value| it["name"] == "shop" && it["available"] == true;
        if capabilities.any(is_available) {
            return;
        }
        assert!(since.elapsed() < TIMEOUT, "{output}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kill(mut running: RunningService) {
    running.process.kill().expect("it can be killed");
    running.process.wait().expect("its end");
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let expected = expected.iter();
    expected
        .map(|(name, status)| ((*name).to_owned(), (*status).to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_ran_when_the_process_was_killed_is_not_called_again() {
    let (mut fixture, running) = Fixture::start().await;
    let tools = ["shop_refund", "shop_price"];
    let turn = fixture.start_turn(&tools).await;
    fixture.shop.wait_for_calls(2).await;
    kill(running);
    for tool in ["refund", "price"] {
        fixture.shop.release(tool);
    }
    let _next = fixture.restart();
    let calls = fixture.completed(&turn).await;
    let expected = [("shop/refund", "outcome_unknown"), ("shop/price", "ok")];
    assert_eq!(calls, pairs(&expected));
    // A tool without side effects is called again, with the same id.
    let mut calls = fixture.shop.calls();
    calls.sort();
    let call =
        |name: &str, number: u32, attempt| (name.to_owned(), format!("{turn}-{number}"), attempt);
    let expected = [
        call("price", 2, 1),
        call("price", 2, 2),
        call("refund", 1, 1),
    ];
    assert_eq!(calls, expected);
    fixture.assert_same_key_joins(&turn, &tools).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_had_returned_when_the_process_was_killed_is_not_called_again() {
    let (mut fixture, running) = Fixture::start().await;
    let tools = ["shop_refund", "shop_price"];
    fixture.shop.release("refund");
    let turn = fixture.start_turn(&tools).await;
    fixture.shop.wait_for_calls(2).await;
    let shown = async {
        // The end is recorded soon after the tool has returned.
        tokio::time::sleep(Duration::from_secs(1)).await;
        fixture.chat_client.turn(&turn).await
    };
    assert_eq!(shown.await["status"], "in_progress");
    kill(running);
    fixture.shop.release("price");
    let _next = fixture.restart();
    let calls = fixture.completed(&turn).await;
    let expected = [("shop/refund", "ok"), ("shop/price", "ok")];
    assert_eq!(calls, pairs(&expected));
    let refunds = fixture.shop.calls();
    let refunds = refunds.iter().filter(|(name, ..)| name == "refund");
    assert_eq!(refunds.count(), 1);
    fixture.assert_same_key_joins(&turn, &tools).await;
}

/// The call comes to its end, and the rest of the turn waits for the next process.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_released_after_its_tool_when_the_process_is_terminated() {
    let (mut fixture, running) = Fixture::start().await;
    let tools = ["shop_refund"];
    let turn = fixture.start_turn(&tools).await;
    let waiting = spawn(fixture.chat(&tools));
    fixture.shop.wait_for_calls(1).await;
    running.stop();
    let since = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    fixture.shop.release("refund");
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());
    let (status, problem) = waiting.await.expect("an answer");
    assert_eq!((status, &*text(&problem["code"])), (503, "draining"));

    let _next = fixture.restart();
    let calls = fixture.completed(&turn).await;
    assert_eq!(calls, pairs(&[("shop/refund", "ok")]));
    assert_eq!(fixture.shop.calls().len(), 1);
    fixture.assert_same_key_joins(&turn, &tools).await;
}
