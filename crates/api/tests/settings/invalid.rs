//! Invalid settings, and their errors.

use api::settings::{InvalidSetting, Settings, SettingsError, keys};

use crate::fixture::{ConfigFile, error_text, invalid_settings, load, written};

#[test]
fn an_unknown_name_in_a_section_is_rejected_by_name() {
    for name in [
        "SERVER__PROT",
        "SERVER__Port",
        "SERVER__",
        "SERVER__PORT__",
        "LIMITS__SIZES",
    ] {
        let settings = invalid_settings(load(&[(name, "sensitive")]));
        let [InvalidSetting::Unknown { name: rejected, .. }] = &settings[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(rejected, name);
    }
    let message = error_text(load(&[("SERVER__PROT", "sensitive")]));
    assert!(message.contains("SERVER__PROT is unknown"), "{message}");
    assert!(
        message.contains("SERVER__PORT"),
        "tells what there is: {message}"
    );
    assert!(
        !message.contains("LOG__LEVEL"),
        "only of that section: {message}"
    );
    assert!(!message.contains("sensitive"), "{message}");
}

#[test]
fn an_unknown_name_in_the_file_is_rejected_by_name() {
    for (text, name) in [
        ("[server]\nprot = 1", "server.prot (in the file)"),
        ("[sevrer]\nport = 1", "sevrer.port (in the file)"),
        ("[Server]\nport = 1", "Server.port (in the file)"),
        ("port = 1", "port (in the file)"),
        (
            "[server.port]\nnumber = 1",
            "server.port.number (in the file)",
        ),
    ] {
        let settings = invalid_settings(ConfigFile::new(text).load(&[]));
        let [InvalidSetting::Unknown { name: rejected, .. }] = &settings[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(rejected, name);
    }
}

#[test]
fn an_invalid_value_is_rejected_with_the_expected_format() {
    for (name, value, expected) in [
        ("DATABASE_URL", "mysql://db/agents", "sqlite://"),
        (
            "DATABASE_URL",
            "sqlite://a.db?mdoe=ro",
            "mode (ro, rw or rwc)",
        ),
        (
            "DATABASE_URL",
            "postgres://db/agents?sslmode=foo",
            "verify-full",
        ),
        (
            "DATABASE_URL",
            "postgres://db/agents?sslmod=verify-full",
            "only these parameters: sslmode",
        ),
        ("SERVER__HOST", "example.org", "an IP address"),
        ("SERVER__PORT", "65536", "a whole number from 0 to 65535"),
        ("SERVER__PORT", "true", "a whole number"),
        ("SERVER__PORT", " 80", "a whole number"),
        ("SERVER__PUBLIC_URL", "agents.example.org", "http or https"),
        (
            "SERVER__ALLOWED_ORIGINS",
            "*",
            "no * (any page could use the tokens that it gets)",
        ),
        ("SERVER__ALLOWED_HEADERS", "X Trace", "names of headers"),
        ("SERVER__WORKERS", "0", "from 1 to 1024"),
        ("AUTH__BOOTSTRAP_KEY", "agk_short", "mint"),
        ("AUTH__ENCRYPTION_KEY", "c2hvcnQ=", "32 bytes in base64"),
        ("AUTH__SIGNING_KEY_DAYS", "0", "from 1 to 3650"),
        (
            "AUTH__CLIENT_KEY_HOSTS",
            "https://keys.internal",
            "in lower case",
        ),
        ("LIMITS__SIZES__NAME_CHARACTERS", "0", "from 1 to 512"),
        ("LIMITS__SIZES__BODY_BYTES", "-1", "from 1024"),
        ("LIMITS__BODY_SECONDS", "1.5", "a whole number"),
        ("ENGINES__DEFAULT", "a\u{7}", "the name of a reply engine"),
        ("LOG__FORMAT", "xml", "pretty or json"),
        ("LOG__LEVEL", "inof", "info"),
        ("LOG__LEVEL", "wa\u{fffd}rn", "info"),
    ] {
        let message = error_text(load(&[(name, value)]));
        assert!(message.contains(&format!("{name} must be ")), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn an_invalid_value_in_the_file_is_reported_under_both_names() {
    for text in [
        "[server]\nport = 'x'",
        "[server]\nport = [1]",
        "[server]\nport = 1.5",
    ] {
        let message = error_text(ConfigFile::new(text).load(&[]));
        let expected = "SERVER__PORT (server.port in the file) must be a whole number";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_required_setting_must_be_set() {
    for (fixture, missing) in [
        ("LLM__MODEL", "LLM__BASE_URL"),
        ("LLM__BASE_URL", "LLM__MODEL"),
        (
            "LLM__PROVIDERS__SPARE__MODEL",
            "LLM__PROVIDERS__SPARE__BASE_URL",
        ),
    ] {
        let message = error_text(load(&[(fixture, "http://localhost:11434/v1")]));
        let expected = format!("{missing} must be set: ");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn an_unknown_default_engine_is_reported_with_the_known_ones() {
    let load = |variables: &[(&str, &str)]| {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Settings::load_for(&["rules", "shout"], None, variables.iter().map(owned))
    };
    let spare = [
        (
            "LLM__PROVIDERS__SPARE__BASE_URL",
            "http://localhost:11434/v1",
        ),
        ("LLM__PROVIDERS__SPARE__MODEL", "llama3.2"),
    ];
    let with = |name| [&spare[..], &[("ENGINES__DEFAULT", name)]].concat();
    for name in ["rules", "shout", "spare"] {
        assert!(load(&with(name)).is_ok(), "{name}");
    }
    for name in ["oracle", "llm", "Spare"] {
        let message = error_text(load(&[&with(name)[..], &[("SERVER__PORT", "x")]].concat()));
        let expected =
            "ENGINES__DEFAULT must be the name of an existing engine: rules, shout, spare";
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("SERVER__PORT must be "), "{message}");
    }
    let message = error_text(load(&[("ENGINES__DEFAULT", "llm"), ("LLM__MODEL", "m")]));
    assert!(
        !message.contains("ENGINES__DEFAULT"),
        "an engine half given is there: {message}"
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let file = ConfigFile::new("[log]\nformat = 'xml'\nlvl = 'info'");
    let settings = invalid_settings(file.load(&[("SERVER__PORT", "x"), ("AUTH__KEY", "x")]));
    assert_eq!(settings.len(), 4, "{settings:?}");
}

#[test]
fn no_error_repeats_a_value() {
    let secret = "sensitive-9f3a";
    for key in keys() {
        // No setting accepts this: control characters are invalid everywhere.
        let value = format!("{secret}\u{1}");
        let outcome = load(&[(&written(key.variable), &value)]);
        let error = outcome.expect_err(key.variable);
        assert!(!error.to_string().contains(secret), "{error}");
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
}

#[test]
fn a_malformed_file_is_reported_with_position_but_without_content() {
    let file = ConfigFile::new("[auth]\nbootstrap_key = \"sensitive-9f3a\n");
    let error = file.load(&[]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("service.toml' is not valid TOML at line 2, column"),
        "{message}"
    );
    assert!(
        !format!("{message} {error:?}").contains("sensitive"),
        "{error:?}"
    );
}

#[test]
fn a_missing_file_is_rejected_by_name() {
    let error = Settings::load(Some("/nowhere/service.toml".as_ref()), []).unwrap_err();
    assert!(
        matches!(error, SettingsError::Unreadable { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("/nowhere/service.toml"),
        "{error}"
    );
}
