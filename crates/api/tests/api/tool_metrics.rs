//! What whoever watches the service is told of tools.

use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;

use crate::{
    harness::{Plan, id_of},
    script::scripted,
};

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_tools_are_counted_by_provider_and_status_and_names_that_a_model_makes_up_as_one()
{
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("no other test measures the process");
    let (engine, mut script) = scripted();
    let plan = Plan::default().engine("scripted", engine).metrics(metrics);
    // Nobody listens there.
    let plan = plan.setting("MCP__SERVERS__FILES__URL", "http://127.0.0.1:9/mcp");
    let api = plan.start().await;
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
    let told: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("tool_call_seconds_"))
        .collect();
    for line in [
        r#"tool_call_seconds_count{provider="calculator",status="ok"} 2"#,
        r#"tool_call_seconds_sum{provider="calculator",status="ok"} 0.014"#,
        r#"tool_call_seconds_count{provider="files",status="ok"} 1"#,
        // The agent does not have `time`, and nobody has the others.
        r#"tool_call_seconds_count{provider="none",status="ok"} 3"#,
    ] {
        assert!(told.contains(&line), "{line} is missing in {told:#?}");
    }
    assert_eq!(told.len(), 6, "{told:#?}");
    api.stop().await;
}
