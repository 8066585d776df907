//! The metrics of chat sockets.

use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;

use super::sockets::ChatSocket;
use crate::api_server::ApiServerBuilder;

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_socket_is_counted_while_it_is_open_and_when_it_ends() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("no other test measures the process");
    let builder = ApiServerBuilder::default().metrics(metrics.clone());
    let api = builder.start().await;
    let has_line = |line: &str| metrics.render().lines().any(|it| it == line);
    let agent = api.agent_id().await;
    let mut socket = ChatSocket::open(&api, &agent).await;
    assert!(has_line(r#"open_streams{of="sockets"} 1"#));
    socket.send("{").await;
    assert_eq!(socket.close_code().await, 1002);
    let counted = async {
        while !has_line(r#"sockets_ended{reason="1002"} 1"#) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let counted = tokio::time::timeout(Duration::from_secs(10), counted).await;
    counted.expect("the end is counted in time");
    assert!(has_line(r#"open_streams{of="sockets"} 0"#));
    api.stop().await;
}
