//! Providers of language models as an operator configures them.

use llm_engine::LlmApi;
use secrecy::ExposeSecret as _;

use crate::settings::{InvalidSetting, ModelProvider, Settings, SettingsError};

fn load(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Settings::load(None, variables.iter().map(owned))
}

#[track_caller]
fn providers(variables: &[(&str, &str)]) -> Vec<ModelProvider> {
    load(variables).expect("good settings").models.providers
}

/// The variables that were rejected.
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
fn three_variables_configure_an_engine() {
    let providers = providers(&[
        ("LLM__BASE_URL", "http://ollama:11434/v1/"),
        ("LLM__API_KEY", "sk-1"),
        ("LLM__MODEL", "qwen3"),
    ]);
    assert_eq!(providers.len(), 1);
    let provider = &providers[0];
    assert_eq!(provider.engine, "llm");
    assert_eq!(provider.base_url, "http://ollama:11434/v1");
    assert_eq!(provider.api_key.as_ref().unwrap().expose_secret(), "sk-1");
    assert_eq!(provider.model, "qwen3");
}

#[test]
fn a_local_server_needs_no_key() {
    let providers = providers(&[("LLM__BASE_URL", "http://[::1]:8000"), ("LLM__MODEL", "m")]);
    assert!(providers[0].api_key.is_none());
}

#[test]
fn further_providers_are_engines_with_their_names() {
    let providers = providers(&[
        ("LLM__BASE_URL", "https://one.example/v1"),
        ("LLM__MODEL", "m"),
        ("LLM__PROVIDERS__SPARE__BASE_URL", "https://two.example/v1"),
        ("LLM__PROVIDERS__SPARE__MODEL", "n"),
    ]);
    let engines: Vec<_> = providers.iter().map(|it| it.engine.as_str()).collect();
    assert_eq!(engines, ["llm", "spare"]);
}

#[test]
fn without_settings_no_provider_exists() {
    assert!(providers(&[]).is_empty());
}

#[test]
fn providers_stream_unless_configured_otherwise() {
    let providers = providers(&[
        ("LLM__BASE_URL", "https://one.example/v1"),
        ("LLM__MODEL", "m"),
        ("LLM__STREAM", "false"),
        ("LLM__PROVIDERS__OTHER__BASE_URL", "https://two.example/v1"),
        ("LLM__PROVIDERS__OTHER__MODEL", "n"),
        (
            "LLM__PROVIDERS__SPARE__BASE_URL",
            "https://three.example/v1",
        ),
        ("LLM__PROVIDERS__SPARE__MODEL", "o"),
        ("LLM__PROVIDERS__SPARE__STREAM", "false"),
    ]);
    let streams: Vec<_> = providers.iter().map(|it| it.streams).collect();
    assert_eq!(streams, [false, true, false]);
    let good = [("LLM__BASE_URL", "https://a.example"), ("LLM__MODEL", "m")];
    for other in ["yes", "0", "False"] {
        let variables = [&good[..], &[("LLM__STREAM", other)]].concat();
        assert_eq!(rejected(&variables), ["LLM__STREAM"], "{other}");
    }
}

#[test]
fn the_kind_of_a_provider_is_its_interface() {
    let providers = providers(&[
        ("LLM__KIND", "anthropic"),
        ("LLM__BASE_URL", "https://one.example/v1"),
        ("LLM__MODEL", "m"),
        ("LLM__PROVIDERS__OTHER__BASE_URL", "https://two.example/v1"),
        ("LLM__PROVIDERS__OTHER__MODEL", "n"),
        ("LLM__PROVIDERS__SPARE__KIND", "openai"),
        (
            "LLM__PROVIDERS__SPARE__BASE_URL",
            "https://three.example/v1",
        ),
        ("LLM__PROVIDERS__SPARE__MODEL", "o"),
    ]);
    let interfaces: Vec<_> = providers.iter().map(|it| it.api).collect();
    assert_eq!(
        interfaces,
        [LlmApi::Anthropic, LlmApi::OpenAi, LlmApi::OpenAi]
    );
    let good = [("LLM__BASE_URL", "https://a.example"), ("LLM__MODEL", "m")];
    for other in ["Anthropic", "claude"] {
        let variables = [&good[..], &[("LLM__KIND", other)]].concat();
        assert_eq!(rejected(&variables), ["LLM__KIND"], "{other}");
    }
    assert_eq!(
        rejected(&[("LLM__KIND", "anthropic")]),
        ["LLM__BASE_URL", "LLM__MODEL"]
    );
}

#[test]
fn what_a_server_supports_is_set_or_learned() {
    let good = [
        ("LLM__BASE_URL", "https://one.example/v1"),
        ("LLM__MODEL", "m"),
        ("LLM__PROVIDERS__SPARE__BASE_URL", "https://two.example/v1"),
        ("LLM__PROVIDERS__SPARE__MODEL", "n"),
    ];
    let set = [
        ("LLM__STREAM_OPTIONS", "false"),
        ("LLM__MAX_TOKENS_NAME", "max_completion_tokens"),
        ("LLM__THINK_TAGS", "true"),
        ("LLM__PROVIDERS__SPARE__STREAM_OPTIONS", "true"),
        ("LLM__PROVIDERS__SPARE__MAX_TOKENS_NAME", "max_tokens"),
        ("LLM__PROVIDERS__SPARE__THINK_TAGS", "false"),
    ];
    let read = |variables: &[(&str, &str)]| {
        let providers = providers(variables).into_iter();
        let values =
            providers.map(|it| [it.stream_options, it.max_completion_tokens, it.think_tags]);
        values.collect::<Vec<_>>()
    };
    assert_eq!(read(&good), [[None; 3]; 2]);
    let expected = [
        [Some(false), Some(true), Some(true)],
        [Some(true), Some(false), Some(false)],
    ];
    assert_eq!(read(&[&good[..], &set].concat()), expected);
    for (variable, _) in set {
        let variables = [&good[..], &[(variable, "perhaps")]].concat();
        assert_eq!(rejected(&variables), [variable]);
    }
}

#[test]
fn an_incomplete_provider_is_rejected_by_name() {
    assert_eq!(
        rejected(&[("LLM__API_KEY", "k")]),
        ["LLM__BASE_URL", "LLM__MODEL"]
    );
    assert_eq!(
        rejected(&[("LLM__BASE_URL", "https://a.example")]),
        ["LLM__MODEL"]
    );
    assert_eq!(
        rejected(&[("LLM__PROVIDERS__X__API_KEY", "k")]),
        ["LLM__PROVIDERS__X__BASE_URL", "LLM__PROVIDERS__X__MODEL"]
    );
    assert_eq!(
        rejected(&[("LLM__STREAM", "false")]),
        ["LLM__BASE_URL", "LLM__MODEL"]
    );
    assert_eq!(
        rejected(&[("LLM__PROVIDERS__X__STREAM", "false")]),
        ["LLM__PROVIDERS__X__BASE_URL", "LLM__PROVIDERS__X__MODEL"]
    );
}

#[test]
fn an_engine_has_one_provider() {
    for name in ["RULES", "LLM"] {
        let base_url = format!("LLM__PROVIDERS__{name}__BASE_URL");
        let model = format!("LLM__PROVIDERS__{name}__MODEL");
        let variables = [(&*base_url, "https://a.example"), (&*model, "m")];
        assert_eq!(rejected(&variables), [&*base_url]);
        let expected = format!(
            "{base_url} cannot be set, because '{}' is already the name of an engine",
            name.to_ascii_lowercase()
        );
        let message = load(&variables).expect_err("a name in use").to_string();
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn addresses_and_keys_are_checked() {
    for base_url in [
        "ollama:11434",
        "ftp://a.example",
        "https://user@a.example/v1",
    ] {
        let variables = [("LLM__BASE_URL", base_url), ("LLM__MODEL", "m")];
        assert_eq!(rejected(&variables), ["LLM__BASE_URL"], "{base_url}");
    }
    let good = [("LLM__BASE_URL", "https://a.example"), ("LLM__MODEL", "m")];
    for key in ["two words", "ключ"] {
        let variables = [&good[..], &[("LLM__API_KEY", key)]].concat();
        assert_eq!(rejected(&variables), ["LLM__API_KEY"], "{key}");
    }
}

#[test]
fn an_unused_proxy_is_checked_too() {
    for proxy in [
        "proxy.internal:3128",
        "socks5://proxy.internal",
        "http://",
        "http://:3128",
        "http://ada:word@",
        "http://proxy.internal:99999",
        "http://proxy internal",
        "http://ada:my word@proxy.internal",
        "http://proxy\n.internal",
        "http://ada:my#word@proxy.internal",
    ] {
        assert_eq!(
            rejected(&[("LLM__PROXY", proxy)]),
            ["LLM__PROXY"],
            "{proxy}"
        );
    }
    for good in [
        "http://proxy.internal:3128/",
        "https://ada:word@proxy.internal",
        "http://ada:wörd@[::1]:3128",
    ] {
        let settings = load(&[("LLM__PROXY", good)]).unwrap();
        let proxy = settings.models.proxy.expect("a proxy");
        assert_eq!(proxy.expose_secret(), good);
    }
}

#[test]
fn secrets_are_not_printed() {
    let variables = [
        (
            "LLM__BASE_URL",
            "https://a.example/secret-path?key=secret-query",
        ),
        ("LLM__MODEL", "m"),
        ("LLM__API_KEY", "secret-key"),
        ("LLM__PROXY", "http://ada:secret-word@proxy.internal"),
    ];
    let printed = format!("{:?}", load(&variables).unwrap());
    assert!(printed.contains("a.example"), "{printed}");
    assert!(!printed.contains("secret-"), "{printed}");
}
