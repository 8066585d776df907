//! Configuration as an operator meets it: variables, a file, and what is said about mistakes.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use api::settings::{DatabaseKind, InvalidSetting, LogFormat, Settings, SettingsError, keys};
use application::access::Bootstrap;
use domain::{CredentialKind, CredentialSecret, Quota, RateLimits, Sizes};

type Variables<'given> = &'given [(&'given str, &'given str)];

fn load(variables: Variables<'_>) -> Result<Settings, SettingsError> {
    Settings::load(None, owned(variables))
}

fn owned(variables: Variables<'_>) -> Vec<(String, String)> {
    variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// A configuration file that goes when the test ends.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        fs::write(folder.path().join("service.toml"), text).expect("a file in it");
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("service.toml")
    }

    fn load(&self, variables: Variables<'_>) -> Result<Settings, SettingsError> {
        Settings::load(Some(&self.path()), owned(variables))
    }
}

/// A setting's variable as an operator would write it.
fn written(variable: &str) -> String {
    variable.replace("<ID>", "MAIN")
}

fn refusal(outcome: Result<Settings, SettingsError>) -> Vec<InvalidSetting> {
    match outcome {
        Err(SettingsError::Invalid(settings)) => settings,
        other => panic!("expected refused settings, found {other:?}"),
    }
}

fn told(outcome: Result<Settings, SettingsError>) -> String {
    outcome.expect_err("to be refused").to_string()
}

#[test]
fn without_any_setting_the_documented_defaults_hold() {
    let settings = load(&[]).unwrap();
    assert_eq!(settings.database.kind(), DatabaseKind::Sqlite);
    assert_eq!(settings.database.reveal(), "sqlite://data/agent-service.db");
    assert_eq!(settings.server.address().to_string(), "127.0.0.1:8080");
    assert_eq!(settings.server.configured_public_url, None);
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(settings.server.workers, cores);
    assert!(settings.auth.bootstrap.is_none());
    assert!(settings.auth.encryption_key.is_none());
    assert_eq!(settings.auth.signing_key_age, Duration::from_hours(30 * 24));
    assert_eq!(settings.server.trusted_proxies, []);
    let rates = RateLimits {
        requests: Quota::new(600, 100),
        chat: Quota::new(120, 30),
        streams: 32,
    };
    assert_eq!(settings.limits.rates, rates);
    assert_eq!(settings.limits.address, Quota::new(6_000, 1_000));
    assert_eq!(settings.limits.sizes, Sizes::default());
    assert_eq!(settings.limits.body_deadline, Duration::from_secs(15));
    assert_eq!(settings.engines.default, None);
    assert_eq!(settings.log.format, None);
    assert_eq!(settings.log.level, "info");
    assert!(settings.is_loopback());
}

#[test]
fn every_section_reads_its_variables() {
    let settings = load(&[
        ("DATABASE_URL", "postgres://ada:hidden@db/agents"),
        ("SERVER__HOST", "0.0.0.0"),
        ("SERVER__PORT", "0"),
        ("SERVER__PUBLIC_URL", "https://agents.example.org"),
        ("SERVER__ALLOWED_ORIGINS", "https://app.example.org"),
        ("SERVER__WORKERS", "3"),
        ("AUTH__BOOTSTRAP_KEY", "mint"),
        (
            "AUTH__ENCRYPTION_KEY",
            "7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u7u4=",
        ),
        ("AUTH__SIGNING_KEY_DAYS", "7"),
        ("AUTH__CLIENT_KEY_HOSTS", "keys.internal"),
        ("LIMITS__SIZES__NAME_CHARACTERS", "40"),
        ("SERVER__TRUSTED_PROXIES", "10.0.0.0/8,::1"),
        ("LIMITS__REQUESTS__PER_MINUTE", "60"),
        ("LIMITS__REQUESTS__BURST", "10"),
        ("LIMITS__CHAT__PER_MINUTE", "30"),
        ("LIMITS__CHAT__BURST", "5"),
        ("LIMITS__STREAMS", "0"),
        ("LIMITS__ADDRESS__PER_MINUTE", "600"),
        ("LIMITS__ADDRESS__BURST", "50"),
        ("LIMITS__BODY_SECONDS", "5"),
        ("ENGINES__DEFAULT", "rules"),
        ("LOG__FORMAT", "json"),
        ("LOG__LEVEL", "warn,sqlx=error"),
    ])
    .unwrap();
    assert_eq!(settings.database.kind(), DatabaseKind::Postgres);
    assert_eq!(settings.server.address().to_string(), "0.0.0.0:0");
    let url = settings.server.configured_public_url.as_deref();
    assert_eq!(url, Some("https://agents.example.org"));
    assert_eq!(settings.server.allowed_origins, ["https://app.example.org"]);
    assert_eq!(settings.server.workers, 3);
    assert!(matches!(settings.auth.bootstrap, Some(Bootstrap::Mint)));
    assert!(settings.auth.encryption_key.is_some());
    assert_eq!(settings.auth.signing_key_age, Duration::from_hours(7 * 24));
    assert_eq!(settings.auth.client_key_hosts, ["keys.internal"]);
    assert_eq!(settings.limits.sizes.name_characters, 40);
    let proxies = settings.server.trusted_proxies.iter();
    let proxies: Vec<String> = proxies.map(ToString::to_string).collect();
    assert_eq!(proxies, ["10.0.0.0/8", "::1/128"]);
    let rates = RateLimits {
        requests: Quota::new(60, 10),
        chat: Quota::new(30, 5),
        streams: 0,
    };
    assert_eq!(settings.limits.rates, rates);
    assert_eq!(settings.limits.address, Quota::new(600, 50));
    assert_eq!(settings.limits.body_deadline, Duration::from_secs(5));
    assert_eq!(settings.engines.default.as_deref(), Some("rules"));
    assert_eq!(settings.log.format, Some(LogFormat::Json));
    assert_eq!(settings.log.level, "warn,sqlx=error");
}

#[test]
fn the_environment_wins_over_the_file_and_the_file_over_defaults() {
    let file = File::new(
        "database_url = 'sqlite://file.db'\n\
         [server]\nport = 9000\nworkers = 7\n\
         [limits.sizes]\nrules = 10\n",
    );
    let settings = file
        .load(&[("SERVER__PORT", "9001"), ("SERVER__WORKERS", "")])
        .unwrap();
    assert_eq!(settings.database.reveal(), "sqlite://file.db");
    assert_eq!(settings.server.port, 9001);
    assert_eq!(settings.server.workers, 7, "an empty variable is not set");
    assert_eq!(settings.limits.sizes.rules, 10);
    assert_eq!(settings.limits.sizes.name_characters, 128);
}

#[test]
fn variables_of_others_are_not_looked_at() {
    let settings = load(&[
        ("PATH", "/usr/bin"),
        ("SERVER_PORT", "tcp://10.0.0.1:80"),
        ("SERVERS__PORT", "1"),
        ("server__port", "1"),
        ("DATABASE_URL_OLD", "mysql://db/agents"),
        ("__", ""),
    ])
    .unwrap();
    assert_eq!(settings.server.port, 8080);
}

#[test]
fn an_unknown_name_in_a_section_is_refused_by_name() {
    for name in [
        "SERVER__PROT",
        "SERVER__Port",
        "SERVER__",
        "SERVER__PORT__",
        "LIMITS__SIZES",
    ] {
        let settings = refusal(load(&[(name, "sensitive")]));
        let [InvalidSetting::Unknown { name: refused, .. }] = &settings[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(refused, name);
    }
    let message = told(load(&[("SERVER__PROT", "sensitive")]));
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
fn an_unknown_name_in_the_file_is_refused_by_name() {
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
        let settings = refusal(File::new(text).load(&[]));
        let [InvalidSetting::Unknown { name: refused, .. }] = &settings[..] else {
            panic!("{settings:?}");
        };
        assert_eq!(refused, name);
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused_with_what_would() {
    for (name, value, expected) in [
        ("DATABASE_URL", "mysql://db/agents", "sqlite://"),
        ("SERVER__HOST", "example.org", "an IP address"),
        ("SERVER__PORT", "65536", "a whole number from 0 to 65535"),
        ("SERVER__PORT", "true", "a whole number"),
        ("SERVER__PORT", " 80", "a whole number"),
        ("SERVER__PUBLIC_URL", "agents.example.org", "http or https"),
        ("SERVER__ALLOWED_ORIGINS", "*", "no path, no *"),
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
        let message = told(load(&[(name, value)]));
        assert!(message.contains(&format!("{name} must be ")), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_value_in_the_file_is_refused_under_both_its_names() {
    for text in [
        "[server]\nport = 'x'",
        "[server]\nport = [1]",
        "[server]\nport = 1.5",
    ] {
        let message = told(File::new(text).load(&[]));
        let expected = "SERVER__PORT (server.port in the file) must be a whole number";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let file = File::new("[log]\nformat = 'xml'\nlvl = 'info'");
    let settings = refusal(file.load(&[("SERVER__PORT", "x"), ("AUTH__KEY", "x")]));
    assert_eq!(settings.len(), 4, "{settings:?}");
}

#[test]
fn no_refusal_repeats_a_value() {
    let secret = "sensitive-9f3a";
    for key in keys() {
        // No setting takes this: control characters fit nowhere.
        let value = format!("{secret}\u{1}");
        let outcome = load(&[(&written(key.variable), &value)]);
        let error = outcome.expect_err(key.variable);
        assert!(!error.to_string().contains(secret), "{error}");
        assert!(!format!("{error:?}").contains(secret), "{error:?}");
    }
}

#[test]
fn a_broken_file_is_named_with_the_place_but_without_its_text() {
    let file = File::new("[auth]\nbootstrap_key = \"sensitive-9f3a\n");
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
fn a_missing_file_is_refused_by_name() {
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

#[test]
fn secrets_stay_as_they_were_written_and_out_of_sight() {
    let key = CredentialSecret::mint(CredentialKind::Key, &[7; 41]);
    let settings = load(&[
        ("AUTH__BOOTSTRAP_KEY", key.reveal()),
        ("DATABASE_URL", "postgres://ada:00123@db/agents"),
    ])
    .unwrap();
    let Some(Bootstrap::Given(read)) = &settings.auth.bootstrap else {
        panic!("the key was not taken");
    };
    assert_eq!(read.reveal(), key.reveal());
    assert_eq!(settings.database.reveal(), "postgres://ada:00123@db/agents");
    let shown = format!("{settings:?}");
    assert!(!shown.contains("00123"), "{shown}");
    assert!(!shown.contains(&key.reveal()[20..]), "{shown}");
}

#[test]
fn only_addresses_of_this_machine_are_loopback() {
    for (host, is_loopback) in [
        ("127.0.0.1", true),
        ("127.1.2.3", true),
        ("localhost", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
        ("0.0.0.0", false),
        ("::", false),
        ("192.168.0.7", false),
    ] {
        let settings = load(&[("SERVER__HOST", host)]).unwrap();
        assert_eq!(settings.is_loopback(), is_loopback, "{host}");
    }
}

fn in_repository(file: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    fs::read_to_string(format!("{root}/{file}")).expect("a file of the repository")
}

/// The settings in `.env.example`: each stands commented out, as `#NAME=default`, but what
/// containers cannot start without.
fn documented() -> Vec<(String, String)> {
    in_repository(".env.example")
        .lines()
        .filter_map(|line| line.strip_prefix('#').unwrap_or(line).split_once('='))
        .filter(|(name, _)| is_variable(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn is_variable(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    !name.is_empty() && name.bytes().all(allowed)
}

/// Variables that only the compose file reads: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`.
fn read_by_compose_alone() -> BTreeSet<String> {
    let compose = in_repository("docker-compose.yml");
    let names = compose
        .split("${")
        .skip(1)
        .filter_map(|text| text.split(['}', ':']).next());
    let settings = keys();
    names
        .filter(|name| !settings.iter().any(|key| key.has(name)))
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn the_example_documents_every_setting_with_its_default() {
    let in_code: Vec<(String, String)> = keys()
        .into_iter()
        .map(|key| (written(key.variable), key.default.unwrap_or_default()))
        .collect();
    let of_compose = read_by_compose_alone();
    let mut documented = documented();
    documented.retain(|(name, _)| !of_compose.contains(name));
    assert_eq!(documented, in_code);
}

#[test]
fn the_example_documents_what_the_compose_file_reads() {
    let documented: BTreeSet<String> = documented().into_iter().map(|(name, _)| name).collect();
    let missing: Vec<_> = read_by_compose_alone()
        .into_iter()
        .filter(|name| !documented.contains(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_example_as_a_whole_changes_nothing() {
    let with_example = Settings::load(None, documented()).unwrap();
    assert_eq!(
        format!("{with_example:?}"),
        format!("{:?}", load(&[]).unwrap())
    );
}
