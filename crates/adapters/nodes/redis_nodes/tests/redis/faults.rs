//! Servers that are protected, absent, killed, hung or replaced.

use std::{fs, process::Command, sync::Arc, time::Duration};

use dev_tools::redis_server::{RedisProcess, free_port};
use futures::StreamExt as _;
use ports::{EventBus as _, Signal};
use tokio::time::{Instant, timeout};

use crate::nodes::{Node, appended, exchange, local, losses, new_id, report, take, wait_until};

/// The time limit of a call, with a margin for slow machines.
const CALL_LIMIT: Duration = Duration::from_millis(600);

/// Starts two nodes at a URL and checks that they share signals and limits.
async fn share(url: &str) {
    let store = new_id();
    let (one, other) = (Node::on(url, store), Node::on(url, store));
    let (from, to) = (one.bus(), other.bus());
    let limiters = [&one, &other].map(|node| node.limiter(None));
    exchange(&from, &to).await;
    for limiter in &limiters {
        wait_until(limiter.connectivity()).await;
    }
    let decisions = [
        take(&limiters[0], "a").await.is_admitted,
        take(&limiters[1], "a").await.is_admitted,
        take(&limiters[0], "a").await.is_admitted,
        take(&limiters[1], "b").await.is_admitted,
    ];
    assert_eq!(decisions, [true, true, false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_and_a_database_are_used() {
    let server = RedisProcess::start(&["--requirepass", "s:cr@t/"]).unwrap();
    share(&format!(
        "redis://:s%3Acr%40t%2F@127.0.0.1:{}/3",
        server.port()
    ))
    .await;
    let wrong = Node::on(
        &format!("redis://:wrong@127.0.0.1:{}", server.port()),
        new_id(),
    );
    let limiter = wrong.limiter(None);
    assert!(!take(&limiter, "a").await.is_admitted);
    assert!(!limiter.connectivity()());
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_verifies_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let (key, certificate) = (
        folder.path().join("key.pem"),
        folder.path().join("cert.pem"),
    );
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let text = |path: &std::path::Path| path.display().to_string();
    let (key, certificate) = (text(&key), text(&certificate));
    let port = free_port().unwrap();
    let text_of_port = port.to_string();
    let server = RedisProcess::start_on(
        port,
        &[
            "--port",
            "0",
            "--tls-port",
            &text_of_port,
            "--tls-cert-file",
            &certificate,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &certificate,
            "--tls-auth-clients",
            "no",
        ],
    );
    let _server = server.unwrap();
    share(&format!(
        "rediss://127.0.0.1:{port}?sslrootcert={certificate}"
    ))
    .await;
    // Another authority.
    let other = folder.path().join("other.pem");
    fs::copy("/etc/ssl/certs/ca-certificates.crt", &other).unwrap();
    let untrusted = format!("rediss://127.0.0.1:{port}?sslrootcert={}", text(&other));
    let limiter = Node::on(&untrusted, new_id()).limiter(None);
    let since = Instant::now();
    while since.elapsed() < CALL_LIMIT {
        assert!(!take(&limiter, "a").await.is_admitted);
        tokio::task::yield_now().await;
    }
    assert!(!limiter.connectivity()());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_absent_at_start_is_used_later() {
    let mut server = RedisProcess::reserve(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let (bus, limiter) = (node.bus(), node.limiter(Some(local())));
    let mut own = bus.subscribe(Box::new(|signal| *signal != Signal::SignalsLost));
    bus.publish(appended(1));
    assert_eq!(own.next().await, Some(appended(1)));
    let decisions = [
        take(&limiter, "a").await,
        take(&limiter, "a").await,
        take(&limiter, "a").await,
    ];
    assert_eq!(decisions.map(|it| it.is_admitted), [true, true, false]);
    server.restart().unwrap();
    wait_until(limiter.connectivity()).await;
    exchange(&bus, &node.bus()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_reported_and_used_again() {
    let mut server = RedisProcess::start(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let (from, to) = (node.bus(), node.bus());
    let limiter = node.limiter(Some(local()));
    wait_until(limiter.connectivity()).await;
    exchange(&from, &to).await;
    let mut lost = losses(&to);
    server.kill();
    for connectivity in [
        Box::new(from.connectivity()) as Box<dyn Fn() -> bool>,
        Box::new(to.connectivity()),
        Box::new(limiter.connectivity()),
    ] {
        wait_until(|| !connectivity()).await;
    }
    assert!(take(&limiter, "a").await.is_admitted);
    report(&mut lost).await;
    server.restart().unwrap();
    report(&mut lost).await;
    exchange(&from, &to).await;
    wait_until(limiter.connectivity()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_are_reported_and_replaced() {
    let server = RedisProcess::start(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let (from, to) = (node.bus(), node.bus());
    exchange(&from, &to).await;
    let mut lost = losses(&to);
    let killed = server.command("CLIENT KILL TYPE pubsub").unwrap();
    assert_eq!(killed.trim(), ":2");
    report(&mut lost).await;
    exchange(&from, &to).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_after_connections_were_killed_while_idle() {
    let server = RedisProcess::start(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let limiters = [node.limiter(Some(local())), node.limiter(Some(local()))];
    for limiter in &limiters {
        wait_until(limiter.connectivity()).await;
    }
    for round in 0..3 {
        // Longer than a connection that has just been opened and lost again.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        server.command("CLIENT KILL TYPE normal").unwrap();
        let name = format!("user {round}");
        let mut admitted = 0;
        for _ in 0..20 {
            for limiter in &limiters {
                admitted += u32::from(take(limiter, &name).await.is_admitted);
            }
        }
        assert_eq!(admitted, 2, "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_that_is_dropped_for_its_backlog_is_told() {
    // Output beyond four kilobytes ends a subscriber, and one message is longer.
    let limit = ["--client-output-buffer-limit", "pubsub 4096 0 0"];
    let server = RedisProcess::start(&limit).unwrap();
    let node = Node::on(&server.url(), new_id());
    let (from, to) = (node.bus(), node.bus());
    exchange(&from, &to).await;
    let mut lost = losses(&to);
    from.publish(Signal::Typing {
        tenant: "default".parse().unwrap(),
        conversation_id: domain::ConversationId::new(new_id()),
        agent_id: domain::AgentId::new(new_id()),
        user_id: Some("x".repeat(100_000)),
        actor: domain::PrincipalId::new("key:a"),
        connection_id: String::new(),
        typing: true,
    });
    report(&mut lost).await;
    exchange(&from, &to).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hung_server_delays_calls_once_and_within_bounds() {
    let server = RedisProcess::start(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let (bus, limiter) = (node.bus(), Arc::new(node.limiter(Some(local()))));
    wait_until(limiter.connectivity()).await;
    wait_until(bus.connectivity()).await;
    server.pause().unwrap();
    let calls = (0..20).map(|number| {
        let limiter = Arc::clone(&limiter);
        async move {
            let since = Instant::now();
            let taken = take(&*limiter, &format!("p{number}")).await;
            (taken.is_admitted, since.elapsed())
        }
    });
    for (is_admitted, time) in futures::future::join_all(calls).await {
        assert!(is_admitted && time < CALL_LIMIT, "{time:?}");
    }
    assert!(!limiter.connectivity()());
    let since = Instant::now();
    for _ in 0..100 {
        take(&*limiter, "a").await;
    }
    assert!(since.elapsed() < CALL_LIMIT, "{:?}", since.elapsed());
    // Publishing never waits, and more signals than the outbox holds are dropped.
    let since = Instant::now();
    for head in 0..100_000 {
        bus.publish(appended(head));
    }
    assert!(since.elapsed() < 4 * CALL_LIMIT, "{:?}", since.elapsed());
    wait_until({
        let is_connected = bus.connectivity();
        move || !is_connected()
    })
    .await;
    let mut lost = losses(&bus);
    server.resume().unwrap();
    report(&mut lost).await;
    wait_until(limiter.connectivity()).await;
    exchange(&bus, &node.bus()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_refused_without_a_server_if_configured() {
    let server = RedisProcess::reserve(&[]).unwrap();
    let node = Node::on(&server.url(), new_id());
    let limiter = node.limiter(None);
    let taken = take(&limiter, "a").await;
    assert!(!taken.is_admitted && taken.more_in > Duration::ZERO);
    let holder = domain::QuotaHolder {
        tenant: "default".parse().unwrap(),
        principal: domain::PrincipalId::new("a"),
    };
    let opened = ports::RateLimiter::open_stream(&limiter, &holder, 5).await;
    assert!(opened.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_of_other_stores_do_not_arrive() {
    let server = RedisProcess::start(&[]).unwrap();
    let one = Node::on(&server.url(), new_id()).connected_bus().await;
    let other = Node::on(&server.url(), new_id()).connected_bus().await;
    let mut received = other.subscribe(Box::new(|signal| *signal != Signal::SignalsLost));
    one.publish(appended(1));
    let second = Duration::from_secs(1);
    assert!(timeout(second, received.next()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinel_finds_the_new_primary_after_a_failover() {
    let primary = RedisProcess::start(&[]).unwrap();
    let port = primary.port().to_string();
    let of_primary = ["--replicaof", &format!("127.0.0.1 {port}")];
    let replica = RedisProcess::start(&of_primary).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sentinel.conf");
    let sentinel_port = free_port().unwrap();
    let settings = format!(
        "port {sentinel_port}\nsentinel monitor main 127.0.0.1 {port} 1\n\
         sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n"
    );
    fs::write(&file, settings).unwrap();
    let file = file.display().to_string();
    let sentinel = RedisProcess::start_on(sentinel_port, &[&file, "--sentinel"]).unwrap();
    let url = format!("redis-sentinel://127.0.0.1:{sentinel_port}/main");
    share(&url).await;
    let node = Node::on(&url, new_id());
    let (from, to) = (node.bus(), node.bus());
    let limiter = node.limiter(None);
    exchange(&from, &to).await;
    let in_sync = || {
        primary
            .command("INFO replication")
            .is_ok_and(|it| it.contains("state=online"))
    };
    let known = || {
        let replicas = sentinel.command("SENTINEL REPLICAS main");
        replicas.is_ok_and(|it| it.contains(&replica.port().to_string()))
    };
    wait_until(|| in_sync() && known()).await;
    let mut lost = losses(&to);
    drop(primary);
    report(&mut lost).await;
    exchange(&from, &to).await;
    wait_until(limiter.connectivity()).await;
    assert!(take(&limiter, "after").await.is_admitted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_spreads_channels_and_counters() {
    let start =
        || RedisProcess::start(&["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"]);
    let servers: Vec<_> = (0..3).map(|_| start().unwrap()).collect();
    let addresses: Vec<_> = servers
        .iter()
        .map(|it| format!("127.0.0.1:{}", it.port()))
        .collect();
    for (index, server) in servers.iter().enumerate() {
        let (first, last) = (index * 5_462, ((index + 1) * 5_462 - 1).min(16_383));
        let added = server
            .command(&format!("CLUSTER ADDSLOTSRANGE {first} {last}"))
            .unwrap();
        assert_eq!(added.trim(), "+OK");
        let met = server
            .command(&format!("CLUSTER MEET 127.0.0.1 {}", servers[0].port()))
            .unwrap();
        assert_eq!(met.trim(), "+OK");
    }
    let is_ready = |it: &RedisProcess| {
        let info = it.command("CLUSTER INFO").unwrap_or_default();
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    };
    wait_until(|| servers.iter().all(is_ready)).await;
    share(&format!(
        "redis-cluster://{},{}",
        addresses[0], addresses[1]
    ))
    .await;
    let node = Node::on(&format!("redis-cluster://{}", addresses[2]), new_id());
    let (from, to) = (node.bus(), node.bus());
    exchange(&from, &to).await;
    let has_channels = |it: &&RedisProcess| {
        let channels = it.command("PUBSUB SHARDCHANNELS").unwrap();
        channels.contains("agent-service")
    };
    assert!(servers.iter().filter(has_channels).count() > 1);
    let mut lost = losses(&to);
    for server in &servers {
        server.command("CLIENT KILL TYPE pubsub").unwrap();
    }
    report(&mut lost).await;
    exchange(&from, &to).await;
}
