//! Commands that change the store directly: keys, clients, tenants.

use domain::{CredentialKind, CredentialSecret};

use crate::{
    process::{RunningService, folder, printed, refusal, run},
    requests::status,
};

#[tokio::test]
async fn keys_are_created_listed_and_revoked_directly_in_the_store() {
    let folder = folder();
    let at = folder.path();
    printed(at, &["migrate"]);
    assert_eq!(
        printed(at, &["keys", "list"]),
        "",
        "also on an unused store"
    );
    let create = [
        "keys",
        "create",
        "--name",
        "ci",
        "--scopes",
        "agents:read,chat:write",
    ];
    let made = printed(at, &create);
    let key = CredentialSecret::parse(CredentialKind::Key, made.trim_end()).expect("the key alone");
    let id = key.id().to_string();
    let listed = printed(at, &["keys", "list"]);
    assert_eq!(
        listed,
        format!(
            "{id}  …{}  valid  ci  agents:read,chat:write\n",
            key.last4()
        )
    );
    assert!(!listed.contains(made.trim_end()));
    printed(at, &["keys", "revoke", &id]);
    assert!(printed(at, &["keys", "list"]).contains("  revoked 20"));
    let unknown = refusal(at, &["keys", "revoke", "000000000000"], &[]);
    assert!(unknown.contains("000000000000"), "{unknown}");

    // A store that has ever held a key generates none, so this start prints nothing.
    let running = RunningService::start(at, &[]);
    assert_eq!(
        status(&running.url, made.trim_end(), "/api/agents").await,
        401
    );
    running.abort();
    assert!(!running.wait_for_exit().1.contains("agk_"));
}

#[test]
fn only_creating_commands_create_a_missing_store() {
    let folder = folder();
    let at = folder.path();
    let file = at
        .canonicalize()
        .expect("a path")
        .join("data/agent-service.db");
    for command in [
        "keys list",
        "keys rotate 0123456789ab",
        "keys revoke 0123456789ab",
        "clients list",
        "clients rotate 0123456789ab",
        "clients revoke 0123456789ab",
        "signing-keys list",
        "signing-keys rotate",
        "tenants list",
    ] {
        let arguments: Vec<&str> = command.split(' ').collect();
        let text = refusal(at, &arguments, &[]);
        let expected = format!("no store exists at {};", file.display());
        assert!(text.contains(&expected), "{command}: {text}");
        assert!(!at.join("data").exists(), "{command} made a folder");
    }
    let create = ["keys", "create", "--name", "ci", "--scopes", "agents:read"];
    for expected in ["(new: ", ""] {
        let output = run(at, &create, &[]);
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        let conversation_ref = format!("store: {}", file.display());
        let rest = text.trim_end().strip_prefix(&conversation_ref);
        let rest = rest.unwrap_or_else(|| panic!("{text}"));
        assert!(rest.contains(expected), "{text}");
        assert_eq!(rest.is_empty(), expected.is_empty(), "{text}");
    }
}

#[tokio::test]
async fn a_key_is_rotated_directly_in_the_store() {
    let folder = folder();
    let at = folder.path();
    let create = ["keys", "create", "--name", "ci", "--scopes", "agents:read"];
    let old = printed(at, &create);
    let old = CredentialSecret::parse(CredentialKind::Key, old.trim_end()).expect("the key alone");
    let id = old.id().to_string();
    let rotate = ["keys", "rotate", &id];
    let second = printed(at, &[&rotate[..], &["--overlap-seconds", "600"]].concat());
    let third = printed(at, &rotate);
    let third = CredentialSecret::parse(CredentialKind::Key, third.trim_end()).expect("as well");
    assert_eq!(third.id(), old.id());
    let listed = printed(at, &["keys", "list"]);
    assert_eq!(
        listed,
        format!("{id}  …{}  valid  ci  agents:read\n", third.last4())
    );

    let running = RunningService::start(at, &[]);
    for (key, expected) in [
        (old.reveal(), 401),
        (second.trim_end(), 401),
        (third.reveal(), 200),
    ] {
        assert_eq!(status(&running.url, key, "/api/agents").await, expected);
    }
    running.abort();
    running.wait_for_exit();
    printed(at, &["keys", "revoke", &id]);
    let ended = refusal(at, &rotate, &[]);
    assert!(ended.contains("revoked or has expired"), "{ended}");
}

#[test]
fn clients_are_created_listed_rotated_and_revoked_directly_in_the_store() {
    let folder = folder();
    let at = folder.path();
    let create = [
        "clients",
        "create",
        "--name",
        "import",
        "--scopes",
        "agents:read",
    ];
    let made = printed(at, &create);
    let (id, secret) = made.trim_end().split_once(' ').expect("an id and a secret");
    let secret = CredentialSecret::parse(CredentialKind::Client, secret).expect("a secret");
    assert_eq!(secret.id().as_str(), id);
    let rotated = printed(at, &["clients", "rotate", id]);
    let rotated = rotated.trim_end().strip_prefix(&format!("{id} "));
    let rotated = CredentialSecret::parse(CredentialKind::Client, rotated.expect("the same id"));
    let rotated = rotated.expect("a secret");
    assert_ne!(rotated, secret);
    let published = ["--jwks-uri", "https://client.example/jwks.json"];
    let signing = printed(at, &[&create[..], &published].concat());
    let signing = signing.trim_end();
    let listed = printed(at, &["clients", "list"]);
    assert!(listed.contains(&format!(
        "{id}  …{}  valid  import  agents:read\n",
        rotated.last4()
    )));
    assert!(listed.contains(&format!("{signing}  signs  valid  import  agents:read\n")));
    assert_eq!(printed(at, &["keys", "list"]), "", "clients are no keys");

    printed(at, &["clients", "revoke", id]);
    assert!(printed(at, &["clients", "list"]).contains("  revoked 20"));
    let no_client = refusal(at, &["clients", "revoke", "000000000000"], &[]);
    assert!(no_client.contains("000000000000"), "{no_client}");
    let no_secret = refusal(at, &["clients", "rotate", signing], &[]);
    assert!(no_secret.contains("jwksUri"), "{no_secret}");
    let plain = ["--jwks-uri", "http://client.example/jwks.json"];
    let rejected = refusal(at, &[&create[..], &plain].concat(), &[]);
    assert!(
        rejected.contains("jwksUri must be an https address"),
        "{rejected}"
    );
}

#[test]
fn an_invalid_key_is_not_created() {
    let folder = folder();
    let at = folder.path();
    let create = ["keys", "create", "--scopes", "agents:read", "--name"];
    let long = "x".repeat(129);
    for (options, text) in [
        (&[long.as_str()][..], "name at most 128 characters"),
        (&["ci\u{1b}[2J"], "name no control characters"),
        (
            &["ci", "--expires-at", "2020-01-31T00:00:00Z"],
            "expiresAt must be in the future",
        ),
    ] {
        let rejected = refusal(at, &[&create[..], options].concat(), &[]);
        assert!(rejected.contains(text), "{rejected}");
    }
    printed(at, &[&create[..], &["two\nlines"]].concat());
    let listed = printed(at, &["keys", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.contains("  two lines  "), "{listed}");
}

#[test]
fn tenants_are_created_and_listed() {
    let folder = folder();
    let at = folder.path();
    printed(at, &["tenants", "create", "acme"]);
    let listed = printed(at, &["tenants", "list"]);
    let names: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.split("  ").next())
        .collect();
    assert_eq!(names, ["acme", "default"]);
    let again = refusal(at, &["tenants", "create", "acme"], &[]);
    assert!(again.contains("tenant 'acme' already exists"), "{again}");
    let create = [
        "keys",
        "create",
        "--name",
        "ci",
        "--scopes",
        "agents:read",
        "--tenant",
    ];
    printed(at, &[&create[..], &["acme"]].concat());
    let made = printed(at, &["keys", "list", "--tenant", "acme"]);
    let (id, _) = made.split_once(' ').expect("an id");
    for verb in ["rotate", "revoke"] {
        let elsewhere = refusal(at, &["keys", verb, id], &[]);
        let expected =
            format!("tenant default has no key {id}; select another tenant with --tenant");
        assert!(elsewhere.contains(&expected), "{elsewhere}");
    }
    let nowhere = refusal(at, &[&create[..], &["nowhere"]].concat(), &[]);
    assert!(nowhere.contains("nowhere"), "{nowhere}");
    assert_eq!(
        printed(at, &["keys", "list"]),
        "",
        "the default tenant has none"
    );
    assert!(printed(at, &["keys", "list", "--tenant", "acme"]).contains("agents:read"));
}
