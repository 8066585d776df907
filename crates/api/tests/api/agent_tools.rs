//! The tools in the configuration of an agent.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use domain::ProblemCode;
use ports::{
    CapabilityInfo, CapabilityKind, ProvidedTools, ToolArguments, ToolContext, ToolDefinition,
    ToolError, ToolHints, ToolProvider,
};
use serde_json::{Value, json};

use crate::{
    api_server::{ApiServer, ApiServerBuilder, id_of},
    response::ApiResponse,
    script::scripted,
};

/// A server of tools that can go down, and can lose a tool.
#[derive(Clone, Default)]
struct Shop {
    is_down: Arc<AtomicBool>,
    has_lost_refunds: Arc<AtomicBool>,
}

#[async_trait]
impl ToolProvider for Shop {
    fn provided(&self) -> ProvidedTools {
        let is_available = !self.is_down.load(Ordering::SeqCst);
        let info = |name: &str, kind| CapabilityInfo {
            name: name.to_owned(),
            kind,
            description: String::new(),
            is_available,
        };
        let mut names = vec!["shop/find"];
        if !self.has_lost_refunds.load(Ordering::SeqCst) {
            names.push("shop/refund");
        }
        let server = info("shop", CapabilityKind::Server);
        let tools = names.iter().map(|name| info(name, CapabilityKind::Tool));
        let capabilities = std::iter::once(server).chain(tools).collect();
        let definition = |name: &&str| {
            Arc::new(ToolDefinition {
                name: (*name).to_owned(),
                description: String::new(),
                input_schema: json!({"type": "object"}),
                hints: ToolHints::default(),
            })
        };
        let tools = names.iter().map(definition).filter(|_| is_available);
        ProvidedTools {
            capabilities,
            tools: tools.collect(),
        }
    }

    async fn call(
        &self,
        name: &str,
        _: &ToolArguments,
        _: &ToolContext,
    ) -> Result<String, ToolError> {
        if name == "shop/refund" {
            std::future::pending::<()>().await;
        }
        Ok("done".to_owned())
    }
}

async fn with(shop: &Shop) -> ApiServer {
    let builder = ApiServerBuilder::default().tools(shop.clone());
    builder.start().await
}

async fn create(api: &ApiServer, capabilities: Value, tools: Value) -> ApiResponse {
    let draft = json!({"name": "Ada", "capabilities": capabilities, "config": {"tools": tools}});
    api.writer().post("/api/agents", draft).await
}

fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tools_are_rejected_with_pointers() {
    let api = with(&Shop::default()).await;
    let names = [
        "calculator",
        "shop/find",
        "shop/*",
        "shop/fnd",
        "shop",
        "crm/*",
        "crm/find",
        "calculater",
        "shop/find/*",
    ];
    let capabilities = json!(["shop", "shop/refund", "shop/refnd", "crm/find", "free text"]);
    let response = create(&api, capabilities, named(&names)).await;
    response.problem(ProblemCode::UnknownTool);
    let mut expected = vec!["/capabilities/2".to_owned()];
    expected.extend((3..names.len()).map(|index| format!("/config/tools/{index}/name")));
    let faults = response.faults();
    let pointers: Vec<_> = faults.iter().map(|(pointer, _)| pointer.clone()).collect();
    assert_eq!(pointers, expected);
    let known = create(&api, json!(["shop", "anything"]), named(&names[..3])).await;
    assert_eq!(known.created()["config"]["tools"], named(&names[..3]));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_names_that_a_change_adds_are_judged() {
    let shop = Shop::default();
    let api = with(&shop).await;
    let (capabilities, tools) = (json!(["shop/refund"]), named(&["shop/refund", "shop/*"]));
    let agent = create(&api, capabilities, tools.clone()).await.created();
    let path = format!("/api/agents/{}", id_of(&agent));
    shop.has_lost_refunds.store(true, Ordering::SeqCst);
    let renamed = api.writer().patch(&path, json!({"name": "Eve"})).await.ok();
    assert_eq!(renamed["config"]["tools"], tools);
    let config = json!({"tools": named(&["shop/refund", "shop/cancel"])});
    let path = format!("{path}/config");
    let replaced = api.writer().put(&path, config).await;
    replaced.problem(ProblemCode::UnknownTool);
    let expected = [("/tools/1/name".to_owned(), "unknown_value".to_owned())];
    assert_eq!(replaced.faults(), expected);
    let body = json!({"capabilities": ["shop/refund", "shop/cancel"]});
    let replaced = api.writer().put(&path, body).await;
    replaced.problem(ProblemCode::UnknownTool);
    assert_eq!(replaced.faults()[0].0, "/capabilities/1");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_server_that_is_down_are_accepted() {
    let shop = Shop::default();
    shop.is_down.store(true, Ordering::SeqCst);
    let api = with(&shop).await;
    let names = named(&["shop/anything", "shop/*"]);
    create(&api, json!(["shop/else"]), names).await.created();
    let other = create(&api, json!([]), named(&["crm/anything"])).await;
    other.problem(ProblemCode::UnknownTool);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_and_limits_are_checked() {
    let api = ApiServer::start().await;
    for (config, pointer, code) in [
        (
            json!({"tools": named(&["time", "time"])}),
            "/config/tools/1/name",
            "duplicate_item",
        ),
        (
            json!({"tools": vec![json!({"name": "time"}); 65]}),
            "/config/tools",
            "too_many",
        ),
        (
            json!({"tools": [{"name": "time", "visibility": "all"}]}),
            "/config/tools/0/visibility",
            "unknown_value",
        ),
        (
            json!({"tools": [{"name": "time", "timeoutMs": 99}]}),
            "/config/tools/0/timeoutMs",
            "too_small",
        ),
        (
            json!({"tools": [{"name": "time", "approval": "sometimes"}]}),
            "/config/tools/0/approval",
            "unknown_value",
        ),
        (json!({"tools": [{}]}), "/config/tools/0/name", "required"),
        (
            json!({"maxToolRounds": 33}),
            "/config/maxToolRounds",
            "too_large",
        ),
        (
            json!({"maxToolCalls": 0}),
            "/config/maxToolCalls",
            "too_small",
        ),
    ] {
        let draft = json!({"name": "Ada", "config": config});
        let response = api.writer().post("/api/agents", draft).await;
        response.problem(ProblemCode::ValidationFailed);
        let fault = response.faults().swap_remove(0);
        assert_eq!(fault, (pointer.to_owned(), code.to_owned()));
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_gives_the_tool_and_limits_its_time() {
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default().engine("scripted", engine);
    let api = builder.tools(Shop::default()).start().await;
    let tools = json!([
        {"name": "shop/*", "approval": "never"},
        {"name": "shop/refund", "approval": "never", "timeoutMs": 100},
    ]);
    let config = json!({"engine": "scripted", "tools": tools, "maxToolCalls": 2});
    let agent = id_of(&api.agent(json!({"name": "Ada", "config": config})).await);
    let chat = json!({"agentId": agent, "message": "Hi"});
    let (reply, ()) = tokio::join!(api.chat(chat), async {
        let call = script.next_call().await;
        for function in ["shop_find", "shop_refund"] {
            call.use_tool(function, json!({})).await;
        }
        call.answer("Well.").await;
    });
    let path = format!("/api/turns/{}", reply["turnId"].as_str().unwrap());
    let turn = api.reader().get(&path).await.ok();
    let calls = turn["toolCalls"].as_array().unwrap().iter();
    let calls: Vec<_> = calls.map(|call| (&call["name"], &call["status"])).collect();
    let expected = [("shop/find", "ok"), ("shop/refund", "timed_out")];
    let expected = expected.map(|(name, status)| (json!(name), json!(status)));
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, status)| (name, status))
        .collect();
    assert_eq!(calls, expected);
    api.stop().await;
}
