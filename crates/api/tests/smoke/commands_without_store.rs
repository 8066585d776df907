//! Commands that need no store.

use serde_json::Value;
use tokio::net::TcpSocket;

use crate::process::{folder, printed, refusal, run};

/// Engines and tool servers whose addresses have no listener.
pub(crate) const UNREACHABLE_SERVERS: [(&str, &str); 7] = [
    ("LLM__BASE_URL", "http://127.0.0.1:1/v1"),
    ("LLM__API_KEY", "sk-secret"),
    ("LLM__MODEL", "any"),
    ("LLM__PROVIDERS__SPARE__BASE_URL", "http://127.0.0.1:1/v1"),
    ("LLM__PROVIDERS__SPARE__MODEL", "any"),
    ("MCP__SERVERS__FILES__COMMAND", "sh"),
    ("MCP__SERVERS__REMOTE__URL", "http://127.0.0.1:1/mcp"),
];

#[test]
fn configuration_errors_are_named() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(
        printed(at, &["config", "check"]),
        "the configuration is valid\nengines: rules (default); tool servers: none\n"
    );
    let wrong = [
        ("SERVER__PROT", "1"),
        ("LIMITS__BODY_SECONDS", "soon"),
        ("AUTH__BOOTSTRAP_KEY", "agk_secret"),
    ];
    for arguments in [&["config", "check"][..], &["serve"]] {
        let text = refusal(at, arguments, &wrong);
        for (name, value) in wrong {
            assert!(text.contains(name), "{name} is missing in {text}");
            assert!(
                name == "SERVER__PROT" || !text.contains(value),
                "{value} is shown in {text}"
            );
        }
    }
    let unknown = refusal(at, &["config", "check"], &[("ENGINES__DEFAULT", "oracle")]);
    let expected = "ENGINES__DEFAULT must be the name of an existing engine: rules";
    assert!(unknown.contains(expected), "{unknown}");
    assert!(!at.join("data").exists(), "nothing was opened");
}

#[test]
fn a_missing_tool_program_is_named() {
    let folder = folder();
    let programs = [
        ("MCP__SERVERS__HERE__COMMAND", "sh"),
        (
            "MCP__SERVERS__SOMEWHERE__COMMAND",
            "there-is-no-such-program",
        ),
        ("MCP__SERVERS__THERE__COMMAND", "/there/is/no/such/program"),
    ];
    let text = refusal(folder.path(), &["config", "check"], &programs);
    for (name, value) in programs {
        assert_eq!(text.contains(name), value != "sh", "{name}: {text}");
    }
}

#[test]
fn a_valid_configuration_is_confirmed_with_engines_and_tool_servers() {
    let folder = folder();
    let output = run(folder.path(), &["config", "check"], &UNREACHABLE_SERVERS);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let named = "engines: llm (default), rules, spare; tool servers: files, remote";
    assert_eq!(text, format!("the configuration is valid\n{named}\n"));
    let chosen = [&UNREACHABLE_SERVERS[..], &[("ENGINES__DEFAULT", "spare")]].concat();
    let output = run(folder.path(), &["config", "check"], &chosen);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.contains("engines: llm, rules, spare (default); "),
        "{text}"
    );
}

#[test]
fn only_the_documents_are_printed() {
    let folder = folder();
    for (command, version) in [("openapi", "3.1.0"), ("asyncapi", "3.0.0")] {
        let printed = printed(folder.path(), &[command]);
        let document: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(document[command], version);
    }
    assert!(
        !folder.path().join("data").exists(),
        "no store is needed for it"
    );
}

#[test]
fn a_missing_service_is_unhealthy() {
    let folder = folder();
    // Bound, so that no other process uses the port, but never listening.
    let deaf = TcpSocket::new_v4().expect("a socket");
    deaf.bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let url = format!("http://{}", deaf.local_addr().expect("its address"));
    let text = refusal(folder.path(), &["healthcheck", "--url", &url], &[]);
    assert!(text.contains(&url), "{text}");
}
