//! The metrics of tools.

use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;

use crate::{
    api_server::{ApiServerBuilder, id_of},
    script::{ScriptedTools, scripted},
};

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_are_counted_by_provider_and_status_and_unknown_names_as_one() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("no other test measures the process");
    let (engine, mut script) = scripted();
    let builder = ApiServerBuilder::default()
        .engine("scripted", engine)
        .tools(ScriptedTools)
        .metrics(metrics);
    // No server listens there.
    let builder = builder.setting("MCP__SERVERS__FILES__URL", "http://127.0.0.1:9/mcp");
    let api = builder.start().await;
    let config = json!({"engine": "scripted"});
    let draft =
        json!({"name": "Ada", "capabilities": ["calculator", "files/read"], "config": config});
    let agent = id_of(&api.agent(draft).await);
    let command = json!({"agentId": agent, "message": "1 + 1?"});
    let (_, ()) = tokio::join!(api.chat(command), async {
        let call = script.next_call().await;
        let away = "files/read";
        for name in [
            "calculator",
            "calculator",
            away,
            "time",
            "made/up",
            "made up",
        ] {
            call.use_tool(name, json!({"expression": "1 + 1"})).await;
        }
        call.answer("2.").await;
    });
    let text = api.writer().get("/metrics").await.text().to_owned();
    let received: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("tool_call_seconds_"))
        .collect();
    for line in [
        r#"tool_call_seconds_count{provider="calculator",status="ok"} 2"#,
        r#"tool_call_seconds_count{provider="files",status="unavailable"} 1"#,
        // The agent does not have the tool `time`; the others do not exist.
        r#"tool_call_seconds_count{provider="none",status="unknown_tool"} 3"#,
    ] {
        assert!(
            received.contains(&line),
            "{line} is missing in {received:#?}"
        );
    }
    assert_eq!(received.len(), 6, "{received:#?}");
    api.stop().await;
}
