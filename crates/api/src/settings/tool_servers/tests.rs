//! Servers of tools as an operator configures them.

use secrecy::ExposeSecret as _;

use super::*;
use crate::settings::{InvalidSetting, Settings, SettingsError};

fn load(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let owned = |&(name, value): &(&str, &str)| (format!("MCP__SERVERS__{name}"), value.to_owned());
    Settings::load(None, variables.iter().map(owned))
}

#[track_caller]
fn only(variables: &[(&str, &str)]) -> ToolServer {
    let mut servers = load(variables).expect("good settings").tool_servers;
    assert_eq!(servers.len(), 1);
    servers.remove(0)
}

#[track_caller]
fn rejected(variables: &[(&str, &str)]) -> Vec<String> {
    let Err(SettingsError::Invalid(invalid)) = load(variables) else {
        panic!("expected refused settings for {variables:?}");
    };
    let names = invalid.into_iter().map(|setting| match setting {
        InvalidSetting::BadValue { variable, .. } | InvalidSetting::NameInUse { variable, .. } => {
            variable
        }
        InvalidSetting::Unknown { name, .. } => name,
    });
    names.collect()
}

#[test]
fn a_server_can_be_an_address() {
    let server = only(&[("FILES__URL", "http://localhost:3000/mcp")]);
    assert_eq!(server.name, "files");
    let ToolServerTransport::Http { url, .. } = server.transport else {
        panic!("no address in {server:?}");
    };
    assert_eq!(url, "http://localhost:3000/mcp");
}

#[test]
fn the_time_limit_of_calls_can_be_set() {
    let url = ("FILES__URL", "http://localhost:3000/mcp");
    assert_eq!(only(&[url]).call_timeout, None);
    let slow = only(&[url, ("FILES__TIMEOUT_MS", "600000")]);
    assert_eq!(slow.call_timeout, Some(Duration::from_mins(10)));
    for wrong in ["99", "600001", "1.5", "soon"] {
        let variable = "MCP__SERVERS__FILES__TIMEOUT_MS";
        assert_eq!(rejected(&[url, ("FILES__TIMEOUT_MS", wrong)]), [variable]);
    }
}

/// The headers of the only server, and whether it receives tokens of users.
#[track_caller]
fn credentials(variables: &[(&str, &str)]) -> (Vec<(String, String)>, bool) {
    let ToolServerTransport::Http {
        headers,
        sends_user_token,
        ..
    } = only(variables).transport
    else {
        panic!("no address in {variables:?}");
    };
    let revealed = headers.into_iter();
    let revealed = revealed.map(|(name, value)| (name, value.expose_secret().to_owned()));
    (revealed.collect(), sends_user_token)
}

#[test]
fn headers_are_named_with_underscores_or_hyphens() {
    let url = ("FILES__URL", "http://localhost:3000/mcp");
    assert_eq!(credentials(&[url]), (Vec::new(), false));
    let (headers, _) = credentials(&[
        url,
        ("FILES__HEADERS__AUTHORIZATION", "Bearer word"),
        ("FILES__HEADERS__X_API_KEY", "a, b"),
        ("files__HEADERS__x-other", "c"),
    ]);
    let expected = [
        ("authorization", "Bearer word"),
        ("x-api-key", "a, b"),
        ("x-other", "c"),
    ];
    assert_eq!(
        headers,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[test]
fn headers_are_checked() {
    let url = ("X__URL", "http://a.example");
    for (key, value) in [
        ("X__HEADERS__HOST", "b.example"),
        ("X__HEADERS__IDEMPOTENCY_KEY", "k"),
        ("X__HEADERS__MCP_SESSION_ID", "1"),
        ("X__HEADERS__USER_AGENT", "a"),
        ("X__HEADERS__KEEP_ALIVE", "timeout=5"),
        ("X__HEADERS__PROXY_CONNECTION", "close"),
        ("X__HEADERS__EXPECT", "100-continue"),
        ("X__HEADERS__X_KEY", "a\nb"),
        ("X__HEADERS__X_KEY", "a\u{7f}b"),
    ] {
        let expected = [format!("MCP__SERVERS__{key}")];
        assert_eq!(rejected(&[url, (key, value)]), expected, "{value:?}");
    }
    let twice = [("X__HEADERS__X-KEY", "a"), ("X__HEADERS__X_KEY", "b")];
    assert_eq!(
        rejected(&[url, twice[0], twice[1]]),
        ["MCP__SERVERS__X__HEADERS__X_KEY"]
    );
    let header = ("X__HEADERS__X_KEY", "a");
    assert_eq!(rejected(&[header]), ["MCP__SERVERS__X__URL"]);
    assert_eq!(
        rejected(&[("X__COMMAND", "npx"), header]),
        ["MCP__SERVERS__X__HEADERS__X_KEY"]
    );
}

#[test]
fn a_server_can_receive_tokens_of_users() {
    let url = ("X__URL", "http://a.example");
    let token = ("X__USER_TOKEN", "true");
    assert!(credentials(&[url, token]).1);
    assert!(!credentials(&[url, ("X__USER_TOKEN", "false")]).1);
    let variable = "MCP__SERVERS__X__USER_TOKEN";
    assert_eq!(rejected(&[url, ("X__USER_TOKEN", "yes")]), [variable]);
    assert_eq!(rejected(&[("X__COMMAND", "npx"), token]), [variable]);
    let header = ("X__HEADERS__AUTHORIZATION", "Bearer word");
    assert_eq!(rejected(&[url, token, header]), [variable]);
    let off = ("X__USER_TOKEN", "false");
    assert!(!credentials(&[url, off, header]).1);
}

#[test]
fn hints_are_trusted_unless_the_operator_says_otherwise() {
    let url = ("X__URL", "http://a.example");
    assert!(only(&[url]).trusts_hints);
    assert!(!only(&[url, ("X__TRUST_HINTS", "false")]).trusts_hints);
    let variable = "MCP__SERVERS__X__TRUST_HINTS";
    assert_eq!(rejected(&[url, ("X__TRUST_HINTS", "no")]), [variable]);
}

#[test]
fn a_server_can_be_a_program_with_arguments_and_variables() {
    let server = only(&[
        ("FILES__COMMAND", "npx"),
        ("FILES__ARGS", "-y 'a server' /data"),
        ("FILES__ENV", "Token=a=b,MODE=ro"),
    ]);
    let ToolServerTransport::Process {
        command,
        arguments,
        environment,
    } = server.transport
    else {
        panic!("no program in {server:?}");
    };
    assert_eq!(command, "npx");
    assert_eq!(arguments, ["-y", "a server", "/data"]);
    let variables = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret()));
    assert_eq!(
        variables.collect::<Vec<_>>(),
        [("MODE", "ro"), ("Token", "a=b")]
    );
}

#[test]
fn a_server_is_either_an_address_or_a_program() {
    let both = [("X__URL", "http://a.example"), ("X__COMMAND", "npx")];
    assert_eq!(rejected(&both), ["MCP__SERVERS__X__COMMAND"]);
    assert_eq!(rejected(&[("X__ARGS", "a")]), ["MCP__SERVERS__X__URL"]);
    let url = ("X__URL", "http://a.example");
    assert_eq!(
        rejected(&[url, ("X__ENV", "A=b")]),
        ["MCP__SERVERS__X__ENV"]
    );
}

#[test]
fn the_values_are_checked() {
    assert_eq!(
        rejected(&[("X__URL", "a.example")]),
        ["MCP__SERVERS__X__URL"]
    );
    let program = ("X__COMMAND", "npx");
    assert_eq!(
        rejected(&[program, ("X__ARGS", "'a")]),
        ["MCP__SERVERS__X__ARGS"]
    );
    assert_eq!(
        rejected(&[program, ("X__ENV", "A")]),
        ["MCP__SERVERS__X__ENV"]
    );
}

#[test]
fn names_of_built_in_tools_are_rejected() {
    for name in ["TIME", "CALCULATOR"] {
        let key = format!("{name}__COMMAND");
        assert_eq!(rejected(&[(&key, "npx")]), [format!("MCP__SERVERS__{key}")]);
    }
}

#[test]
fn values_of_variables_and_headers_are_not_printed() {
    let program = [("X__COMMAND", "npx"), ("X__ENV", "TOKEN=very-secret")];
    let url = ("X__URL", "http://a.example");
    let address = [url, ("X__HEADERS__X_KEY", "very-secret")];
    for variables in [program, address] {
        let settings = load(&variables).unwrap();
        assert!(!format!("{settings:?}").contains("very-secret"));
    }
    let refused = load(&[url, ("X__HEADERS__HOST", "very-secret")]).unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("very-secret"));
}
