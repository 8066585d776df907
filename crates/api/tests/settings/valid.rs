//! Valid settings, from variables, a file and defaults.

use std::time::Duration;

use access::FirstKey;
use api::settings::{DatabaseKind, LogFormat, ModelProvider, ToolServerTransport};
use domain::{CredentialKind, CredentialSecret, Quota, RateLimits, Sizes, UploadQuota};

use crate::fixture::{ConfigFile, error_text, load};

#[test]
fn without_settings_the_documented_defaults_apply() {
    let settings = load(&[]).unwrap();
    assert_eq!(settings.database.url.kind(), DatabaseKind::Sqlite);
    assert_eq!(
        settings.database.url.reveal(),
        "sqlite://data/agent-service.db"
    );
    assert_eq!(settings.server.address().to_string(), "127.0.0.1:8080");
    assert_eq!(settings.server.configured_public_url, None);
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(settings.server.workers, cores);
    assert_eq!(settings.server.drain_delay(false), Duration::from_secs(5));
    assert_eq!(settings.server.drain_delay(true), Duration::ZERO);
    assert!(settings.auth.first_key.is_none());
    assert!(settings.auth.encryption_key.is_none());
    assert_eq!(settings.auth.signing_key_age, Duration::from_hours(30 * 24));
    assert_eq!(settings.server.trusted_proxies, []);
    let rates = RateLimits {
        requests: Quota::new(600, 100),
        chat: Quota::new(120, 30),
        user_tokens: Quota::new(6_000, 1_000),
        log_bytes: Quota::new(8_388_608, 67_108_864),
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

const ONE_OF_EACH_SECTION: &[(&str, &str)] = &[
    ("DATABASE_URL", "postgres://ada:hidden@db/agents"),
    ("SERVER__HOST", "0.0.0.0"),
    ("SERVER__PORT", "0"),
    ("SERVER__PUBLIC_URL", "https://agents.example.org"),
    ("SERVER__ALLOWED_ORIGINS", "https://app.example.org"),
    ("SERVER__ALLOWED_HEADERS", "X-Trace-Id"),
    ("SERVER__WORKERS", "3"),
    ("SERVER__DRAIN_SECONDS", "7"),
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
    ("LIMITS__USER_TOKENS__PER_MINUTE", "70"),
    ("LIMITS__USER_TOKENS__BURST", "7"),
    ("LIMITS__REQUESTS__BURST", "10"),
    ("LIMITS__CHAT__PER_MINUTE", "30"),
    ("LIMITS__CHAT__BURST", "5"),
    ("LIMITS__LOG_BYTES__PER_MINUTE", "1000000"),
    ("LIMITS__LOG_BYTES__BURST", "2000000"),
    ("LIMITS__STREAMS", "0"),
    ("LIMITS__FILES__PER_DAY", "9"),
    ("LIMITS__FILES__BYTES_PER_DAY", "5000000000"),
    ("LIMITS__ADDRESS__PER_MINUTE", "600"),
    ("LIMITS__ADDRESS__BURST", "50"),
    ("LIMITS__BODY_SECONDS", "5"),
    ("ENGINES__DEFAULT", "rules"),
    ("LOG__FORMAT", "json"),
    ("LOG__LEVEL", "warn,sqlx=error"),
];

#[test]
fn every_section_reads_its_variables() {
    let settings = load(ONE_OF_EACH_SECTION).unwrap();
    assert_eq!(settings.database.url.kind(), DatabaseKind::Postgres);
    assert_eq!(settings.server.address().to_string(), "0.0.0.0:0");
    let url = settings.server.configured_public_url.as_deref();
    assert_eq!(url, Some("https://agents.example.org"));
    assert_eq!(settings.server.allowed_origins, ["https://app.example.org"]);
    assert_eq!(settings.server.workers, 3);
    for is_on_terminal in [true, false] {
        let delay = settings.server.drain_delay(is_on_terminal);
        assert_eq!(delay, Duration::from_secs(7));
    }
    assert!(matches!(settings.auth.first_key, Some(FirstKey::Generated)));
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
        user_tokens: Quota::new(70, 7),
        log_bytes: Quota::new(1_000_000, 2_000_000),
        streams: 0,
    };
    assert_eq!(settings.limits.rates, rates);
    let uploads = UploadQuota {
        files: Some(9),
        bytes: Some(5_000_000_000),
    };
    assert_eq!(settings.limits.uploads, uploads);
    assert_eq!(settings.limits.address, Quota::new(600, 50));
    assert_eq!(settings.limits.body_deadline, Duration::from_secs(5));
    assert_eq!(settings.engines.default.as_deref(), Some("rules"));
    assert_eq!(settings.log.format, Some(LogFormat::Json));
    assert_eq!(settings.log.level, "warn,sqlx=error");
}

#[test]
fn the_environment_overrides_the_file_and_the_file_the_defaults() {
    let file = ConfigFile::new(
        "database_url = 'sqlite://file.db'\n\
         [server]\nport = 9000\nworkers = 7\n\
         [limits.sizes]\nrules = 10\n",
    );
    let settings = file
        .load(&[("SERVER__PORT", "9001"), ("SERVER__WORKERS", "")])
        .unwrap();
    assert_eq!(settings.database.url.reveal(), "sqlite://file.db");
    assert_eq!(settings.server.port, 9001);
    assert_eq!(settings.server.workers, 7, "an empty variable is not set");
    assert_eq!(settings.limits.sizes.rules, 10);
    assert_eq!(settings.limits.sizes.name_characters, 128);
}

#[test]
fn variables_override_single_values_of_provider_and_tool_server_tables() {
    let file = ConfigFile::new(
        "[llm]\nbase_url = 'http://localhost:11434/v1'\nmodel = 'llama3.2'\n\
         [llm.providers.spare]\nbase_url = 'https://spare.example.org/v1'\nmodel = 'small'\n\
         stream = false\n\
         [llm.providers.big-one]\nbase_url = 'https://big.example.org/v1'\nmodel = 'large'\n\
         [mcp.servers.files]\ncommand = 'files'\nargs = \"--root '/var/my files' -v\"\n\
         env = 'MODE=demo,REGION=eu'\n\
         [mcp.servers.remote]\nurl = 'http://localhost:3001/mcp'\n",
    );
    let settings = file
        .load(&[
            ("LLM__PROVIDERS__SPARE__MODEL", "tiny"),
            ("LLM__PROVIDERS__BIG-ONE__API_KEY", "sk-big"),
            ("MCP__SERVERS__REMOTE__URL", "http://localhost:3002/mcp"),
        ])
        .unwrap();
    let providers = settings.models.providers.iter();
    let error_text =
        |it: &ModelProvider| (it.engine.clone(), it.base_url.clone(), it.model.clone());
    let expected = [
        ("llm", "http://localhost:11434/v1", "llama3.2"),
        ("big-one", "https://big.example.org/v1", "large"),
        ("spare", "https://spare.example.org/v1", "tiny"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(
        providers.clone().map(error_text).collect::<Vec<_>>(),
        expected
    );
    let streams = providers.clone().map(|it| it.streams);
    assert_eq!(streams.collect::<Vec<_>>(), [true, true, false]);
    let keys = providers.map(|it| it.api_key.is_some());
    assert_eq!(keys.collect::<Vec<_>>(), [false, true, false]);
    let [files, remote] = &*settings.tool_servers else {
        panic!("two servers: {:?}", settings.tool_servers);
    };
    assert_eq!((&*files.name, &*remote.name), ("files", "remote"));
    let ToolServerTransport::Process {
        command,
        arguments,
        environment,
    } = &files.transport
    else {
        panic!("a program: {files:?}");
    };
    assert_eq!(
        (&**command, &arguments[..]),
        (
            "files",
            &["--root", "/var/my files", "-v"].map(String::from)[..]
        )
    );
    assert_eq!(environment.keys().collect::<Vec<_>>(), ["MODE", "REGION"]);
    let ToolServerTransport::Http { url, .. } = &remote.transport else {
        panic!("an address: {remote:?}");
    };
    assert_eq!(url, "http://localhost:3002/mcp");
}

#[test]
fn a_list_or_table_in_place_of_a_text_is_rejected_by_name() {
    let file = ConfigFile::new(
        "[mcp.servers.files]\ncommand = 'files'\nargs = ['-v']\n\
         [mcp.servers.files.env]\nmode = 'demo'\n\
         [llm.providers.Spare]\nmodel = 'small'\n",
    );
    let message = error_text(file.load(&[]));
    let expected = [
        "MCP__SERVERS__FILES__ARGS (mcp.servers.files.args in the file) must be words separated by spaces, in quotes if they contain spaces",
        "mcp.servers.files.env.mode (in the file) is unknown",
        "llm.providers.Spare.model (in the file) is unknown",
    ];
    for sentence in expected {
        assert!(
            message.contains(sentence),
            "{sentence} is missing in {message}"
        );
    }
}

#[test]
fn unrelated_variables_are_ignored() {
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
fn secrets_are_unchanged_and_not_printed() {
    let key = CredentialSecret::mint(CredentialKind::Key, &[7; 41]);
    let settings = load(&[
        ("AUTH__BOOTSTRAP_KEY", key.reveal()),
        ("DATABASE_URL", "postgres://ada:00123@db/agents"),
    ])
    .unwrap();
    let Some(FirstKey::Configured(read)) = &settings.auth.first_key else {
        panic!("the key was not taken");
    };
    assert_eq!(read.reveal(), key.reveal());
    let url = "postgres:///?user=ada&password=00123&host=db&dbname=agents";
    assert_eq!(settings.database.url.reveal(), url);
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
