//! A name server that does not answer. The test needs root, for the port of name servers and the file
//! that names them.

use std::{
    fs,
    net::{Ipv4Addr, UdpSocket},
    time::{Duration, Instant},
};

use crate::process::{RunningService, folder, with_name_server};

/// The timeout of a test that hangs.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The time within which a service without a drain delay ends. A look-up takes ten seconds.
const ENDED: Duration = Duration::from_secs(5);

#[test]
fn a_look_up_of_a_name_does_not_hold_up_the_end() {
    let folder = folder();
    let [.., third, fourth] = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, 53, third, fourth);
    let name_server = UdpSocket::bind((address, 53)).expect("root may use this port");
    let timeout = name_server.set_read_timeout(Some(TIMEOUT));
    timeout.expect("a timeout");
    let servers = folder.path().join("resolv.conf");
    fs::write(&servers, format!("nameserver {address}\n")).expect("a file");
    let variables = [
        ("SERVER__PORT", "0"),
        ("SERVER__DRAIN_SECONDS", "0"),
        ("MCP__SERVERS__REMOTE__URL", "http://tools.example/mcp"),
    ];
    let running = RunningService::of(with_name_server(folder.path(), &servers, &variables));
    name_server.recv(&mut [0; 512]).expect("a query");
    running.stop();
    let since = Instant::now();
    let (code, output) = running.wait_for_exit();
    assert_eq!(code, Some(0), "{output}");
    assert!(since.elapsed() < ENDED, "{:?}", since.elapsed());
}
