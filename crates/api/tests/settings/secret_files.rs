//! Secrets in files, and variables that are nearly settings.

use std::{collections::BTreeSet, fs, path::PathBuf};

use api::settings::{MisnamedVariable, keys};
use secrecy::ExposeSecret as _;

use crate::fixture::{ConfigFile, error_text, load, written};

/// Files in a folder that is deleted when the test ends.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder for the test"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and returns its path as text.
    fn write(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.path(name), content).expect("a file");
        self.path(name).to_str().expect("UTF-8").to_owned()
    }
}

/// The settings whose values no log and no error may show, and valid values.
const SECRETS: [(&str, &str); 11] = [
    ("DATABASE_URL", "postgres://ada:word@db.internal/agents"),
    ("BUS__URL", "redis://:word@cache.internal"),
    ("REGION__KEY", "0123456789abcdef0123456789abcdef"),
    ("REGIONS__MAIN__KEYS", "0123456789abcdef0123456789abcdef"),
    ("AUTH__BOOTSTRAP_KEY", "mint"),
    (
        "AUTH__ENCRYPTION_KEY",
        "7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u4=",
    ),
    ("LLM__API_KEY", "sk-word"),
    ("LLM__PROXY", "http://ada:word@proxy.internal:3128"),
    ("LLM__PROVIDERS__MAIN__API_KEY", "sk-word"),
    ("MCP__SERVERS__MAIN__ENV", "TOKEN=word"),
    ("MCP__SERVERS__MAIN__HEADERS__AUTHORIZATION", "Bearer word"),
];

#[test]
fn every_secret_can_be_in_a_file() {
    let files = Files::new();
    for (name, value) in SECRETS {
        let variable = format!("{name}_FILE");
        let path = files.write("secret", format!("{value}\n").as_bytes());
        // Other settings may be required beside it, so the results are compared.
        let outcome = |variables| {
            format!(
                "{:?}",
                load(variables).map(|it| it.database.url.to_string())
            )
        };
        assert_eq!(
            outcome(&[(&variable, &path)]),
            outcome(&[(name, value)]),
            "{name}"
        );
        // The name is the one of the setting, also in the file.
        let both = error_text(load(&[(&variable, &path), (name, value)]));
        assert!(
            both.contains(&format!("{variable} must be set only without {name}")),
            "{both}"
        );
        assert!(!both.contains("word"), "{both}");
    }
    let listed: BTreeSet<_> = keys()
        .into_iter()
        .map(|key| written(key.variable))
        .collect();
    assert!(SECRETS.iter().all(|(name, _)| listed.contains(*name)));
}

#[test]
fn exactly_one_line_feed_at_the_end_of_a_file_is_dropped() {
    let files = Files::new();
    let key = |content: &str| {
        let path = files.write("key", content.as_bytes());
        let variables = [
            ("LLM__BASE_URL", "http://localhost:9000/v1"),
            ("LLM__MODEL", "m"),
            ("LLM__API_KEY_FILE", &*path),
        ];
        let settings = load(&variables).map_err(|error| error.to_string())?;
        let key = settings.models.providers[0].api_key.clone();
        Ok::<_, String>(key.expect("a key").expose_secret().to_owned())
    };
    assert_eq!(key("sk-a"), Ok("sk-a".to_owned()));
    assert_eq!(key("sk-a\n"), Ok("sk-a".to_owned()));
    for refused in ["sk-a\n\n", "sk-a\r\n", "", "\n"] {
        assert!(key(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_by_the_name_of_its_variable() {
    let files = Files::new();
    let large = files.write("large", &b"a".repeat(64 * 1024 + 1));
    let binary = files.write("binary", b"\xff\xfe");
    let missing = files.path("missing").to_str().unwrap().to_owned();
    for (path, expected) in [
        (large, "at most 64 KiB"),
        (binary, "UTF-8"),
        (missing, "can be read (entity not found)"),
    ] {
        let message = error_text(load(&[("LLM__API_KEY_FILE", &path)]));
        assert!(
            message.contains("LLM__API_KEY_FILE must be the path of a file"),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains(&path), "{message}");
    }
    let largest = files.write("largest", &b"a".repeat(64 * 1024));
    let message = error_text(load(&[("DATABASE_URL_FILE", &largest)]));
    assert!(message.contains("DATABASE_URL must be"), "{message}");
}

#[test]
fn a_file_of_another_setting_stops_the_start() {
    for name in [
        "SERVER__PORT_FILE",
        "LLM__MODEL_FILE",
        "DATABASE__URL_FILE",
        "AUTH__KEY_FILE",
    ] {
        let message = error_text(load(&[(name, "/nowhere")]));
        assert!(message.contains(&format!("{name} is unknown")), "{message}");
    }
}

#[test]
fn a_secret_of_the_configuration_file_can_be_in_a_file() {
    let files = Files::new();
    let path = files.write("url", b"postgres://ada:word@db.internal/agents\n");
    let config = ConfigFile::new(&format!("database_url_file = {path:?}\n"));
    let settings = config.load(&[]).unwrap();
    assert!(settings.database.url.reveal().contains("db.internal"));
}

#[test]
fn variables_that_are_nearly_settings_are_named_unless_the_setting_is_set() {
    let misnamed = |variables| load(variables).expect("valid settings").misnamed;
    let meant = |name: &str, meant| {
        let name = name.to_owned();
        vec![MisnamedVariable { name, meant }]
    };
    assert_eq!(misnamed(&[("PORT", "3000")]), meant("PORT", "SERVER__PORT"));
    assert_eq!(
        misnamed(&[("SERVER_PORT", "3000")]),
        meant("SERVER_PORT", "SERVER__PORT")
    );
    assert_eq!(
        misnamed(&[("LLM_API_KEY", "k")]),
        meant("LLM_API_KEY", "LLM__API_KEY")
    );
    let text = misnamed(&[("PORT", "3000")])[0].to_string();
    assert_eq!(text, "PORT is ignored; the setting is SERVER__PORT");
    for variables in [
        &[("PORT", "3000"), ("SERVER__PORT", "3000")][..],
        &[("PORT", "")],
        &[
            ("PATH", "/bin"),
            ("HOST", "laptop"),
            ("DATABASE_URL", "sqlite://a.db"),
        ],
    ] {
        assert_eq!(misnamed(variables), [], "{variables:?}");
    }
}
